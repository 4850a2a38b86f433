"""A minder as the agent of this machine: how it is started, and the channel to it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Self

from steelyard.errors import HostError, HostLost
from steelyard.hosts import minder
from steelyard.hosts.sweep import UNENDING
from steelyard.hosts.token import Token

GONE_WITHIN = 30.0


class MinderError(HostError):
    """The minder could not be started, or is gone; what it had started was ended."""


class MinderChannel:
    """See `Channel`. Its standard input and output are one socket, whose other end only we hold.

    `status` is how it ended, as waitpid(2) tells; None as long as it has not.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status: int | None = None
        self.stdout: asyncio.StreamReader
        self.stderr: asyncio.StreamReader
        self._writers: list[asyncio.StreamWriter] = []
        self._gone = asyncio.Event()

    @classmethod
    async def open(cls, token: Token) -> Self:
        """Start a minder for the run and the controller that the token names. Raises OSError."""
        ours, theirs = zip(socket.socketpair(), socket.socketpair(), strict=True)
        try:
            channel = cls(_spawn_minder(token, *(each.fileno() for each in theirs)))
            await channel._connect(*ours)
        except BaseException:
            for each in ours:
                each.close()
            raise
        finally:
            for each in theirs:
                each.close()
        return channel

    async def _connect(self, lease: socket.socket, events: socket.socket) -> None:
        pidfd = os.pidfd_open(self.pid)
        asyncio.get_running_loop().add_reader(pidfd, self._note_end, pidfd)
        self.stdout, writer = await asyncio.open_unix_connection(sock=lease)
        self.stderr, silent = await asyncio.open_unix_connection(sock=events)
        self._writers += [writer, silent]

    async def send(self, data: bytes) -> None:
        """Write to its standard input. Raises HostLost when it is gone."""
        lease = self._writers[0]
        try:
            lease.write(data)
            await lease.drain()
        except (ConnectionError, RuntimeError) as error:
            raise HostLost(f"the minder (pid {self.pid}) has ended") from error

    async def end_input(self) -> None:
        """End the lease."""
        lease = self._writers[0]
        if not lease.is_closing():
            lease.write_eof()

    async def wait(self) -> int:
        """Its exit code, 128 + n for a signal n. Raises MinderError when it does not end."""
        try:
            async with asyncio.timeout(GONE_WITHIN):
                await self._gone.wait()
        except TimeoutError:
            message = f"the minder (pid {self.pid}) is still waiting for processes to end"
            raise MinderError(message, hint=UNENDING) from None
        code = os.waitstatus_to_exitcode(self.status or 0)
        return code if code >= 0 else 128 - code

    def close(self) -> None:
        """Close the lease."""
        for writer in self._writers:
            writer.close()

    def _note_end(self, pidfd: int) -> None:
        asyncio.get_running_loop().remove_reader(pidfd)
        os.close(pidfd)
        self.status = -1
        with suppress(ChildProcessError):  # somebody set SIGCHLD to be ignored
            _, self.status = os.waitpid(self.pid, 0)
        self._gone.set()


def _spawn_minder(token: Token, lease: int, events: int) -> int:
    argv = [sys.executable, "-I", "-S", str(Path(minder.__file__).parent), str(token)]
    files = [(os.POSIX_SPAWN_DUP2, fd, number) for fd, number in ((lease, 0), (lease, 1), (events, 2))]
    every = signal.valid_signals()
    return os.posix_spawn(
        sys.executable, argv, os.environ, file_actions=files, setsid=True, setsigmask=(), setsigdef=every
    )
