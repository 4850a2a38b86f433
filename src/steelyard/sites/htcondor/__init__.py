"""A host that HTCondor allocates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import AliasChoices, Field

from steelyard.plugin import HostError, Size, UsageError
from steelyard.plugin.transport import Transport
from steelyard.sites.htcondor.description import JOB, describe_job
from steelyard.sites.htcondor.jobs import ATTRIBUTES, parse_history, parse_queue
from steelyard.sites.kit.batch.job import Job, JobRequest, JobState
from steelyard.sites.kit.batch.nodes import check_hosts
from steelyard.sites.kit.batch.options import OneHostOptions
from steelyard.sites.kit.batch.scheduler import Scheduler
from steelyard.sites.kit.batch.script import make_warning
from steelyard.sites.kit.batch.site import BatchSite

_ONE_HOST = "a job of HTCondor has one host here"


class HtcondorOptions(OneHostOptions):
    """What HTCondor can be told."""

    title = "HTCondor"
    one_host = _ONE_HOST
    lacks = frozenset({"queue", "qos", "reservation"})

    queue: str = Field(
        "",
        validation_alias=AliasChoices("queue", "partition"),
        description="Not for HTCondor, which has no queues.",
    )
    qos: str = Field("", description="Not for HTCondor, which has no qualities of service.")
    reservation: str = Field("", description="Not for HTCondor, which has no reservations.")
    nodes: int | None = Field(None, ge=1, description="Number of hosts: a job of HTCondor has one.")
    cores: int = Field(1, ge=1, description="Cores of the job; with `exclusive`, it gets all of its host.")
    memory: Size | None = Field(
        None, description="Memory of the job, for example 4GiB; with `exclusive`, it gets all of its host."
    )
    account: str = Field("", description="Accounting group.")


class HtcondorScheduler(Scheduler[HtcondorOptions]):
    """HTCondor's commands, and what they print."""

    title = "HTCondor"
    # `17.0 - 17.0`, for `-terse`: the first and the last of those submitted.
    job_id_pattern = re.compile(r"^(\d+\.\d+) - \1$", re.MULTILINE | re.ASCII)
    unknown_job_pattern = re.compile(r"not found")
    unreachable_pattern = re.compile(
        r"Can't find address|condor_schedd is not|Failed to (connect|fetch ads)|Connection refused", re.I
    )
    runs_a_file = True

    def submit_argv(self, request: JobRequest) -> tuple[str, ...]:
        """The description comes on standard input, for `-`."""
        return ("condor_submit", "-terse", *request.extra_options, "-")

    def submit_input(self, request: JobRequest, script: str) -> str:
        """A submit description of the file that the script lies in."""
        if request.hosts > 1:
            raise UsageError(f"{_ONE_HOST}, but {request.hosts} were requested from HTCondor")
        return describe_job(request, self._needs(request))

    def _needs(self, request: JobRequest) -> dict[str, str]:
        """All that a host has is an expression, which HTCondor evaluates for each host that it looks at."""
        memory = self.options.memory
        needs = {"request_cpus": "TARGET.TotalCpus" if request.exclusive else str(self.options.cores)}
        if memory:
            needs["request_memory"] = str(-(-memory // (1 << 20)))
        elif request.exclusive:
            needs["request_memory"] = "TARGET.Memory"
        return needs | ({"accounting_group": request.account} if request.account else {})

    def script_prelude(self, request: JobRequest) -> tuple[str, ...]:
        """HTCondor ends all processes of a job."""
        return make_warning(request)

    def status_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """One call, for jobs that are in the queue."""
        return ("condor_q", "-json", "-attributes", ",".join(ATTRIBUTES), *ids)

    def parse_status(self, stdout: str, now: float) -> dict[str, Job]:
        """A JSON list of attributes by name; those that a job lacks are left out."""
        return parse_queue(stdout)

    def history_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """It reads the history backwards, no further than until all are found."""
        limit = ("-limit", str(len(ids)))
        return ("condor_history", "-json", "-attributes", ",".join(ATTRIBUTES), *limit, *ids)

    def parse_history(self, stdout: str) -> dict[str, Job]:
        """As `parse_status`."""
        return parse_history(stdout)

    def cancel_argv(self, identity: str) -> tuple[str, ...]:
        """SIGTERM, and SIGKILL when the host's time for that is over."""
        return ("condor_rm", identity)

    def unfinished_argv(self, name: str) -> tuple[str, ...]:
        """Those in the queue that are neither removed nor completed, as ids."""
        asked = ("-constraint", f"{_name_constraint(name)} && JobStatus != 3 && JobStatus != 4")
        return ("condor_q", *asked, "-format", "%d.", "ClusterId", "-format", r"%d\n", "ProcId")

    def cancel_named_argv(self, name: str) -> tuple[str, ...]:
        """As `cancel_argv`; condor_rm fails where there are none."""
        return ("condor_rm", "-constraint", _name_constraint(name))

    def suspend_argv(self, job: Job) -> tuple[str, ...]:
        """To hold a job that runs would end it."""
        return ("condor_hold" if job.state is JobState.QUEUED else "condor_suspend", job.id)

    def resume_argv(self, job: Job) -> tuple[str, ...]:
        """The opposite."""
        return ("condor_release" if job.state is JobState.QUEUED else "condor_continue", job.id)

    def own_job(self, environment: Mapping[str, str]) -> str | None:
        """Set by the submit description."""
        return environment.get(JOB)

    def host_file(self, environment: Mapping[str, str]) -> Path | None:
        """What the host says of itself."""
        named = environment.get("_CONDOR_MACHINE_AD")
        return Path(named) if named else None

    def parse_hosts(self, environment: Mapping[str, str], content: str) -> tuple[str, ...]:
        """A line `Machine = "n1.cluster.example"` among its attributes."""
        match = re.search(r'^Machine = "([^"]*)"$', content, re.MULTILINE)
        return check_hosts([match[1].partition(".")[0]] if match else [], content)

    def own_host(self, environment: Mapping[str, str], hosts: Sequence[str]) -> str | None:
        """The only one, whatever this machine calls itself."""
        return hosts[0] if hosts else None

    def transport(self, job: str, name: str, address: str) -> Transport:
        """There is no other host than the one that we are on."""
        raise HostError(f"{name} is not the host of HTCondor's job {job}; {_ONE_HOST}")


def _name_constraint(name: str) -> str:
    """An expression of HTCondor's, in which a name that it would read otherwise has no place."""
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name):
        raise UsageError(f"'{name[:60]}' is not the name of a job")
    return f'JobBatchName == "{name}"'


class Htcondor(BatchSite[HtcondorOptions]):
    """The host of an HTCondor job; tested with HTCondor 23.9.

    `--site htcondor` submits one job of the vanilla universe. With `exclusive` it asks for all cores and the
    memory of a host, which a host grants that has one partitionable slot; otherwise set `exclusive: false`,
    `cores` and `memory`. No files are transferred: Steelyard must be installed where all hosts can access it,
    and the store must be on a file system that they share with you, by the pool's FILESYSTEM_DOMAIN. Other
    lines of a submit description go in `options`: `["-append", "requirements = HasGPU"]`. The job has your
    PATH, and no other variable of yours, since all users of a pool may read a job's variables.

    A job has one host: for experiments on several, use another site. A job that loses its host is not started
    again; `steelyard resume` submits another one. HTCondor gives no warning before the time limit, so the job
    script sends SIGUSR1 itself.
    """

    Options = HtcondorOptions
    needs = (
        *("condor_submit", "condor_q", "condor_history", "condor_rm"),
        *("condor_hold", "condor_release", "condor_suspend", "condor_continue"),
    )
    examples = ({"time": "2h", "exclusive": False, "cores": 4, "memory": "8GiB"},)
    scheduler_class = HtcondorScheduler

    def size(self) -> int | None:
        """One."""
        return 1
