"""`use: jobs`: what a batch engine costs: submitting jobs, their waiting, and asking for them."""

from __future__ import annotations

import hashlib
import json
import math
from functools import partial
from pathlib import Path
from typing import Any

from steelyard.plugin import (
    Command,
    Metric,
    Output,
    ParseFailure,
    Phase,
    Place,
    Reading,
    Tool,
    latency_metrics,
)
from steelyard.plugin.workload import Carrier, Engine, EngineJob, JobQueue, Workload
from steelyard.workloads.jobs.options import JobsOptions
from steelyard.workloads.jobs.output import parse_run, parse_status
from steelyard.workloads.jobs.script import (
    NAME,
    STAMPS,
    hold_program,
    stamp_program,
    write_lone_script,
    write_script,
)

_DRIVER = Path(__file__).with_name("driver.py")
_PYTHON = Tool("python3", apt="python3", dnf="python3")
_KEY, _ID = "STEELYARD-JOB-KEY", "STEELYARD-JOB-ID"  # stand-ins, which the driver replaces
_OURS = "STEELYARD_"  # a job is none of the processes of the run that bear its token


class Jobs(Workload[JobsOptions]):
    """How long jobs take to submit, wait and run through a batch engine, and how many of them fail.

    **Measures** with `do: run`, of each job: `submit_time`, from the start of the engine's submit command
    to its end; `wait_time`, from the same start until the first line of the job runs; `launch_time`, from
    there until the last of its `processes` runs, inside of what `wrap` puts around it; `turnaround_time`,
    from the start of the submit command until the last process has ended. Of all jobs: `throughput`, how
    many succeeded per second from the first submission to the last end, and `failure_rate`, the share
    whose first submission failed: it was refused, or the job did not start in time, ended with another
    code than 0, or was ended by the engine. With `retries`, `failure_rate_retried` is the share that
    still failed after them, and `submissions` how many it took. With `do: status`: `status_time`, that of
    the engine's command that tells how a running job of so many `processes` stands, asked for in a row
    beside `jobs` - 1 others.

    **Source**: XtreemOS D4.2.7 (2010): 4.3.2, submission into a container; 4.6.3, failures of jobs
    submitted at once and retried up to 10 times; 4.8.4, submission and status of jobs with n processes.
    There, clients poll; here, the jobs' own stamps count, so that no figure has a pause between two looks
    in it.

    **How to read it.** A stamp is a start of `date`; the fact `stamp` says how long that takes, and so
    how exact all times are but `submit_time` and `status_time`. The clocks of several hosts must agree: a
    job that began before it was submitted fails the trial. The time of a command is what its user waits
    for: that of HyperQueue's includes the start of Python. `wrap` surrounds the processes of the jobs,
    and not the submit command, so `launch_time` compares a host with containers and guests; a guest's
    clock is set when it boots.

    Jobs are submitted on the workload's host, so the engine's commands must be there. Its scratch must
    lie where the engine's hosts see it, but for a Kubernetes cluster, which tells the stamps of pods. Jobs
    end with their trial. After a kill -9 of the controller, those that run end within seconds, and those
    that wait when they start, or at once with `steelyard clean`; pods end at their `limit`.
    """

    Options = JobsOptions
    needs = (_PYTHON,)
    covers = ("XOS.27", "XOS.28", "XOS.29")
    examples = (
        {"engine": "slurm", "jobs": 6, "at_once": 3, "processes": 2, "retries": 1},
        {"engine": "slurm", "do": "status", "jobs": 3, "queries": 5},
    )
    words = frozenset({"program"})

    def engine_name(self) -> str | None:
        """The option of that name."""
        return self.options.engine

    def metrics(self) -> tuple[Metric, ...]:
        """Those of jobs, or of questions for one."""
        if self.options.do == "status":
            return latency_metrics("status_time", "time of a status query")
        return (
            *latency_metrics("submit_time", "time of the submit command"),
            *latency_metrics("wait_time", "time from submission until the job runs"),
            *latency_metrics("launch_time", "time from the job's start until its last process runs"),
            *latency_metrics("turnaround_time", "time from submission until the job has ended"),
            Metric("throughput", "1/s", "higher", "jobs that succeeded, per second"),
            Metric("failure_rate", "%", "lower", "jobs whose first submission failed", over_copies="mean"),
            *(_RETRIED if self.options.retries else ()),
        )

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """One, whose driver submits the jobs; a process of theirs is what it carries."""
        engine, name = self._engine, _name_jobs(place)
        options = self.options
        program = options.program if options.do == "run" else self._hold(place, name)
        payload = stamp_program(program)
        load = partial(self._drive, place, name)
        queue = JobQueue(options.engine, name, engine.cancel_all(name), engine.list_unfinished(name))
        return (Phase(options.do, load(payload), carrier=Carrier(payload, load), queue=queue),)

    def _hold(self, place: Place, name: str) -> tuple[str, ...]:
        """What a job does that is there to be asked for: until it is told, or until it is ended."""
        if self._engine.list_stamps(name):
            return ("sleep", str(math.ceil(self.options.limit)))
        return hold_program(place.scratch)

    def _drive(self, place: Place, name: str, process: Command) -> Command:
        """The driver for jobs whose processes are this command."""
        asked = {
            **self.options.model_dump(include={"do", "jobs", "at_once", "processes", "retries", "queries"}),
            "limit": float(self.options.limit),
            "start_within": float(self.options.start_within),
            "job": write_script(place.scratch, self.options.processes, process),
            **self._describe_engine(place, name, process),
        }
        program = f"{_DRIVER.read_text()}\nmain({json.dumps(json.dumps(asked))})\n"
        words = ("python3", "-", self.options.engine, *process.argv)  # the driver reads none; people do
        return Command(words, cwd=place.scratch, stdin=program)

    def _describe_engine(self, place: Place, name: str, process: Command) -> dict[str, Any]:
        engine, options = self._engine, self.options
        stamps = engine.list_stamps(name)
        script = write_lone_script(options.processes, process)
        words = ("sh", "-c", script, "sh", _KEY) if stamps else ("sh", str(place.scratch / NAME), _KEY)
        file = place.scratch / STAMPS / f"{_KEY}.sh"
        limits = float(options.limit), float(options.start_within)
        submission = engine.submit(EngineJob(name, _KEY, words, *limits, file))
        dropped, kept = engine.variables
        return {
            "key": _KEY,
            "job_id": _ID,
            "submit": submission.command.argv,
            "input": submission.command.stdin,
            "script": submission.script,
            "file": str(file),
            "id": engine.id_pattern,
            "describe": engine.describe([_ID]).argv,
            "cancel": engine.cancel(_ID).argv,
            "cancel_all": engine.cancel_all(name).argv,
            "list": engine.list_unfinished(name).argv,
            "stamps": stamps.argv if stamps else None,
            "variables": [[*dropped, _OURS], kept],
        }

    def parse(self, phase: str, output: Output) -> Reading:
        """The driver's lines. Raises ParseFailure."""
        if phase == "status":
            return parse_status(output, self._engine, self.options.queries)
        return parse_run(output, self._engine, self.options.jobs, self.options.retries)

    @property
    def _engine(self) -> Engine:
        if self.engine is None:
            raise ParseFailure(f"nobody handed over the engine {self.options.engine}")
        return self.engine

    def directory(self) -> str:
        """The option of that name."""
        return self.options.directory

    def tools(self, service: str | None) -> tuple[Tool, ...]:
        """Python, and the engine's commands."""
        advice = f"it comes with {self._engine.title}, where jobs are submitted"
        programs = (name for name in self._engine.programs if "/" not in name)
        return (_PYTHON, *(Tool(name, advice=advice) for name in programs))


_RETRIED = (
    Metric("failure_rate_retried", "%", "lower", "jobs that failed after all retries", over_copies="mean"),
    Metric("submissions", "1", "lower", "submissions that it took"),
)


def _name_jobs(place: Place) -> str:
    """What the jobs of a trial are called: as nobody's else, since nobody can guess its scratch."""
    return f"sy-{hashlib.sha256(str(place.scratch).encode()).hexdigest()[:12]}"
