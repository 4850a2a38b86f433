"""The submit description of a job, as condor_submit reads it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.plugin import UsageError
from steelyard.sites.kit.batch.job import JobRequest

JOB = "STEELYARD_HTCONDOR_JOB"
"""The variable in which a job finds its id; HTCondor itself sets none."""

OVERRAN = (46, 47)  # HoldReasonCode of a job that was longer than it may be
_STARTS_ONCE = "MY.NumJobStarts == 0"
_ENDS_FOR_GOOD = (
    f"(JobStatus == 5 && (HoldReasonCode == {OVERRAN[0]} || HoldReasonCode == {OVERRAN[1]}))"
    " || (JobStatus == 1 && NumJobStarts > 0)"
)
"""HTCondor would keep a job that overran, and one that lost its host and may not start again."""
_APPEND = 'exec "$0" >>"$1" 2>&1'  # HTCondor empties a job's output first


def describe_job(request: JobRequest, needs: Mapping[str, str]) -> str:
    """A line for each command; `needs` are those that ask for resources. Raises UsageError."""
    words = ("-c", _APPEND, str(request.script_file), str(request.output))
    commands = {
        "universe": "vanilla",
        "batch_name": request.name,
        "executable": "/bin/sh",
        "transfer_executable": "false",
        "arguments": quote_words(words),
        "initialdir": _escape(str(request.working_directory)),
        "environment": f'"{JOB}=$(ClusterId).$(ProcId)"',
        "getenv": "PATH",
        "should_transfer_files": "NO",
        "notification": "never",
        "allowed_job_duration": str(int(-(-request.seconds // 1))),
        "requirements": _STARTS_ONCE,
        "periodic_remove": _ENDS_FOR_GOOD,
        **needs,
    }
    return "".join(f"{name} = {_check_line(value)}\n" for name, value in commands.items()) + "queue\n"


def quote_words(words: Sequence[str]) -> str:
    """Arguments in HTCondor's new syntax: both kinds of quotes are doubled, and `$` begins no macro."""
    inner = " ".join("'" + word.replace("'", "''") + "'" for word in words)
    return f'"{_escape(inner.replace(chr(34), chr(34) * 2))}"'


def _escape(text: str) -> str:
    return text.replace("$", "$(DOLLAR)")


def _check_line(value: str) -> str:
    if not value.isprintable():
        raise UsageError(f"{value[:60]!r} cannot stand in a submit description: it has control characters")
    return value
