"""A way to a host that leads through a program of this machine: srun, qrsh -inherit, blaunch, nsenter."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import Sequence
from contextlib import suppress

from steelyard.errors import HostLost
from steelyard.hosts.transport import Transport

GONE_WITHIN = 10.0
_WAITING = 1 << 20  # bytes that wait to be read, or to be sent


class PipedChannel:
    """A script behind a program's three pipes."""

    def __init__(self, name: str, process: Process, pipes: asyncio.SubprocessTransport) -> None:
        if not (process.stdin and process.stdout and process.stderr):
            raise ValueError("a channel needs three pipes")
        self._name, self._process, self._pipes, self._stdin = name, process, pipes, process.stdin
        self._stdin.transport.set_write_buffer_limits(high=_WAITING)
        self.stdout, self.stderr = process.stdout, process.stderr
        self.pid = process.pid

    @property
    def has_ended(self) -> bool:
        """Whether the program has ended and was collected."""
        return self._process.returncode is not None

    async def send(self, data: bytes) -> None:
        """Write to its standard input. Raises HostLost when it is not there any more."""
        try:
            self._stdin.write(data)
            await self._stdin.drain()
        except (ConnectionError, RuntimeError) as error:
            raise HostLost(f"host {self._name}: the channel to it has ended") from error

    async def end_input(self) -> None:
        """Close its standard input."""
        self._stdin.close()

    async def wait(self) -> int:
        """Its exit code, 128 + n for a signal n."""
        code = await self._process.wait()
        return code if code >= 0 else 128 - code

    def close(self) -> None:
        """Close its three pipes; a program that does not end then is ended with the transport."""
        for number in range(3):
            if pipe := self._pipes.get_pipe_transport(number):
                pipe.close()

    async def end(self, seconds: float) -> None:
        """Wait so long for its end, then end its session. Returns when it is collected."""
        self.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()
                return
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        await self._process.wait()


class PipedTransport(Transport):
    """Runs `prefix... sh -c SCRIPT`; with no prefix, the host is this machine."""

    def __init__(self, name: str, address: str, prefix: Sequence[str] = (), *, shell: str = "sh") -> None:
        self.name, self.address = name, address
        self._argv = (*prefix, *shell.split(), "-c")
        self._channels: list[PipedChannel] = []

    async def open(self) -> None:
        """Nothing to be done beforehand."""

    async def run(self, script: str) -> PipedChannel:
        """Start the program; in a session of its own, so that a terminal's Ctrl-C is not for it."""
        loop = asyncio.get_running_loop()
        try:
            pipes, streams = await loop.subprocess_exec(
                lambda: SubprocessStreamProtocol(_WAITING, loop),
                *self._argv,
                script,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                start_new_session=True,
            )
        except OSError as error:
            hint = f"{self._argv[0]} connects to this host; is it installed and on PATH?"
            raise HostLost(f"host {self.name}: cannot start {self._argv[0]}: {error}", hint=hint) from error
        channel = PipedChannel(self.name, Process(pipes, streams, loop), pipes)
        self._channels = [each for each in self._channels if not each.has_ended]
        self._channels.append(channel)
        return channel

    async def close(self) -> None:
        """End what still runs."""
        await asyncio.gather(*(channel.end(GONE_WITHIN) for channel in self._channels))
        self._channels.clear()
