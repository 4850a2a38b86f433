"""Hosts that LSF allocates."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.errors import ParseFailure
from steelyard.sites._batch import BatchOptions, BatchSite
from steelyard.sites._job import Job, JobRequest, JobState
from steelyard.sites._nodes import checked

_FIELDS = "jobid stat exit_code exit_reason pend_reason exec_host run_time time_left"
_STATES = {
    "PEND": JobState.QUEUED,
    "PROV": JobState.QUEUED,
    "WAIT": JobState.QUEUED,
    "PSUSP": JobState.QUEUED,
    "RUN": JobState.RUNNING,
    "UNKWN": JobState.RUNNING,
    "USUSP": JobState.SUSPENDED,
    "SSUSP": JobState.SUSPENDED,
    "DONE": JobState.DONE,
    "EXIT": JobState.FAILED,
    "ZOMBI": JobState.FAILED,
}
_TELLING = {
    "PROV": "its host is being prepared",
    "PSUSP": "was held before it started",
    "UNKWN": "LSF has lost touch with its host",
    "SSUSP": "LSF itself suspended it",
    "ZOMBI": "its host does not answer any more",
}
# Beginnings of LSF's reasons, which end in figures and names; "Pending reasons" in its administration guide.
_REASONS = {
    "New job is waiting for scheduling": "",
    "Not enough hosts to meet the job's spanning requirement": "waits for free hosts",
    "Job slot limit reached": "waits for free hosts",
    "Not enough job slot": "waits for free hosts",
    "Not enough processors to meet the job's spanning requirement": "waits for free hosts",
    "The slot limit reached": "is at a limit of slots",
    "The user has reached his/her job slot limit": "is at the limit of its user",
    "User has reached the pending job": "is at the limit of its user",
    "The queue has reached its job slot limit": "its queue is at its limit",
    "The queue is inactivated by": "its queue is closed",
    "The queue has not enough": "its queue is at its limit",
    "Job dependency condition not satisfied": "waits for another job to end",
    "Job was suspended by the user while pending": "was held; `steelyard continue` releases it",
    "Job was suspended by LSF admin or root while pending": "was held by the operator",
    "Closed by LSF administrator": "hosts that it needs are closed by the operator",
}
_ENDS = {
    "TERM_OWNER": (JobState.CANCELLED, ""),
    "TERM_FORCE_OWNER": (JobState.CANCELLED, ""),
    "TERM_ADMIN": (JobState.CANCELLED, "by the operator"),
    "TERM_FORCE_ADMIN": (JobState.CANCELLED, "by the operator"),
    "TERM_PREEMPT": (JobState.CANCELLED, "another job took its place"),
    "TERM_RUNLIMIT": (JobState.TIMED_OUT, ""),
    "TERM_DEADLINE": (JobState.TIMED_OUT, "its queue's time window closed"),
    "TERM_WINDOW": (JobState.TIMED_OUT, "its queue's time window closed"),
    "TERM_MEMLIMIT": (JobState.FAILED, "it used more memory than it was given"),
    "TERM_ZOMBIE": (JobState.FAILED, "a host failed"),
    "TERM_CWD_NOTEXIST": (JobState.FAILED, "its working directory does not exist on the host"),
}


class Lsf(BatchSite[BatchOptions]):
    """Hosts of a job of IBM Spectrum LSF, version 10.1 or newer (`bjobs -json`).

    `--site lsf:4` submits one job with a slot on each of four hosts. Steelyard must be installed where all
    hosts see it, and the store must lie on a file system that they share. Other options of bsub pass through
    `options`. Far hosts are reached by `blaunch`. LSF sends SIGUSR1 a minute before the run limit.
    Builders and parsers follow the command reference of version 10.1; no server was at hand to try them on.
    """

    needs = ("bsub", "bjobs", "bkill", "bstop", "bresume", "blaunch")
    title = "LSF"
    drops = ("LSB_", "LS_JOBPID", "LSB_BJOBS_FORMAT")
    keeps = ("LSB_SHAREDIR", "LSB_CONFDIR")
    unknown = re.compile(r"Job <\d+>(: No matching job found| is not found)|No matching job found", re.I)
    unreachable = re.compile(
        r"LSF is down|Cannot connect to LSF|daemon not responding|still trying|Communication time ?out"
        r"|LSF is processing your request|Host does not respond"
    )

    def submit_argv(self, request: JobRequest) -> tuple[str, ...]:
        """Bsub reads the script from standard input; see the command reference. Limits count minutes."""
        named = (
            ("-q", request.partition),
            ("-P", request.account),
            ("-sla", request.qos),
            ("-U", request.reservation),
        )
        return (
            *("bsub", "-J", request.name, "-n", str(request.hosts), "-R", "span[ptile=1]"),
            *("-W", str(request.minutes), "-o", str(request.output), "-cwd", str(request.working_directory)),
            *(("-wa", "USR1", "-wt", "1") if request.minutes > 1 else ()),
            *(("-x",) if request.exclusive else ()),
            *(word for option, value in named if value for word in (option, value)),
            *request.passed_through,
        )

    def submitted(self, stdout: str) -> str:
        """`Job <17> is submitted to default queue <normal>.`, after what the site may have to say."""
        match = re.search(r"^Job <(\d+)> is submitted", stdout, re.MULTILINE)
        if not match:
            raise ParseFailure(f"'{stdout.strip()[:80]}' does not say that a job is submitted")
        return match[1]

    def status_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """One bjobs; LSF forgets finished jobs after CLEAN_PERIOD, an hour."""
        return ("bjobs", "-json", "-o", _FIELDS, *ids)

    def parse_status(self, stdout: str, now: float) -> dict[str, Job]:
        """A record for each job; one that LSF does not know has an ERROR."""
        if not stdout.strip():
            return {}  # it then says on standard error that it found none
        try:
            records = json.loads(stdout)["RECORDS"]
            return {record["JOBID"]: _job(record, now) for record in records if "ERROR" not in record}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ParseFailure(f"'{stdout.strip()[:80]}' is not bjobs' JSON: {error}") from error

    def cancel_argv(self, identity: str) -> tuple[str, ...]:
        """SIGINT, SIGTERM, SIGKILL, ten seconds apart."""
        return ("bkill", identity)

    def suspend_argv(self, job: Job) -> tuple[str, ...]:
        """Bstop holds what is queued and stops what runs."""
        return ("bstop", job.id)

    def resume_argv(self, job: Job) -> tuple[str, ...]:
        """The opposite."""
        return ("bresume", job.id)

    def own_job(self, environment: Mapping[str, str]) -> str | None:
        """Set in every process of a job."""
        return environment.get("LSB_JOBID")

    def host_file(self, environment: Mapping[str, str]) -> Path | None:
        """A line for each slot; the variable beside it may be cut short for many hosts."""
        named = environment.get("LSB_DJOB_HOSTFILE")
        return Path(named) if named else None

    def allocated(self, environment: Mapping[str, str], content: str) -> tuple[str, ...]:
        """LSB_MCPU_HOSTS is `hostA 4 hostB 4`."""
        words = environment.get("LSB_MCPU_HOSTS", "").split()
        return checked(content.split() or words[::2], content or " ".join(words))

    def step(self, host: str, identity: str) -> tuple[str, ...]:
        """LSF's own remote shell; it counts what runs there as the job's."""
        return ("blaunch", host)


def _job(record: Mapping[str, Any], now: float) -> Job:
    identity, word = record["JOBID"], record["STAT"]
    if word not in _STATES:
        raise ParseFailure(f"job {identity} has the unknown state '{word[:40]}'")
    state, reason = _STATES[word], _TELLING.get(word, "")
    if word == "EXIT":
        state, reason = _end(record)
    elif word in ("PEND", "PSUSP"):
        reason = _pending(record.get("PEND_REASON", "")) or reason
    hosts = tuple(
        dict.fromkeys(entry.rpartition("*")[2] for entry in record["EXEC_HOST"].split(":") if entry)
    )
    ran = re.match(r"(\d+) second", record.get("RUN_TIME", ""))
    left = re.match(r"(\d+):(\d+)", record.get("TIME_LEFT", ""))
    started = now - int(ran[1]) if ran and hosts else None
    limit = int(ran[1]) + int(left[1]) * 3600 + int(left[2]) * 60.0 if ran and left else None
    return Job(identity, state, reason, hosts, started, limit)


def _end(record: Mapping[str, Any]) -> tuple[JobState, str]:
    term = record.get("EXIT_REASON", "")
    for key, (state, reason) in _ENDS.items():
        if term.partition(":")[0].strip() == key:
            return state, reason
    code = record.get("EXIT_CODE", "")
    return JobState.FAILED, term or (f"exit code {code}" if code else "")


def _pending(text: str) -> str:
    first = text.strip().rstrip(";").partition(";")[0].strip()
    for beginning, sentence in _REASONS.items():
        if first.startswith(beginning):
            return sentence
    return first
