"""Run a short program on a host for what it prints."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from steelyard.errors import HostError
from steelyard.model.command import Command
from steelyard.remote.base import Host, Streams, finish
from steelyard.remote.vault import Runner

_LAST_WORDS = 1200  # characters of a log that go into a message


async def run_small(
    host: Host, command: Command, *, cwd: PurePosixPath, logs: Path, label: str, seconds: float = 60.0
) -> str:
    """What a short program prints. Raises HostError with what it said when it fails or takes too long."""
    logs.mkdir(parents=True, exist_ok=True)
    base = f"{host.name}-{label}"
    streams = Streams(logs / f"{base}.log", logs / f"{base}.err", _stdin(command, logs / f"{base}.in"))
    ended, timed_out = await finish(await host.start(command, streams, cwd=cwd), seconds)
    if ended.code != 0 or timed_out:
        said = tail(streams.stderr) or (
            f"it took longer than {seconds:g} s" if timed_out else "it said nothing"
        )
        raise HostError(f"{label} failed on {host.name}: {said}")
    return streams.stdout.read_text(errors="replace")


def runner(host: Host, cwd: PurePosixPath, logs: Path, label: str, seconds: float = 60.0) -> Runner:
    """Runs commands in a directory on a host, as `run_small` does."""

    async def run(command: Command) -> str:
        return await run_small(host, command, cwd=cwd, logs=logs, label=label, seconds=seconds)

    return run


def tail(path: Path) -> str:
    """The end of a log; nothing where it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()[-_LAST_WORDS:]
    except OSError:
        return ""


def _stdin(command: Command, path: Path) -> Path | None:
    if command.stdin is None:
        return None
    path.write_text(command.stdin)
    return path
