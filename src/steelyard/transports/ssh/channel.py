"""A script that runs on a host over SSH, with its three streams on our side."""

from __future__ import annotations

import asyncio
import re
import signal
from typing import TYPE_CHECKING, cast

from asyncssh import EXTENDED_DATA_STDERR, SSHClientSession

from steelyard.errors import HostLost
from steelyard.transports.ssh.errors import explain_loss

if TYPE_CHECKING:
    from asyncssh import SSHClientChannel

_UNSAFE = re.compile(r"[\\'\"`$!\n]")


def posix_command(script: str) -> str:
    """One line that every login shell hands on to the host's POSIX shell, which then runs `script`.

    The login shell may be csh, where a quote ends at a newline and `!` recalls history, or fish, where a
    backslash counts inside quotes. What any of them could take for its own is written in octal, for printf.
    """
    octal = _UNSAFE.sub(lambda match: f"\\0{ord(match[0]):03o}", script)
    return f'exec sh -c \'eval "$(printf %b "{octal}")"\''


class _FlowControl:
    """What a full StreamReader closes, and opens again.

    Opened, asyncssh hands over at once what it holds; a StreamReader does not expect it before it waits.
    """

    def __init__(self, chan: SSHClientChannel[bytes]) -> None:
        self._chan = chan

    def pause_reading(self) -> None:
        self._chan.pause_reading()

    def resume_reading(self) -> None:
        asyncio.get_running_loop().call_soon(self._chan.resume_reading)


class SshChannel(SSHClientSession[bytes]):
    """What `Transport.run` gives; see `hosts.transport.Channel`.

    `host` is what messages call the host, `patience` the seconds of silence after which it counts as lost.
    When the connection breaks, who reads from it gets HostLost too.
    """

    def __init__(self, host: str, patience: float) -> None:
        self.stdout, self.stderr = asyncio.StreamReader(), asyncio.StreamReader()
        self._host, self._patience = host, patience
        self._code: int | None = None
        self._chan: SSHClientChannel[bytes]
        self._lost: HostLost | None = None
        self._over, self._writable = asyncio.Event(), asyncio.Event()
        self._writable.set()

    async def send(self, data: bytes) -> None:
        """Write to its standard input; waits while the other side is slow. Raises HostLost."""
        self._check()
        try:
            self._chan.write(data)
        except OSError as error:
            raise HostLost(f"host {self._host}: the process there accepts no more input: {error}") from error
        await self._writable.wait()
        self._check()

    async def end_input(self) -> None:
        """Close its standard input."""
        if not self._over.is_set():
            self._chan.write_eof()

    async def wait(self) -> int:
        """Its exit code (128 + n for a signal n). Raises HostLost when the way there broke."""
        await self._over.wait()
        self._check()
        if self._code is None:
            raise HostLost(f"host {self._host}: the session ended without an exit status")
        return self._code

    def close(self) -> None:
        """Break off: its standard input ends, and nothing of it is waited for."""
        if not self._over.is_set():
            self._chan.close()

    def _check(self) -> None:
        if self._lost:
            raise HostLost(self._lost.message, hint=self._lost.hint)

    # What asyncssh calls ----------------------------------------------------------------------------------

    def connection_made(self, chan: SSHClientChannel[bytes]) -> None:
        """The channel is open. A reader that is full stops it for a while."""
        self._chan = chan
        for reader in (self.stdout, self.stderr):
            reader.set_transport(cast(asyncio.Transport, _FlowControl(chan)))  # it uses no more of one

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Something was written there."""
        (self.stderr if datatype == EXTENDED_DATA_STDERR else self.stdout).feed_data(data)

    def eof_received(self) -> bool:
        """Nothing more will come; our side stays open until we end it."""
        self._end_output()
        return True

    def exit_status_received(self, status: int) -> None:
        """It ended by itself."""
        self._code = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        """A signal ended it."""
        self._code = 128 + _signal_number(signal)

    def pause_writing(self) -> None:
        """The other side does not read as fast as we write."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The channel is closed; `exc` says why where the whole connection broke."""
        if exc:
            self._lost = explain_loss(self._host, exc, self._patience)
            self.stdout.set_exception(self._lost)
            self.stderr.set_exception(self._lost)
        self._end_output()
        self._writable.set()
        self._over.set()

    def _end_output(self) -> None:
        self.stdout.feed_eof()
        self.stderr.feed_eof()


def _signal_number(name: str) -> int:
    """The number of a signal, which SSH names without its SIG (RFC 4254, 6.10); 0 for one we do not know."""
    try:
        return signal.Signals[f"SIG{name}"]
    except KeyError:
        return 0
