"""Jobs as Slurm's squeue and sacct describe them. Pure; raises ParseFailure."""

from __future__ import annotations

import re
from datetime import datetime

from steelyard.plugin import ParseFailure
from steelyard.sites.kit.batch.job import NODE_FAILED, Job, JobState, find_state
from steelyard.sites.kit.batch.nodes import expand, parse_seconds

SQUEUE_FORMAT = "%i|%T|%N|%S|%l|%r"
SACCT_FORMAT = "JobIDRaw,State,NodeList,Start,Timelimit,ExitCode"
_STATES = {
    "PENDING": JobState.QUEUED,
    "CONFIGURING": JobState.QUEUED,
    "REQUEUED": JobState.QUEUED,
    "REQUEUE_HOLD": JobState.QUEUED,
    "REQUEUE_FED": JobState.QUEUED,
    "SPECIAL_EXIT": JobState.QUEUED,
    "RESV_DEL_HOLD": JobState.QUEUED,
    "RUNNING": JobState.RUNNING,
    "COMPLETING": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "STAGE_OUT": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "SUSPENDED": JobState.SUSPENDED,
    "STOPPED": JobState.SUSPENDED,
    "COMPLETED": JobState.DONE,
    "FAILED": JobState.FAILED,
    "BOOT_FAIL": JobState.FAILED,
    "NODE_FAIL": JobState.FAILED,
    "OUT_OF_MEMORY": JobState.FAILED,
    "LAUNCH_FAILED": JobState.FAILED,
    "RECONFIG_FAIL": JobState.FAILED,
    "CANCELLED": JobState.CANCELLED,
    "PREEMPTED": JobState.CANCELLED,
    "REVOKED": JobState.CANCELLED,
    "TIMEOUT": JobState.TIMED_OUT,
    "DEADLINE": JobState.TIMED_OUT,
}
_TELLING = {  # states that say more than ours
    "CONFIGURING": "its nodes are being prepared",
    "COMPLETING": "it is ending",
    "BOOT_FAIL": "a node did not boot",
    "NODE_FAIL": NODE_FAILED,
    "OUT_OF_MEMORY": "it used more memory than it was given",
    "PREEMPTED": "it was preempted by another job",
    "REQUEUED": "it was requeued",
}
_REASONS = {
    "None": "",
    "Resources": "waits for free nodes",
    "Priority": "waits behind jobs of higher priority",
    "Dependency": "waits for another job to end",
    "DependencyNeverSatisfied": "waits for a job that did not end as required; it will never start",
    "BeginTime": "its start time has not yet come",
    "PartitionTimeLimit": "requests more time than the partition allows; it will never start: lower `time`",
    "PartitionNodeLimit": "requests more nodes than the partition allows; it will never start: lower `nodes`",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition is not starting jobs at present",
    "PartitionConfig": "requests more than its partition has, such as too many nodes; lower `nodes`",
    "ReqNodeNotAvail": "nodes that it needs are down, drained or reserved",
    "NodeDown": "a node that it needs is down",
    "BadConstraints": "no node satisfies `--constraint`; it will never start",
    "Reservation": "waits for its reservation to begin",
    "ReservationDeleted": "its reservation was deleted",
    "JobHeldUser": "was held; `steelyard continue` releases it",
    "JobHeldAdmin": "was held by the operator",
    "Licenses": "waits for a licence",
    "Cleaning": "waits for the cleanup of its previous run",
    "Prolog": "the nodes' prologue is still running",
    "JobLaunchFailure": "could not be launched",
    "launch_failed_requeued_held": "could not be launched; it was held in the queue",
    "InvalidAccount": "its account is not valid; check `account`",
    "InvalidQOS": "its quality of service is not valid; check `qos`",
    "AccountNotAllowed": "its account may not use the partition",
    "QOSNotAllowed": "its quality of service may not use the partition",
    "TimeLimit": "",
    "NonZeroExitCode": "it ended with a code other than 0",
    "SystemFailure": "the system failed",
    "RaisedSignal": "a signal ended it",
    "OutOfMemory": "it used more memory than it was given",
    "BurstBufferResources": "waits for the burst buffer",
    "FrontEndDown": "no front end is available to run it",
}
# Limits come in families: QOSMaxJobsPerUserLimit, AssocGrpCpuLimit, MaxNodePerAccount …
_FAMILIES = (
    (re.compile(r"(QOS|Qos)\w*(Max|Grp|Limit)\w*"), "is at a limit of its quality of service ({0})"),
    (re.compile(r"(Assoc|Association)\w*"), "is at a limit of its account or user ({0})"),
    (re.compile(r"Max\w+Per\w+"), "is at a limit of its account or user ({0})"),
)


def parse_squeue(stdout: str) -> dict[str, Job]:
    """The jobs by id; a line of squeue is `id|state|nodes|start|limit|reason`."""
    return dict(_squeue_line(line) for line in stdout.splitlines() if line.strip())


def parse_sacct(stdout: str) -> dict[str, Job]:
    """The jobs by id; a line of sacct is `id|state|nodes|start|limit|exit code`.

    A state may be `CANCELLED by 1000`.
    """
    jobs = {}
    for line in stdout.splitlines():
        fields = line.split("|")
        if len(fields) != 6:
            raise ParseFailure(f"'{line[:80]}' is not a line of sacct")
        identity, word, nodes, start, limit, code = fields
        ended = f"exit code {code.partition(':')[0]}" if word == "FAILED" else "None"
        jobs[identity] = _job(identity, word.partition(" ")[0], nodes, start, limit, ended)
    return jobs


def _squeue_line(line: str) -> tuple[str, Job]:
    fields = line.strip().split("|", 5)
    if len(fields) != 6:
        raise ParseFailure(f"'{line.strip()[:80]}' is not a line of squeue")
    identity, word, nodes, start, limit, reason = fields
    return identity, _job(identity, word, nodes, start, limit, reason)


def _job(identity: str, word: str, nodes: str, start: str, limit: str, reason: str) -> Job:
    state = find_state(_STATES, identity, word)
    hosts = () if nodes in ("", "(null)", "None assigned") else expand(nodes)
    return Job(identity, state, _reason(state, word, reason), hosts, _instant(start), parse_seconds(limit))


def _reason(state: JobState, word: str, reason: str) -> str:
    if reason == "NodeDown" and state is not JobState.QUEUED:
        return NODE_FAILED  # while it is completing, too
    if word in _TELLING:
        return _TELLING[word]
    if state in (JobState.RUNNING, JobState.DONE, JobState.TIMED_OUT, JobState.CANCELLED):
        return ""
    key = reason.partition(",")[0].strip()
    if key in _REASONS:
        return _REASONS[key] + (f" ({reason})" if key != reason and _REASONS[key] else "")
    for family, sentence in _FAMILIES:
        if family.fullmatch(key):
            return sentence.format(reason)
    return reason


def _instant(text: str) -> float | None:
    """Local time, as Slurm prints it, in seconds of the wall clock."""
    if text in ("N/A", "Unknown", "None", ""):
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError as error:
        raise ParseFailure(f"'{text[:40]}' is not a point in time") from error
