"""Hosts that Grid Engine allocates."""

from __future__ import annotations

import getpass
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

from pydantic import Field

from steelyard.plugin import ParseFailure
from steelyard.plugin.transport import PipedChannel, PipedTransport, Transport
from steelyard.sites.kit.batch.job import Job, JobRequest, JobState
from steelyard.sites.kit.batch.nodes import check_hosts
from steelyard.sites.kit.batch.options import BatchOptions
from steelyard.sites.kit.batch.scheduler import Scheduler, select_options
from steelyard.sites.kit.batch.site import BatchSite

_DAYS = 8  # of accounting that are looked through for a job that has ended
_WRITTEN_WITHIN = 60.0  # seconds; flush_time, after which the accounting must hold a job, is 15 by default
_ENDED = "has ended; its exit status is not in the accounting yet"
_STAMP = "%a %b %d %H:%M:%S %Y"


class GridengineOptions(BatchOptions):
    """What Grid Engine must be told besides."""

    parallel_environment: str = Field(
        "steelyard",
        description="Parallel environment with one slot a host and control_slaves; see `qconf -spl`.",
    )


class GridengineScheduler(Scheduler[GridengineOptions]):
    """Grid Engine's commands, and what they print."""

    title = "Grid Engine"
    env_filter_prefixes = (
        "JOB_",
        "PE",
        "QUEUE",
        "NSLOTS",
        "NHOSTS",
        "NQUEUES",
        "SGE_TASK_",
        "SGE_O_",
        "SGE_STD",
    )
    job_id_pattern = re.compile(r"^(\d+)$", re.MULTILINE)  # the number alone, for `-terse`
    unknown_job_pattern = re.compile(r"do(es)? not exist|not found")
    unreachable_pattern = re.compile(
        r"unable to (contact|send message to) qmaster|got no response|commlib error", re.I
    )

    def submit_argv(self, request: JobRequest) -> tuple[str, ...]:
        """Qsub reads the script from standard input; `-C ""` keeps it from looking for directives there."""
        limits = f"h_rt={request.minutes * 60},s_rt={request.minutes * 60 - request.warning}"
        return (
            *("qsub", "-terse", "-C", "", "-N", request.name, "-S", self._interpreter(), "-V", "-r", "n"),
            *("-wd", str(request.working_directory), "-o", str(request.output), "-j", "y", "-l", limits),
            *("-pe", self.options.parallel_environment, str(request.hosts)),
            *select_options(request, partition="-q", account="-P", reservation="-ar", qos="-js"),
            *request.extra_options,
        )

    def _interpreter(self) -> str:
        """Many queues do not look at the first line of a script, but take csh."""
        return self.options.shell.partition(" ")[0] or ("/bin/bash" if self.options.setup else "/bin/sh")

    def status_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """One qstat of all our jobs: it takes no list."""
        return ("qstat", "-xml", "-r", "-g", "t", "-s", "prsz", "-u", getpass.getuser())

    def parse_status(self, stdout: str, now: float) -> dict[str, Job]:
        """An entry for each host of each job; those of the master come first."""
        try:
            entries = ElementTree.fromstring(stdout.strip()).iter("job_list")  # noqa: S314 - of the scheduler
            jobs: dict[str, Job] = {}
            for entry in entries:
                job = _job(entry)
                known = jobs.get(job.id)
                hosts = tuple(dict.fromkeys((*(known.hosts if known else ()), *job.hosts)))
                jobs[job.id] = Job(job.id, job.state, job.reason, hosts, job.start_time, job.limit)
        except (ElementTree.ParseError, ValueError) as error:
            raise ParseFailure(f"'{stdout.strip()[:80]}' is not qstat's XML: {error}") from error
        return jobs

    def list_missing_jobs(self, wanted: Iterable[str], found: Mapping[str, Job]) -> list[str]:
        """Qstat does not tell how the jobs that it still lists as finished did end."""
        return [each for each in wanted if each not in found or found[each].reason == _ENDED]

    def history_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """The accounting of the last days: it takes no list either."""
        return ("qacct", "-o", getpass.getuser(), "-d", str(_DAYS), "-j")

    def parse_history(self, stdout: str) -> dict[str, Job]:
        """Records parted by a line of `=`; the last of a job is its own, those before are of its steps."""
        records = (
            dict(map(_split_pair, part.splitlines()))
            for part in re.split(r"^=+$", stdout, flags=re.MULTILINE)
        )
        return {record["jobnumber"]: _parse_record(record) for record in records if "jobnumber" in record}

    def explain_unrecorded_job(self, job: Job, seconds: float, *, was_cancelled: bool) -> Job:
        """Grid Engine forgets jobs that are cancelled before they begin, and is slow to record the others."""
        if was_cancelled:
            return replace(job, state=JobState.CANCELLED, reason="")
        if seconds > _WRITTEN_WITHIN:
            return replace(job, state=JobState.LOST, reason="it ended, and the accounting has no exit status")
        return job

    def cancel_argv(self, identity: str) -> tuple[str, ...]:
        """SIGKILL, since queues rarely ask for a notice."""
        return ("qdel", identity)

    def suspend_argv(self, job: Job) -> tuple[str, ...]:
        """Owners may do both: stop what runs, hold what is queued."""
        return ("qhold", job.id) if job.state is JobState.QUEUED else ("qmod", "-sj", job.id)

    def resume_argv(self, job: Job) -> tuple[str, ...]:
        """The opposite."""
        return ("qrls", job.id) if job.state is JobState.QUEUED else ("qmod", "-usj", job.id)

    def own_job(self, environment: Mapping[str, str]) -> str | None:
        """JOB_ID alone might be anybody's."""
        return environment.get("JOB_ID") if "SGE_JOB_SPOOL_DIR" in environment else None

    def host_file(self, environment: Mapping[str, str]) -> Path | None:
        """The parallel environment's."""
        named = environment.get("PE_HOSTFILE")
        return Path(named) if named else None

    def parse_hosts(self, environment: Mapping[str, str], content: str) -> tuple[str, ...]:
        """A line is `host slots queue processors`; without a parallel environment we are the only host."""
        hosts = [line.split()[0] for line in content.splitlines() if line.strip()]
        return check_hosts(hosts or [environment.get("HOSTNAME", "")], content)

    def transport(self, job: str, name: str, address: str) -> Transport:
        """Qrsh joins the words and has a shell part them again."""
        return _QrshTransport(name, address, ("qrsh", "-inherit", name))


class Gridengine(BatchSite[GridengineOptions]):
    """Hosts of a Grid Engine job; tested with Son of Grid Engine 8.1.9.

    `--site gridengine:4` submits one job with four slots in `parallel_environment`, which the operator must
    set up with one slot per host (allocation_rule 1) and control_slaves TRUE. Steelyard must be installed
    where all hosts can access it, and the store must be on a file system that they share. Other qsub options
    go in `options`, such as the request for exclusive hosts, which differs between sites (`-l exclusive`).
    Remote hosts are reached by `qrsh -inherit`. SIGUSR1 arrives at the soft limit, a minute before the hard
    one. Grid Engine keeps no record of jobs that are deleted before they start; such jobs are later reported
    as lost.
    """

    Options = GridengineOptions
    needs = ("qsub", "qstat", "qacct", "qdel", "qmod", "qhold", "qrls", "qrsh")
    scheduler_class = GridengineScheduler


class _QrshTransport(PipedTransport):
    async def run(self, script: str) -> PipedChannel:
        return await super().run(shlex.quote(script))


def _job(entry: ElementTree.Element) -> Job:
    identity, word = entry.findtext("JB_job_number", ""), entry.findtext("state", "")
    state, reason = _state(identity, word)
    queue, started = entry.findtext("queue_name", ""), entry.findtext("JAT_start_time", "")
    host = queue.partition("@")[2]
    limits = [request.text for request in entry.iter("hard_request") if request.get("name") == "h_rt"]
    limit = float(limits[0]) if limits and limits[0] else None
    began = datetime.fromisoformat(started).timestamp() if started else None
    return Job(identity, state, reason, (host,) if host else (), began, limit)


def _state(identity: str, word: str) -> tuple[JobState, str]:
    """Letters of qstat(1): a suspended or deleted job still has its `r`, a held one its `q`."""
    if not identity.isdigit() or not re.fullmatch(r"[a-zA-Z]+", word):
        raise ValueError(f"job '{identity[:20]}' has the unknown state '{word[:20]}'")
    if "z" in word:
        return JobState.RUNNING, _ENDED
    if "q" in word:
        return JobState.QUEUED, _explain_wait(word)
    if set(word) & set("sST"):
        return JobState.SUSPENDED, ""
    if not set(word) & set("rtdR"):
        raise ValueError(f"job '{identity[:20]}' has the unknown state '{word[:20]}'")
    return JobState.RUNNING, "it is ending" if "d" in word else ""


def _explain_wait(word: str) -> str:
    if "E" in word:
        return "could not be started; `qstat -j` shows why, `qmod -cj` clears it"
    return "is held; `steelyard continue` releases it" if "h" in word else "waits for free hosts"


def _split_pair(line: str) -> tuple[str, str]:
    name, _, value = line.strip().partition(" ")
    return name, value.strip()


def _parse_record(record: Mapping[str, str]) -> Job:
    """Both qdel and the hard limit end a job by SIGKILL; its time tells them apart."""
    try:
        identity, status = record["jobnumber"], int(record["exit_status"].split()[0])
        failed = int(record["failed"].split()[0])
        ran = float(record["ru_wallclock"].rstrip("s"))
        asked = re.search(r"\bh_rt=(\d+)", record.get("category", ""))
        began = record.get("start_time", "")
        started = None if began.startswith("-") else datetime.strptime(began, _STAMP).timestamp()
    except (KeyError, ValueError, IndexError) as error:
        raise ParseFailure(f"a qacct record is incomplete: {error}") from error
    limit = float(asked[1]) if asked else None
    state, reason = _explain_end(status, failed, limit is not None and ran >= limit, record["failed"])
    return Job(identity, state, reason, (record.get("hostname", ""),), started, limit)


def _explain_end(status: int, failed: int, overran: bool, words: str) -> tuple[JobState, str]:
    if failed == 37 or (overran and status):
        return JobState.TIMED_OUT, ""
    if status > 128:
        return JobState.CANCELLED, f"ended by signal {status - 128}"
    if failed:
        return JobState.FAILED, words.partition(":")[2].strip() or f"Grid Engine's code {failed}"
    return (JobState.FAILED, f"exit code {status}") if status else (JobState.DONE, "")
