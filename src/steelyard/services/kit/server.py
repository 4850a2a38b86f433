"""One process of a service on one host: started, watched, ended, its logs brought home."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Self

from steelyard.errors import HostDown
from steelyard.hosts.base import Host, Process, Streams
from steelyard.hosts.short_programs import find_log_errors, tail
from steelyard.model.command import Command, Exit

_GRACE = 2.0  # seconds to end in good order
# A program may give its children sessions of their own, so the tree is walked: first a parent, which then
# starts no more, and what is below it afterwards.
_SIGNAL = """walk() {
    kill -"$1" "$2" 2>/dev/null
    for below in $(cat /proc/"$2"/task/*/children 2>/dev/null); do walk "$1" "$below"; done
}
walk "$1" "$2"
"""


@dataclass
class Server:
    """A server that was started. `exit` is set once it has ended.

    `start_number` counts how often it was started; `is_stop_requested` is set where its end was asked for,
    `frozen` while it is stopped in the middle of its work. `signal` asks it to end in good order, for which
    it has a `grace` in seconds; `is_force_killed` is set where it did not.
    """

    host: Host
    label: str
    address: str
    port: int
    process: Process
    streams: Streams
    command: Command
    cwd: PurePosixPath
    start_number: int = 1
    is_stop_requested: bool = False
    frozen: bool = False
    signal: str = "TERM"
    grace: float = _GRACE
    is_force_killed: bool = False
    _watch: asyncio.Task[Exit] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._watch = asyncio.ensure_future(self._await_end())

    @classmethod
    async def start(
        cls,
        host: Host,
        label: str,
        command: Command,
        *,
        cwd: PurePosixPath,
        logs: Path,
        address: str,
        port: int,
        turn: int = 1,
    ) -> Self:
        """Start it. Raises HostError, TrialFailure where its program is missing."""
        logs.mkdir(parents=True, exist_ok=True)
        base = f"{host.name}-{label}" + (f".{turn}" if turn > 1 else "")
        streams = Streams(logs / f"{base}.log", logs / f"{base}.err")
        process = await host.start(command, streams, cwd=cwd)
        return cls(host, label, address, port, process, streams, command, cwd, start_number=turn)

    async def restart(self, command: Command | None = None) -> Self:
        """Start it once more, by default with the same words; its logs get the number of the turn."""
        return await self.start(
            self.host,
            self.label,
            command or self.command,
            cwd=self.cwd,
            logs=self.streams.stdout.parent,
            address=self.address,
            port=self.port,
            turn=self.start_number + 1,
        )

    async def _await_end(self) -> Exit:
        """How it ended. Where an event killed its host, its end was asked for, and nobody can tell more."""
        try:
            return await self.process.wait()
        except HostDown:
            self.is_stop_requested = True
            return Exit(None, signal.SIGKILL, 0.0, 0.0, 0.0, None, 0.0)

    @property
    def exit(self) -> Exit | None:
        """How it ended; None while it runs."""
        return self._watch.result() if self._watch.done() and not self._watch.cancelled() else None

    async def wait_for_unexpected_exit(self) -> str:
        """Wait until it ends, and say how; for ever when its end was asked for."""
        outcome = await asyncio.shield(self._watch)
        if self.is_stop_requested:
            await asyncio.Event().wait()
        return f"{self.label} on {self.host.name} ({self.address}) ended {outcome.way}; {self.describe_log()}"

    async def stop(self) -> None:
        """End it with everything below it, and wait for that."""
        self.is_stop_requested = True
        if self.exit is None:
            if self.frozen:
                await self.thaw()  # or it could not end in good order
            await self._terminate()
            self.is_force_killed = (await asyncio.shield(self._watch)).signal == signal.SIGKILL
        await self._watch

    async def _terminate(self) -> None:
        """By the agent, whose own signal is SIGTERM; another one is sent before."""
        grace = self.grace
        if self.signal != "TERM":
            await self._signal(self.signal)
            await asyncio.wait([self._watch], timeout=grace)
            grace = 0.0
        await self.process.kill(grace=grace)

    async def kill(self) -> None:
        """End it by SIGKILL with all below it, as a crash would, and wait until it is gone."""
        self.is_stop_requested = True
        if self.exit is None:
            await self._signal("KILL")
        await asyncio.shield(self._watch)

    async def freeze(self) -> None:
        """Stop it and all below it in the middle of their work."""
        self.frozen = True
        await self._signal("STOP")

    async def thaw(self) -> None:
        """Let it go on."""
        await self._signal("CONT")
        self.frozen = False

    async def _signal(self, name: str) -> None:
        await self.host.capture(("sh", "-c", _SIGNAL, "sh", name, str(self.process.pid)))

    def describe_log(self) -> str:
        """The last errors that it printed, and the end of it all, for a message."""
        for path in (self.streams.stderr, self.streams.stdout):
            if end := tail(path):
                wrong = find_log_errors(path)
                return (f"its log says: {wrong}\n" if wrong else "") + f"its log ends: {end}"
        return "its log is empty"
