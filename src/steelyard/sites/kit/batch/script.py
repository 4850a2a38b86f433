"""The script of a job: a few lines of shell that become the controller. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from steelyard.errors import UsageError
from steelyard.sites.kit.batch.job import JobRequest

ENDS = "STEELYARD_JOB_ENDS"  # when the time limit falls, in seconds of the wall clock
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def job_script(request: JobRequest, shell: str, setup: Sequence[str], prelude: Sequence[str] = ()) -> str:
    """`setup` are the user's own lines of shell, `prelude` the scheduler's; all else is quoted.

    The controller takes the shell's place, so that the scheduler's signals reach it. Raises UsageError for
    what cannot stand in a script safely.
    """
    lines = [
        f"#!{_check_printable(shell)}",
        f"export {ENDS}=$(( $(date +%s) + {int(request.seconds)} ))",
        f"cd {_quote(str(request.working_directory))} || exit 3",
        *(_export(name, value) for name, value in request.environment.items()),
        *setup,
        *prelude,
        "exec " + " ".join(_quote(word) for word in request.argv),
    ]
    return "\n".join(lines) + "\n"


def make_warning(request: JobRequest) -> tuple[str, ...]:
    """The prelude where the scheduler itself warns no job: a sleeper; `$$` becomes the controller."""
    wait = int(request.seconds) - request.warning
    return (f"( sleep {wait}; kill -USR1 $$ ) </dev/null >/dev/null 2>&1 &",) if request.warning else ()


def job_name(name: str) -> str:
    """A name that every scheduler takes: a letter, then at most 59 letters, digits, `.`, `-`, `_`."""
    tame = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:60].strip("-.") or "steelyard"
    return tame if tame[0].isalpha() else f"s-{tame}"[:60]


def _export(name: str, value: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise UsageError(f"'{name[:60]}' is not the name of an environment variable")
    return f"export {name}={_quote(value)}"


def _quote(text: str) -> str:
    return shlex.quote(_check_printable(text))


def _check_printable(text: str) -> str:
    """Refuse what could begin a new line: schedulers look for their directives at the beginning of lines."""
    if wrong := re.search(r"[\x00-\x08\x0a-\x1f\x7f]", text):
        raise UsageError(
            f"{text[:60]!r} has the control character {wrong[0]!r}, which is not allowed in a job script"
        )
    return text
