"""The controller's side of the lease: a minder, and through it the start and the end of children.

The lease ends with the controller, however that dies, and the minder then ends everything. Should the minder
itself die, all that bears its token is swept at once, and everybody who waits gets a MinderError.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Self

from steelyard.errors import HostError
from steelyard.hosts.agent import wire
from steelyard.hosts.agent.agent import ENDED, Agent, AgentTimeouts, RequestRefused
from steelyard.hosts.agent.child import AgentChild, StartError, name_values
from steelyard.hosts.minder.processes import EXEC_WITHIN
from steelyard.hosts.minder_channel import MinderChannel, MinderError
from steelyard.hosts.scratch_marker import ScratchMarker
from steelyard.hosts.sweep import SweepError, end_bearers
from steelyard.hosts.token import Token

READY_WITHIN = 30.0
# No beat: the channel to a minder ends as soon as either side is dead.
_TIMEOUTS = AgentTimeouts(beat_interval=math.inf, silence_timeout=math.inf, hello_timeout=READY_WITHIN)


class Lease:
    """A minder, for as long as it is needed: `async with Lease.open(token) as lease`."""

    def __init__(self, token: Token, minder: MinderChannel, log: Path) -> None:
        self.token, self.mark, self.minder_pid = token, ScratchMarker.generate(token.run), minder.pid
        self._minder, self._log, self._is_closing = minder, log, False
        self._agent = Agent(minder, "local", _TIMEOUTS, self._write_log, self._explain_loss)
        self._names = map(str, itertools.count(1))

    @classmethod
    @asynccontextmanager
    async def open(cls, token: Token, *, log: Path | None = None) -> AsyncIterator[Self]:
        """Start a minder for the run and the controller that the token names.

        What the minder itself may have to complain about goes to the file `log`. Leaving the block ends all
        children, and returns when they and the minder are gone. Raises MinderError.
        """
        try:
            log = log or Path(os.devnull)
            log.open("ab").close()
            lease = cls(token, await MinderChannel.open(token), log)
        except OSError as error:
            raise MinderError(f"cannot start the minder with {sys.executable}: {error}") from error
        try:
            async with lease._agent:
                try:
                    yield lease
                finally:
                    lease._is_closing = True
        finally:
            if lease._minder.status:
                end_bearers(lease._is_ours)

    async def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | str,
        stdin: Path | str | None = None,
        stdout: Path | str,
        stderr: Path | str,
        least_peak: int = 0,
    ) -> AgentChild:
        """Start a program in a session of its own, with `env` laid over our environment, and with the token.

        `argv[0]` is looked up on the resulting PATH. Output files are created or emptied; where both paths
        are equal they share one open file. A peak of no more than `least_peak` bytes is a bound: it may be
        that of a program that becomes the one that was meant. Raises StartError and MinderError.
        """
        values = name_values(argv, cwd, stdin, stdout, stderr)
        if not all(name and "=" not in name for name in env):
            raise StartError("program", values["program"], "EINVAL")
        place, *paths = (_make_absolute(path) for path in (cwd, stdin or os.devnull, stdout, stderr))
        words = wire.start_words(None, place, paths, env, argv)
        return await self._agent.start(next(self._names), words, values, least_peak)

    async def make_scratch(self, path: Path, mark: ScratchMarker | None = None) -> None:
        """Have the minder create a directory with a mark, ours by default; it goes when the lease ends.

        One that bears the mark already is only noted. Raises HostError.
        """
        try:
            await self._agent.ask("scratch", str(path.absolute()), str(mark or self.mark))
        except RequestRefused as error:
            hint = "choose another directory with --scratch DIR or STEELYARD_SCRATCH"
            message = f"cannot create the scratch directory {path}: {error.reason}"
            raise HostError(message, hint=hint) from error

    async def forget_scratch(self, path: Path) -> None:
        """Tell the minder that a directory was removed, or is to stay. Raises MinderError."""
        await self._agent.ask("forget", str(path.absolute()))

    async def restore_at_end(self, path: str, value: str) -> None:
        """Have the minder write to a file of the kernel when the lease ends; nothing for an empty value."""
        await self._agent.ask("restore", path, value)

    # The death of the minder ----------------------------------------------------------------------------

    def _explain_loss(self, why: str) -> MinderError:
        if self._is_closing:
            return MinderError("the lease is closed")
        fate = "has died" if why == ENDED or self._minder.status is not None else why
        message = f"the minder (pid {self.minder_pid}) of run {self.token.run} {fate}"
        return MinderError(f"{message}; {self._sweep()}")

    def _sweep(self) -> str:
        try:
            ended = end_bearers(self._is_ours)
            time.sleep(EXEC_WITHIN)  # between vfork and exec a program bears no token yet
            ended += end_bearers(self._is_ours)
        except SweepError as error:
            return error.message
        return f"{ended} processes that it had started were killed"

    def _is_ours(self, token: Token) -> bool:
        return token == self.token

    def _write_log(self, text: str) -> None:
        with suppress(OSError), self._log.open("a", errors="backslashreplace") as log:
            log.write(f"{text}\n")


def _make_absolute(path: Path | str) -> str:
    return os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118 - pathlib takes ten times as long
