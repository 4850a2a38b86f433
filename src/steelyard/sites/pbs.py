"""Hosts that PBS allocates."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import Field

from steelyard.errors import ParseFailure
from steelyard.remote.login import Login
from steelyard.remote.ssh import SshTransport
from steelyard.remote.transport import Transport
from steelyard.sites._batch import BatchOptions, BatchSite
from steelyard.sites._job import Job, JobRequest, JobState
from steelyard.sites._nodes import checked, clock, seconds

_STATES = {
    "Q": JobState.QUEUED,
    "H": JobState.QUEUED,
    "W": JobState.QUEUED,
    "T": JobState.QUEUED,
    "M": JobState.QUEUED,
    "B": JobState.RUNNING,
    "R": JobState.RUNNING,
    "E": JobState.RUNNING,
    "S": JobState.SUSPENDED,
    "U": JobState.SUSPENDED,
    "F": JobState.DONE,
    "X": JobState.DONE,
}
_TELLING = {
    "H": "is held; `steelyard continue` releases it",
    "W": "its start time is still to come",
    "T": "it is moved to another server",
    "M": "it was moved to another server",
    "E": "it is ending",
    "U": "somebody uses the workstation that it runs on",
}
# What follows "Not Running:" in a job's comment; see "job comment" in the PBS Professional reference guide.
_REASONS = {
    "Insufficient amount of resource": "waits for free nodes",
    "Not enough free nodes available": "waits for free nodes",
    "Not enough total nodes available": "asks for more nodes than there are: lower `nodes`",
    "Can Never Run": "asks for what no node has; it will never start",
    "Job would conflict with reservation or top job": "waits behind jobs of higher priority",
    "Job would cross dedicated time boundary": "would run into dedicated time",
    "Queue not started": "its queue does not start jobs just now",
    "Server job limit has been reached": "the server is at its limit of jobs",
    "Queue job limit has been reached": "its queue is at its limit of jobs",
    "User has reached": "is at the limit of its user",
    "User limit reached": "is at the limit of its user",
    "No available resources on nodes": "waits for free nodes",
}
_ENDS = {  # negative exit statuses, by their names in PBS's job.h
    -29: (JobState.TIMED_OUT, ""),  # JOB_EXEC_KILL_WALLTIME
    -27: (JobState.FAILED, "it used more memory than it was given"),
    -26: (JobState.FAILED, "it used more virtual memory than it was given"),
    -28: (JobState.TIMED_OUT, "it used more CPU time than it was given"),
    -1: (JobState.FAILED, "it could not be started; see its output"),
    -2: (JobState.FAILED, "it could not be started; see its output"),
    -3: (JobState.FAILED, "it could not be started, and is tried again"),
    -10: (JobState.FAILED, "its user is not known on the node"),
}
_KILLED = {256 + 9: "SIGKILL", 256 + 15: "SIGTERM"}


class PbsOptions(BatchOptions):
    """What PBS can be told besides."""

    cores: int = Field(
        1, ge=1, description="Cores of each host; with `exclusive` the host is ours altogether."
    )


class Pbs(BatchSite[PbsOptions]):
    """Hosts of a job of PBS Professional or OpenPBS, version 14 or newer (`qstat -F json`).

    `--site pbs:4` submits one job with a chunk on each of four hosts. Steelyard must be installed where all
    hosts see it, and the store must lie on a file system that they share. Other options of qsub pass through
    `options`. Far hosts are reached by SSH, since PBS's own pbsdsh and pbs_tmrsh pass no standard input. PBS
    gives no warning before the time limit, so that the job script sends SIGUSR1 itself.
    Builders and parsers follow the reference guide and recorded output; no server was at hand to try them on.
    """

    options = PbsOptions
    needs = ("qsub", "qstat", "qdel", "qsig", "qhold", "qrls")
    title = "PBS"
    drops = ("PBS_",)
    keeps = ("PBS_CONF_FILE", "PBS_SERVER", "PBS_DEFAULT", "PBS_EXEC", "PBS_HOME")
    unknown = re.compile(r"Unknown Job Id|Job has finished", re.I)
    unreachable = re.compile(r"cannot connect to server|Connection refused|No route to host|errno=1503[13]")

    def submit_argv(self, request: JobRequest) -> tuple[str, ...]:
        """Qsub reads the script from standard input; `-C ""` keeps it from looking for directives there."""
        place = "scatter:excl" if request.exclusive else "scatter"
        named = (("-q", request.reservation or request.partition), ("-A", request.account))
        return (
            *("qsub", "-C", "", "-N", request.name, "-S", self._interpreter()),
            *("-l", f"select={request.hosts}:ncpus={self.chosen.cores}", "-l", f"place={place}"),
            *("-l", f"walltime={clock(request.seconds)}", "-j", "oe", "-o", str(request.output), "-r", "n"),
            *(("-W", f"qos={request.qos}") if request.qos else ()),
            *(word for option, value in named if value for word in (option, value)),
            *request.passed_through,
        )

    def _interpreter(self) -> str:
        """PBS does not look at the first line of a script."""
        return self.chosen.shell.partition(" ")[0] or ("/bin/bash" if self.chosen.setup else "/bin/sh")

    def before(self, request: JobRequest) -> tuple[str, ...]:
        """A sleeper in the job's session, which PBS ends with the job; `$$` becomes the controller."""
        wait = int(request.seconds) - request.warning
        return (f"( sleep {wait}; kill -USR1 $$ ) </dev/null >/dev/null 2>&1 &",)

    def submitted(self, stdout: str) -> str:
        """`17.server`, the whole of which is the id."""
        match = re.search(r"^(\d+\.[A-Za-z0-9._-]+)$", stdout.strip(), re.MULTILINE)
        if not match:
            raise ParseFailure(f"'{stdout.strip()[:80]}' is not a job id")
        return match[1]

    def status_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """One qstat, finished jobs included where the server keeps them (job_history_enable)."""
        return ("qstat", "-x", "-f", "-F", "json", *ids)

    def parse_status(self, stdout: str, now: float) -> dict[str, Job]:
        """`{"Jobs": {"17.server": {…}}}`, without "Jobs" when it found none."""
        if not stdout.strip():
            return {}
        try:
            described = json.loads(stdout).get("Jobs", {})
            return {identity: _job(identity, facts) for identity, facts in described.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ParseFailure(f"'{stdout.strip()[:80]}' is not qstat's JSON: {error}") from error

    def cancel_argv(self, identity: str) -> tuple[str, ...]:
        """SIGTERM, and SIGKILL after the server's kill_delay."""
        return ("qdel", identity)

    def suspend_argv(self, job: Job) -> tuple[str, ...]:
        """Only operators may suspend what runs; users may hold what is queued."""
        return ("qhold", job.id) if job.state is JobState.QUEUED else ("qsig", "-s", "suspend", job.id)

    def resume_argv(self, job: Job) -> tuple[str, ...]:
        """The opposite."""
        return ("qrls", job.id) if job.state is JobState.QUEUED else ("qsig", "-s", "resume", job.id)

    def own_job(self, environment: Mapping[str, str]) -> str | None:
        """Set in the job's script and all that it starts; Grid Engine does not set it."""
        return environment.get("PBS_JOBID")

    def host_file(self, environment: Mapping[str, str]) -> Path | None:
        """A line for each MPI process of each chunk."""
        named = environment.get("PBS_NODEFILE")
        return Path(named) if named else None

    def allocated(self, environment: Mapping[str, str], content: str) -> tuple[str, ...]:
        """Each host once."""
        return checked(content.split(), content)

    def transport(self, name: str, address: str) -> Transport:
        """By SSH, which PBS sites allow to the nodes of one's own job."""
        return SshTransport(name, Login(name), address=address)


def _job(identity: str, facts: Mapping[str, Any]) -> Job:
    word = facts["job_state"]
    if word not in _STATES:
        raise ParseFailure(f"job {identity} has the unknown state '{str(word)[:40]}'")
    state, reason = _STATES[word], _TELLING.get(word, "")
    if state is JobState.DONE:
        state, reason = _end(facts)
    elif word == "Q":
        reason = _waiting(facts.get("comment", ""))
    hosts = tuple(
        dict.fromkeys(part.partition("/")[0] for part in facts.get("exec_host", "").split("+") if part)
    )
    limit = seconds(facts.get("Resource_List", {}).get("walltime", ""))
    return Job(identity, state, reason, hosts, _instant(facts.get("stime", "")), limit)


def _end(facts: Mapping[str, Any]) -> tuple[JobState, str]:
    """What the exit status says; PBS ends a job by SIGTERM both at its limit and when it is deleted."""
    comment = str(facts.get("comment", ""))
    if "Exit_status" not in facts:  # it never ran
        return JobState.CANCELLED, "" if "terminated" in comment or not comment else comment
    status = int(facts["Exit_status"])
    if status in _ENDS:
        return _ENDS[status]
    if status in _KILLED:
        over = _overran(facts)
        return (JobState.TIMED_OUT, "") if over else (JobState.CANCELLED, f"ended by {_KILLED[status]}")
    return (JobState.FAILED, f"exit code {status}") if status else (JobState.DONE, "")


def _overran(facts: Mapping[str, Any]) -> bool:
    used = seconds(facts.get("resources_used", {}).get("walltime", ""))
    limit = seconds(facts.get("Resource_List", {}).get("walltime", ""))
    return used is not None and limit is not None and used >= limit


def _waiting(comment: str) -> str:
    said = comment.partition("Not Running:")[2].strip() or comment.strip()
    for beginning, sentence in _REASONS.items():
        if said.startswith(beginning):
            return sentence
    return said


def _instant(text: str) -> float | None:
    """`Fri Nov 20 18:45:12 2026`, the server's local time."""
    if not text:
        return None
    try:
        return datetime.strptime(text, "%a %b %d %H:%M:%S %Y").timestamp()
    except ValueError as error:
        raise ParseFailure(f"'{text[:40]}' is not a point in time") from error
