"""Run a short program on a host for what it prints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from steelyard.errors import HostError
from steelyard.hosts.base import Host, Streams, finish
from steelyard.model.command import Command

if TYPE_CHECKING:  # most runs keep no snapshot
    from steelyard.snapshots.store import Runner

_LAST_WORDS = 1200  # bytes of a log that go into a message
_MOST, _LONGEST = 4, 400  # kinds of errors in a log that go into a message, and characters of each
_ABSENT = 'for each; do [ -e "$each" ] || echo "$each"; done'
_LOOKED_AT = 256 << 10  # bytes at the end of a log
# A line of a log that calls itself an error, and what an exception says of itself below it.
_COMPLAINT = re.compile(
    r"^.{0,80}?\b(?:ERROR|FATAL|PANIC|SEVERE)\b.*(?:\n[\w.$]+(?:Exception|Error)\b.*)?", re.MULTILINE
)


async def run_short_program(
    host: Host, command: Command, *, cwd: PurePosixPath, logs: Path, label: str, seconds: float = 60.0
) -> str:
    """What a short program prints. Raises HostError with what it said when it fails or takes too long."""
    logs.mkdir(parents=True, exist_ok=True)
    base = f"{host.name}-{label}"
    streams = Streams(logs / f"{base}.log", logs / f"{base}.err", _write_stdin(command, logs / f"{base}.in"))
    ended, timed_out = await finish(await host.start(command, streams, cwd=cwd), seconds)
    if ended.code != 0 or timed_out:
        said = tail(streams.stderr) or (
            f"it took longer than {seconds:g} s" if timed_out else "it printed nothing"
        )
        raise HostError(f"{label} failed on {host.name}: {said}")
    return streams.stdout.read_text(errors="replace")


def make_runner(host: Host, cwd: PurePosixPath, logs: Path, label: str, seconds: float = 60.0) -> Runner:
    """Runs commands in a directory on a host, as `run_short` does."""

    async def run(command: Command) -> str:
        return await run_short_program(host, command, cwd=cwd, logs=logs, label=label, seconds=seconds)

    return run


async def list_absent(host: Host, paths: Sequence[str]) -> list[str]:
    """Those of some paths where nothing is on a host, as far as it tells."""
    said = await host.capture(("sh", "-c", _ABSENT, "sh", *paths)) if paths else ""
    return (said or "").splitlines()


async def explain_missing_file(host: Host, command: Command, folder: object) -> str:
    """A sentence for a file in the experiment's folder that a command names and a far host does not have."""
    if host.shares_files or not folder:
        return ""
    named = [word for word in command.argv if word.startswith(f"{folder}/")]
    missing = await list_absent(host, named)
    if not missing:
        return ""
    where = f"{missing[0]} is not on {host.name}"
    return f"{where}; put the experiment in a directory that all hosts can access, or copy the file there"


def tail(path: Path, most: int = _LAST_WORDS) -> str:
    """So many bytes of the end of a text file; nothing where it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - most))
            return file.read(most).decode(errors="replace").strip()
    except OSError:
        return ""


def find_log_errors(path: Path) -> str:
    """The last kinds of errors in a log, but those in its `tail`: servers go on to say how they shut down.

    Errors that differ in numbers alone are of one kind.
    """
    end = tail(path, _LOOKED_AT)
    errors = [text for text in _COMPLAINT.findall(end) if text not in end[-_LAST_WORDS:]]
    kinds = {re.sub(r"[0-9]+", "0", text): text[:_LONGEST] for text in errors}
    return "\n".join(list(kinds.values())[-_MOST:])


def _write_stdin(command: Command, path: Path) -> Path | None:
    if command.stdin is None:
        return None
    path.write_text(command.stdin)
    return path
