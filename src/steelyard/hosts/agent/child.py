"""A program that an agent started, far away or on this machine, as far as the controller knows of it."""

from __future__ import annotations

import asyncio
import errno
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.errors import HostError, TrialFailure
from steelyard.hosts.agent import wire
from steelyard.model.command import Exit

if TYPE_CHECKING:
    from steelyard.hosts.agent.agent import Agent

_NOT_A_PROGRAM = ("ENOENT", "EACCES", "ENOEXEC", "ENOTDIR")
_FULL = ("ENOSPC", "EDQUOT")
_HINTS = {
    "program": "Is it installed, executable and on PATH? A script's first line must name its interpreter.",
    "directory": "The working directory must exist before the program starts.",
    "stdin": "The file must exist and be readable.",
}


class StartError(HostError):
    """A program could not be started.

    `what` was at fault (program, directory, stdin, stdout, stderr), `value` is its name, `errno` names the
    reason (`ENOENT`). `host` is empty for this machine.
    """

    def __init__(self, what: str, value: str, reason: str, host: str = "") -> None:
        self.what, self.value, self.errno, self.host = what, value, reason, host
        number = getattr(errno, reason, None)
        why = f"{os.strerror(number)} ({reason})" if isinstance(number, int) else reason
        place = f" on {host}" if host else ""
        super().__init__(f"cannot start{place}: {what} {value!r}: {why}", hint=_HINTS.get(what, ""))

    def as_failure(self) -> TrialFailure | HostError:
        """What it means for a trial."""
        if self.what == "program" and self.errno in _NOT_A_PROGRAM:
            there, manager = ("there ", "the") if self.host else ("", "your")
            hint = f"install it {there}with `steelyard install {self.value}` or {manager} package manager"
            return TrialFailure("tool-missing", f"{self.message}; {hint}")
        if self.errno in _FULL:
            return TrialFailure("store-full", self.message)
        return HostError(self.message, hint=self.hint)


def name_values(argv: Sequence[str], cwd: object, stdin: object, *output: object) -> dict[str, str]:
    """What a StartError may have to name."""
    names = ("directory", "stdin", "stdout", "stderr")
    places = zip(names, map(str, (cwd, stdin, *output)), strict=True)
    return {"program": argv[0] if argv else "", **dict(places)}


class AgentChild:
    """A program that an agent started: a `Process`.

    `values` names what it was given, for a StartError. A peak of no more than `least_peak` bytes is a bound:
    it may be that of a program that becomes the one that was meant.
    """

    def __init__(
        self, agent: Agent, name: str, values: Mapping[str, str] | None = None, least_peak: int = 0
    ) -> None:
        self.name, self.pid, self.least_peak = name, 0, least_peak
        self._agent, self._values = agent, values or {}
        self.begun: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._ended = asyncio.Event()
        self._exit: Exit | HostError

    async def wait(self) -> Exit:
        """How it ended, once nothing is left of it. Raises HostLost, or MinderError on this machine."""
        await self._ended.wait()
        if isinstance(self._exit, HostError):
            raise self._exit
        return self._exit

    async def kill(self, grace: float = 2.0) -> None:
        """End it and all below it: SIGTERM, SIGKILL after `grace` seconds. Returns when nothing is left."""
        if not self._ended.is_set():
            await self._agent.ask("kill", self.name, f"{grace:.3f}")
        await self.wait()

    def note_answer(self, answer: asyncio.Future[bytes]) -> None:
        """Take in what the agent replied to its start: nothing, unless it refused."""
        error = None if answer.cancelled() else answer.exception()
        if isinstance(error, HostError):
            self.fail(error)

    def handle_event(self, event: wire.Event) -> None:
        """Take in what the agent says of it."""
        match event:
            case wire.Started(_, pid) if not self.begun.done():
                self.pid = pid
                self.begun.set_result(pid)
            case wire.Failed(_, what, reason) if not self.begun.done():
                self.fail(self.refuse(what, reason))
            case wire.Exited():
                self._end(self._convert_exit(event))
                if not self.begun.done():  # it was ended before it could wait for its instant
                    self.begun.set_result(self.pid)

    def refuse(self, what: str, reason: str) -> StartError:
        """The error of a start that cannot be, with what was given for `what`."""
        return StartError(what, self._values.get(what, ""), reason, self._agent.place)

    def fail(self, error: HostError) -> None:
        """Tell everybody who waits for it."""
        if not self.begun.done():
            self.begun.set_exception(error)
            self.begun.exception()  # nobody has to ask for it
        self._end(error)

    def _end(self, end: Exit | HostError) -> None:
        if not self._ended.is_set():
            self._exit = end
            self._ended.set()

    def _convert_exit(self, ended: wire.Exited) -> Exit:
        converted = convert_exit(ended)
        if converted.peak_memory is None or converted.peak_memory > self.least_peak:
            return converted
        return replace(converted, peak_is_bound=True)


def convert_exit(ended: wire.Exited) -> Exit:
    """What an agent says of an end, as everybody understands it. An unknown start is that of the release."""
    began = ended.started if ended.started is not None else ended.released
    wall, user, system = (
        0.0 if math.isnan(each) else each for each in (ended.wall, ended.user, ended.system)
    )
    return Exit(
        code=ended.code,
        signal=ended.signal,
        wall=wall,
        user=user,
        system=system,
        peak_memory=ended.peak,
        started=(began or 0) / 1e9,
        leftovers=ended.leftovers,
        released=None if ended.released is None else ended.released / 1e9,
        peak_is_bound=ended.peak_is_bound,
    )
