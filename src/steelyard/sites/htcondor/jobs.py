"""Jobs as condor_q and condor_history describe them in JSON. Pure; raises ParseFailure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from steelyard.plugin import ParseFailure
from steelyard.sites.htcondor.description import OVERRAN
from steelyard.sites.kit.batch.job import Job, JobState, find_state

ATTRIBUTES = (
    *("ClusterId", "ProcId", "JobStatus", "RemoteHost", "LastRemoteHost", "JobCurrentStartDate"),
    *("AllowedJobDuration", "ExitBySignal", "ExitCode", "ExitSignal", "NumJobStarts", "RemoveReason"),
    *("HoldReason", "HoldReasonCode", "LastHoldReasonCode", "LastRejMatchReason"),
)
_STATES = {
    "1": JobState.QUEUED,
    "2": JobState.RUNNING,
    "3": JobState.CANCELLED,
    "4": JobState.DONE,
    "5": JobState.QUEUED,
    "6": JobState.RUNNING,
    "7": JobState.SUSPENDED,
}
_HELD, _TRANSFERS, _BY_USER = "5", "6", 1
_HAS_HOST = (JobState.RUNNING, JobState.SUSPENDED)


def parse_queue(stdout: str) -> dict[str, Job]:
    """The jobs of the queue by id; one that was removed stays there until its host has ended it."""
    jobs = _parse(stdout)
    return {identity: _explain_ending(job) for identity, job in jobs.items()}


def parse_history(stdout: str) -> dict[str, Job]:
    """Jobs that have left the queue."""
    return _parse(stdout)


def _explain_ending(job: Job) -> Job:
    if job.state is not JobState.CANCELLED or not job.hosts:
        return job
    return Job(job.id, JobState.RUNNING, "it is ending", job.hosts, job.start_time, job.limit)


def _parse(stdout: str) -> dict[str, Job]:
    """Nothing at all stands for no job, in older versions."""
    try:
        jobs = [_parse_job(facts) for facts in json.loads(stdout.strip() or "[]")]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ParseFailure(f"'{stdout.strip()[:80]}' does not describe jobs: {error}") from error
    return {job.id: job for job in reversed(jobs)}  # the history begins with the newest


def _parse_job(facts: Mapping[str, Any]) -> Job:
    identity, word = f"{int(facts['ClusterId'])}.{int(facts['ProcId'])}", str(facts["JobStatus"])
    state, reason = find_state(_STATES, identity, word), ""
    if word == _HELD:
        state, reason = _explain_hold(facts)
    elif state is JobState.QUEUED:
        reason = _explain_wait(facts)
    elif state is JobState.CANCELLED:
        state, reason = _explain_removal(facts)
    elif state is JobState.DONE:
        state, reason = _explain_end(facts)
    elif word == _TRANSFERS:
        reason = "it is ending"
    started, limit = (_number(facts, name) for name in ("JobCurrentStartDate", "AllowedJobDuration"))
    return Job(identity, state, reason, _find_host(facts), started, limit)


def _find_host(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """`slot1_1@n1.cluster.example`; the last one, where it has none any more."""
    slot = str(facts.get("RemoteHost") or facts.get("LastRemoteHost") or "")
    host = slot.rpartition("@")[2].partition(".")[0]
    return (host,) if host else ()


def _number(facts: Mapping[str, Any], name: str) -> float | None:
    return float(facts[name]) if name in facts else None


def _explain_hold(facts: Mapping[str, Any]) -> tuple[JobState, str]:
    code, why = facts.get("HoldReasonCode"), str(facts.get("HoldReason", ""))
    if code in OVERRAN:
        return JobState.TIMED_OUT, ""
    told = "is held" if code == _BY_USER else f"HTCondor holds it: {why}"
    return JobState.QUEUED, f"{told}; `steelyard continue` releases it"


def _explain_wait(facts: Mapping[str, Any]) -> str:
    why = str(facts.get("LastRejMatchReason", "")).strip()
    return f"waits for a free host that has what it asks for{f' ({why})' if why else ''}"


def _explain_removal(facts: Mapping[str, Any]) -> tuple[JobState, str]:
    """By a user, or by the rule of its own that ends a job which would be held or start again."""
    if facts.get("LastHoldReasonCode", facts.get("HoldReasonCode")) in OVERRAN:
        return JobState.TIMED_OUT, ""
    why = str(facts.get("RemoveReason", ""))
    if "PeriodicRemove" in why:
        return JobState.FAILED, "it lost its host"
    return JobState.CANCELLED, "" if why.startswith("via condor_rm") else why


def _explain_end(facts: Mapping[str, Any]) -> tuple[JobState, str]:
    if facts.get("ExitBySignal"):
        return JobState.FAILED, f"ended by signal {int(facts['ExitSignal'])}"
    code = int(facts["ExitCode"])
    return (JobState.FAILED, f"exit code {code}") if code else (JobState.DONE, "")
