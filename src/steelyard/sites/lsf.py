"""Hosts that LSF allocates."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.plugin import ParseFailure
from steelyard.plugin.transport import PipedTransport, Transport
from steelyard.sites.kit.batch.job import NODE_FAILED, Job, JobRequest, JobState, find_state
from steelyard.sites.kit.batch.nodes import check_hosts
from steelyard.sites.kit.batch.nodes import parse_seconds as clock_seconds
from steelyard.sites.kit.batch.options import BatchOptions
from steelyard.sites.kit.batch.scheduler import Scheduler, select_options
from steelyard.sites.kit.batch.site import BatchSite

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
    "POST_DONE": JobState.DONE,
    "POST_ERR": JobState.DONE,
    "EXIT": JobState.FAILED,
    "ZOMBI": JobState.FAILED,
}
_TELLING = {
    "PROV": "its host is being prepared",
    "PSUSP": "was held before it started",
    "UNKWN": "LSF has lost contact with its host",
    "SSUSP": "LSF suspended it, or has not yet resumed it",
    "POST_ERR": "the site's post-processing failed",
    "ZOMBI": "its host no longer answers",
}
# Parts of LSF's reasons, around which its releases word them differently ("Pending reasons" in its guide).
_REASONS = {
    "New job is waiting for scheduling": "",
    "Not enough hosts to meet": "waits for free hosts",
    "Not enough processors to meet": "waits for free hosts",
    "Not enough slots or resources": "waits for free hosts",
    "Job slot limit reached": "waits for free hosts",
    "Not enough job slot": "waits for free hosts",
    "requirement for exclusive execution not satisfied": "waits for free hosts",
    "Running an exclusive job": "waits for free hosts",
    "An exclusive job has reserved the host": "waits for free hosts",
    "The slot limit reached": "is at a slot limit",
    "user has reached his/her job slot limit": "is at the limit of its user",
    "user has not enough job slots": "is at the limit of its user",
    "User has reached the pending job": "is at the limit of its user",
    "User has reached the per-user job slot limit": "is at the limit of its user",
    "The queue has reached its job slot limit": "its queue is at its limit",
    "The queue has not enough": "its queue is at its limit",
    "The queue is inactivated by": "its queue is closed",
    "before queue's run window is closed": "would not end before its queue closes",
    "The job has a specified start time": "its start time has not yet come",
    "Job dependency condition not satisfied": "waits for another job to end",
    "suspended by the user while pending": "was held; `steelyard continue` releases it",
    "admin or root while pending": "was held by the operator",
    "Closed by LSF administrator": "hosts that it needs are closed by the operator",
}
_ENDS = {  # "Termination reasons" in LSF's administration guide
    "TERM_OWNER": (JobState.CANCELLED, ""),
    "TERM_FORCE_OWNER": (JobState.CANCELLED, ""),
    "TERM_BUCKET_KILL": (JobState.CANCELLED, ""),
    "TERM_ADMIN": (JobState.CANCELLED, "by the operator"),
    "TERM_FORCE_ADMIN": (JobState.CANCELLED, "by the operator"),
    "TERM_PREEMPT": (JobState.CANCELLED, "it was preempted by another job"),
    "TERM_RUNLIMIT": (JobState.TIMED_OUT, ""),
    "TERM_CPULIMIT": (JobState.TIMED_OUT, "it used more CPU time than it was given"),
    "TERM_DEADLINE": (JobState.TIMED_OUT, "its queue's time window closed"),
    "TERM_WINDOW": (JobState.TIMED_OUT, "its queue's time window closed"),
    "TERM_MEMLIMIT": (JobState.FAILED, "it used more memory than it was given"),
    "TERM_SWAP": (JobState.FAILED, "it used more swap space than it was given"),
    "TERM_ZOMBIE": (JobState.FAILED, NODE_FAILED),
    "TERM_REMOVE_HUNG_JOB": (JobState.FAILED, NODE_FAILED),
    "TERM_CWD_NOTEXIST": (JobState.FAILED, "its working directory does not exist on the host"),
}


class LsfScheduler(Scheduler[BatchOptions]):
    """LSF's commands, and what they print."""

    title = "LSF"
    env_filter_prefixes = ("LSB_", "LS_JOBPID", "BSUB_", "BJOBS_")
    env_filter_exceptions = ("LSB_SHAREDIR", "LSB_CONFDIR", "LSB_DEFAULTQUEUE", "LSB_DEFAULTPROJECT")
    # After what the site may have to say.
    job_id_pattern = re.compile(r"^Job <(\d+)> is submitted", re.MULTILINE)
    unknown_job_pattern = re.compile(r"Job <\d+> is not found|No (matching |unfinished )?job found", re.I)
    unreachable_pattern = re.compile(
        r"LSF is down|LIM is down|Cannot connect to LSF|daemon not responding|still trying"
        r"|LIM configuration is not ready|Communication time ?out|LSF is processing your request"
        r"|Host does not respond"
    )

    def submit_argv(self, request: JobRequest) -> tuple[str, ...]:
        """Bsub reads the script from standard input; see the command reference. Limits count minutes."""
        return (
            *("bsub", "-J", request.name, "-n", str(request.hosts), "-R", "span[ptile=1]"),
            *("-W", str(request.minutes), "-o", str(request.output), "-cwd", str(request.working_directory)),
            *(("-wa", "USR1", "-wt", "1") if request.minutes > 1 else ()),
            *(("-x",) if request.exclusive else ()),
            *select_options(request, partition="-q", account="-P", qos="-sla", reservation="-U"),
            *request.extra_options,
        )

    def status_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """One bjobs, `-a` for those that are over too; LSF forgets these after CLEAN_PERIOD, an hour."""
        return ("bjobs", "-a", "-json", "-o", _FIELDS, *ids)

    def parse_status(self, stdout: str, now: float) -> dict[str, Job]:
        """A record for each job, after what LSF may have to say; one that it does not know has an ERROR."""
        _, brace, rest = stdout.partition("{")
        if not brace and (not stdout.strip() or self.unknown_job_pattern.search(stdout)):
            return {}  # it then says, on standard error by default, that it found none
        try:
            records = json.loads(brace + rest)["RECORDS"]
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

    def parse_hosts(self, environment: Mapping[str, str], content: str) -> tuple[str, ...]:
        """LSB_MCPU_HOSTS is `hostA 4 hostB 4`."""
        words = environment.get("LSB_MCPU_HOSTS", "").split()
        return check_hosts(content.split() or words[::2], content or " ".join(words))

    def transport(self, job: str, name: str, address: str) -> Transport:
        """LSF's own remote shell; what runs there counts as the job's, and its words pass as they are."""
        return PipedTransport(name, address, ("blaunch", "-no-shell", name))


class Lsf(BatchSite[BatchOptions]):
    """Hosts of an IBM Spectrum LSF job, version 10.1 or newer (`bjobs -json`).

    `--site lsf:4` submits one job with a slot on each of four hosts. Steelyard must be installed where all
    hosts can access it, and the store must be on a file system that they share. Other bsub options go in
    `options`. Remote hosts are reached by `blaunch`. LSF sends SIGUSR1 a minute before the run limit.
    `exclusive` needs a queue that accepts exclusive jobs. To `suspend` a job with several hosts, lsf.conf
    needs LSB_SIGSTOP=SIGSTOP: otherwise LSF sends SIGTSTP, which the system ignores in a batch job. Commands
    and parsers follow the command reference of version 10.1 and recorded output; they have not been tested
    with a real server.
    """

    needs = ("bsub", "bjobs", "bkill", "bstop", "bresume", "blaunch")
    covers = ("C4S.18", "C4S.26")
    scheduler_class = LsfScheduler


def _job(record: Mapping[str, Any], now: float) -> Job:
    identity, word = record["JOBID"], record["STAT"]
    state, reason = find_state(_STATES, identity, word), _TELLING.get(word, "")
    if word == "EXIT":
        state, reason = _end_state(record)
    elif word in ("PEND", "PSUSP"):
        reason = _explain_pending(record.get("PEND_REASON", "")) or reason
    hosts = tuple(
        dict.fromkeys(entry.rpartition("*")[2] for entry in record["EXEC_HOST"].split(":") if entry)
    )
    ran = _seconds(record.get("RUN_TIME", "")) if hosts else None
    left = _parse_left(record.get("TIME_LEFT", ""))
    limit = ran + left if ran is not None and left is not None else None
    return Job(identity, state, reason, hosts, None if ran is None else now - ran, limit)


def _seconds(text: str) -> float | None:
    """`3600 second(s)`, or `01:00:00` where LSB_HMS_TIME_FORMAT is set."""
    if match := re.match(r"(\d+) second", text):
        return float(match[1])
    return clock_seconds(text) if re.fullmatch(r"\d+:\d+:\d+", text) else None


def _parse_left(text: str) -> float | None:
    """`12:05 L`, hours and minutes to the run limit; an E or X instead stands for an estimate of LSF's."""
    match = re.fullmatch(r"(\d+):(\d+)(?::(\d+))? *L?", text)
    return int(match[1]) * 3600 + int(match[2]) * 60.0 + int(match[3] or 0) if match else None


def _end_state(record: Mapping[str, Any]) -> tuple[JobState, str]:
    term = record.get("EXIT_REASON", "").strip("- ;")
    for key, (state, reason) in _ENDS.items():
        if term.partition(":")[0].strip() == key:
            return state, reason
    code = record.get("EXIT_CODE", "").strip("-")
    return JobState.FAILED, term or (f"exit code {code}" if code else "")


def _explain_pending(text: str) -> str:
    """The first reason that we have a sentence for; hosts that are no candidates give reasons, too."""
    reasons = [part for part in (part.strip() for part in re.split(r"[;\n]", text)) if part.strip("- ")]
    reasons = [part for part in reasons if "andidate host pending reasons" not in part]
    for reason in reasons:
        for said, sentence in _REASONS.items():
            if said in reason:
                return sentence
    return reasons[0] if reasons else ""
