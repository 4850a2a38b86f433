"""Jobs as our program for HyperQueue describes them. Pure; raises ParseFailure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from steelyard.plugin import ParseFailure
from steelyard.sites.kit.batch.job import Job, JobState

_CAUSES = {
    "cancelled": (JobState.CANCELLED, ""),
    "limit": (JobState.TIMED_OUT, ""),
    "worker": (JobState.FAILED, "its worker has ended"),
}


def parse_jobs(stdout: str) -> dict[str, Job]:
    """The jobs by id; none when it found none."""
    try:
        return {str(facts["id"]): _parse_job(facts) for facts in json.loads(stdout)}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ParseFailure(f"'{stdout.strip()[:80]}' does not describe jobs: {error}") from error


def _parse_job(facts: Mapping[str, Any]) -> Job:
    state, reason = _end_state(facts) if facts["completed"] else _state(facts)
    host = (str(facts["host"]).partition(".")[0],) if "host" in facts else ()
    started, limit = (float(facts[name]) if name in facts else None for name in ("started", "limit"))
    return Job(str(int(facts["id"])), state, reason, host, started, limit)


def _state(facts: Mapping[str, Any]) -> tuple[JobState, str]:
    """One that is cancelled before it starts never runs: its task ends as soon as a worker takes it."""
    if "host" not in facts:
        if facts["is_cancelled"]:
            return JobState.CANCELLED, ""
        return JobState.QUEUED, "waits for a free worker that lives long enough"
    return JobState.RUNNING, "it is ending" if facts["is_cancelled"] or facts["cause"] else ""


def _end_state(facts: Mapping[str, Any]) -> tuple[JobState, str]:
    """Why we ended it comes before what HyperQueue makes of that."""
    if facts["failed"] and "host" not in facts and facts["is_cancelled"]:
        return JobState.CANCELLED, ""
    if facts["failed"]:
        return _CAUSES.get(facts.get("cause", ""), (JobState.FAILED, _explain_error(facts)))
    return (JobState.DONE, "") if facts["finished"] else (JobState.CANCELLED, "")


def _explain_error(facts: Mapping[str, Any]) -> str:
    code = re.search(r"exit code \d+", facts["error"])
    return code[0] if code else str(facts["error"]).strip().partition("\n")[0]
