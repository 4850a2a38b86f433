"""A script that runs in a pod, with its three streams on our side, over one WebSocket.

Each message begins with the number of its stream; 255 and a number close one, which only version 5 of the
protocol knows. Stream 3 ends it all with a `Status`. Source: KEP-4006, k8s.io/apimachinery's remotecommand.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

import aiohttp

from steelyard.errors import HostLost
from steelyard.printable import make_one_line
from steelyard.transports.kubernetes.errors import parse_status

STDIN, STDOUT, STDERR, STATUS, CLOSE = 0, 1, 2, 3, 255
_BLOCK = 64 << 10
_LOST = "is the API server up, and does the pod still run? Its processes end by themselves without us"


class _Pause:
    """What a full StreamReader closes, and opens again."""

    def __init__(self) -> None:
        self.is_over = asyncio.Event()
        self.is_over.set()

    def pause_reading(self) -> None:
        self.is_over.clear()

    def resume_reading(self) -> None:
        self.is_over.set()


class ExecChannel:
    """What `Transport.run` gives; see `hosts.transport.Channel`. `host` is what messages call the host."""

    def __init__(self, host: str, stream: aiohttp.ClientWebSocketResponse) -> None:
        self._host, self._stream = host, stream
        self.stdout, self.stderr = asyncio.StreamReader(), asyncio.StreamReader()
        self._pauses = {STDOUT: _Pause(), STDERR: _Pause()}
        for number, reader in ((STDOUT, self.stdout), (STDERR, self.stderr)):
            reader.set_transport(cast(asyncio.Transport, self._pauses[number]))  # it uses no more of one
        self._code: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._lost: HostLost | None = None
        self._reading = asyncio.create_task(self._read())

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it is left on our side."""
        return self._reading.done()

    async def send(self, data: bytes) -> None:
        """Write to its standard input; waits while the other side is slow. Raises HostLost."""
        for start in range(0, len(data), _BLOCK):
            await self._send(STDIN, data[start : start + _BLOCK])

    async def end_input(self) -> None:
        """Close its standard input; what it prints still comes. Raises HostLost."""
        if not self._code.done():
            await self._send(CLOSE, bytes([STDIN]))

    async def wait(self) -> int:
        """Its exit code, 128 + n for a signal n. Raises HostLost when the way there broke."""
        return await asyncio.shield(self._code)

    def close(self) -> None:
        """Break off: its standard input ends, and nothing of it is waited for."""
        self._reading.cancel()

    async def wait_closed(self) -> None:
        """Return when nothing of it is left on our side."""
        with suppress(asyncio.CancelledError):
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _send(self, number: int, data: bytes) -> None:
        try:
            await self._stream.send_bytes(bytes([number]) + data)
        except (aiohttp.ClientError, OSError, RuntimeError) as error:
            raise self._explain_loss("the stream to it has ended") from error

    # What comes from there --------------------------------------------------------------------------------

    async def _read(self) -> None:
        """Hand out what comes, until the status does or the stream breaks."""
        why = "the stream to it was closed"
        try:
            async for message in self._stream:
                if message.type is aiohttp.WSMsgType.BINARY and message.data:
                    await self._handle(message.data[0], message.data[1:])
            if error := self._stream.exception():
                why = f"the stream to it broke: {make_one_line(str(error))[:200]}"
        except (aiohttp.ClientError, OSError) as error:
            why = f"the stream to it broke: {make_one_line(str(error))[:200]}"
        finally:
            self._end(why)
            await self._leave()

    async def _handle(self, number: int, data: bytes) -> None:
        if number == STATUS:
            self._finish(parse_status(data))
        elif reader := {STDOUT: self.stdout, STDERR: self.stderr}.get(number):
            reader.feed_data(data)
            await self._pauses[number].is_over.wait()

    def _finish(self, status: Mapping[str, Any]) -> None:
        """The script has ended, and this is how."""
        code = find_exit_code(status)
        if self._code.done():
            return
        if code is None:
            self._fail(make_one_line(str(status.get("message") or json.dumps(status)))[:300])
        else:
            self._code.set_result(code)

    def _end(self, why: str) -> None:
        if not self._code.done():
            self._fail(why)
        failed = self._lost
        for reader in (self.stdout, self.stderr):
            if failed:
                reader.set_exception(failed)
            reader.feed_eof()

    def _fail(self, why: str) -> None:
        self._lost = self._explain_loss(why)
        self._code.set_exception(self._lost)
        self._code.exception()  # nobody has to ask for it

    async def _leave(self) -> None:
        """Close the connection; the other side need not answer any more."""
        with suppress(aiohttp.ClientError, OSError, TimeoutError):
            async with asyncio.timeout(1):
                await self._stream.close()

    def _explain_loss(self, why: str) -> HostLost:
        return HostLost(f"host {self._host}: {why}", hint=_LOST)


def find_exit_code(status: Mapping[str, Any]) -> int | None:
    """The exit code that a `Status` tells; None where the script was not run to its end."""
    if status.get("status") == "Success":
        return 0
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    if status.get("reason") != "NonZeroExitCode" or not isinstance(causes, list):
        return None
    words = [
        str(each.get("message"))
        for each in causes
        if isinstance(each, dict) and each.get("reason") == "ExitCode"
    ]
    return int(words[0]) if words and words[0].isdecimal() else None
