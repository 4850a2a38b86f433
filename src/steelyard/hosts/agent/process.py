"""A program on a far host, with its output."""

from __future__ import annotations

import asyncio
import math
from pathlib import PurePosixPath

from steelyard.errors import HostError, TrialFailure
from steelyard.hosts.agent import wire
from steelyard.hosts.agent.output import OutputFollower
from steelyard.hosts.agent.remote_child import NotStarted, RemoteChild
from steelyard.hosts.base import Streams
from steelyard.model.command import Command, Exit

_NOT_A_PROGRAM = ("ENOENT", "EACCES", "ENOEXEC", "ENOTDIR")


class ShellProcess:
    """See `Process`. Its output comes here while it runs."""

    def __init__(self, child: RemoteChild, output: OutputFollower | None) -> None:
        self._child, self._output = child, output
        self._end = asyncio.create_task(self._await_exit())
        self._end.add_done_callback(_retrieve_exception)

    @property
    def pid(self) -> int:
        """Its process id on its host."""
        return self._child.pid

    async def wait(self) -> Exit:
        """How it ended, once its output is here. Raises HostLost."""
        return await asyncio.shield(self._end)

    async def kill(self, grace: float = 2.0) -> None:
        """End it and all below it; returns when nothing is left, and its output has been brought here.

        Bringing it takes scripts on the host: who stops now shall not leave one of those behind either.
        """
        await self._child.kill(grace)
        await asyncio.wait([self._end])

    async def _await_exit(self) -> Exit:
        if self._output is None:
            return convert_exit(await self._child.wait())
        following = asyncio.create_task(self._output.follow())
        try:
            ended = await self._child.wait()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        await self._output.finish()
        return convert_exit(ended)


def convert_exit(ended: wire.Exited) -> Exit:
    """What an agent says of an end, as everybody understands it. An unknown start is that of the release."""
    began = ended.started if ended.started is not None else ended.released
    wall, user, system = (
        0.0 if math.isnan(each) else each for each in (ended.wall, ended.user, ended.system)
    )
    released = None if ended.released is None else ended.released / 1e9
    return Exit(
        code=ended.code,
        signal=ended.signal,
        wall=wall,
        user=user,
        system=system,
        peak_memory=ended.peak,
        started=(began or 0) / 1e9,
        leftovers=ended.leftovers,
        released=released,
    )


def start_failure(
    host: str, error: NotStarted, command: Command, cwd: PurePosixPath, streams: Streams
) -> TrialFailure | HostError:
    """What it means that a program could not be started."""
    value = {
        "program": command.argv[0] if command.argv else "",
        "directory": str(cwd),
        "stdin": str(streams.stdin),
        "stdout": str(streams.stdout),
        "stderr": str(streams.stderr),
    }.get(error.what, "")
    message = f"cannot start on {host}: {error.what} {value!r}: {error.errno}"
    if error.what == "program" and error.errno in _NOT_A_PROGRAM:
        hint = f"install it there with `steelyard install {value}` or the package manager"
        return TrialFailure("tool-missing", f"{message}. {hint}")
    if error.errno in ("ENOSPC", "EDQUOT"):
        return TrialFailure("store-full", message)
    return HostError(message)


def _retrieve_exception(task: asyncio.Task[Exit]) -> None:
    """Nobody has to ask how it ended."""
    if not task.cancelled():
        task.exception()
