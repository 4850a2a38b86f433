"""The control socket of a controller: how commands reach it, also inside a job.

Where it listens stands in the run's `control.json`, which its user alone may read, with a random key. The key
never crosses the wire: the server sends a nonce, the client answers with its request, a nonce of its own and
an HMAC-SHA256 over them, and every answer carries one, too. Nothing that is secret is sent. A line is JSON,
of at most `LONGEST` bytes, and both sides wait for the other `WITHIN` seconds at most; while a request takes
longer, the server says `busy` again and again. What is still being done for a client that goes away is given
up. Who has not got the key learns nothing but that somebody is there.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.errors import ControllerUnreachable, HostError, SteelyardError
from steelyard.hosts.tasks import run_tasks
from steelyard.untrusted import read_content

LONGEST = 256 * 1024
WITHIN = 10.0
BUSY_EVERY = 3.0
AT_ONCE = 16
"""Connections that are served at once; others wait in the kernel's queue or are turned away."""

_GARBAGE = (ValueError, LookupError, TypeError, TimeoutError, asyncio.IncompleteReadError)

Handler = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Does what a verb asks for. Raises SteelyardError with what the caller is to be told."""


class ControlAddress(NamedTuple):
    """What a client must know, as it stands under `socket` in `control.json`."""

    address: str
    port: int
    key: str


def find_own_address(known_as: str = "") -> str:
    """The address by which other machines reach this one, which they know by that name.

    A name that this machine keeps for itself (127.0.1.1 on some) is the last choice.
    """
    try:
        entries = socket.getaddrinfo(
            known_as or socket.gethostname(), None, socket.AF_INET, socket.SOCK_STREAM
        )
    except OSError:
        return "127.0.0.1"
    addresses = [str(place[0]) for *_, place in entries]
    return next((address for address in addresses if not address.startswith("127.")), addresses[0])


@asynccontextmanager
async def listen(address: str, handle: Handler) -> AsyncIterator[ControlAddress]:
    """A server on this address, on a free port, for as long as the block lasts. Raises HostError."""
    key = secrets.token_hex(32)
    desk = _ControlServer(key, handle)
    try:
        server = await asyncio.start_server(desk.serve, address, 0, limit=LONGEST, backlog=AT_ONCE)
    except OSError as error:
        raise HostError(f"cannot open a control socket on {address}: {error.strerror or error}") from error
    try:
        sockname = server.sockets[0].getsockname()
        yield ControlAddress(str(sockname[0]), int(sockname[1]), key)
    finally:
        server.close()
        await desk.close()


class _ControlServer:
    """Serves one connection after the other, some at once; each asks one thing."""

    def __init__(self, key: str, handle: Handler) -> None:
        self._key, self._handle = key, handle
        self._open: set[asyncio.Task[Any]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection to its end; whatever comes in, it harms nobody else."""
        task = asyncio.current_task()
        if task is None or len(self._open) >= AT_ONCE:
            writer.close()
            return
        self._open.add(task)
        try:
            with suppress(OSError, *_GARBAGE):
                await self._talk(reader, writer)
        finally:
            self._open.discard(task)
            writer.close()

    async def close(self) -> None:
        """Wait until the answers that are under way have gone out; who asks for long is cut off."""
        own = asyncio.current_task()
        waiting = {task for task in self._open if task is not own}
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=1.0)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonce = secrets.token_hex(16)
        await _send_line(writer, {"steelyard": 1, "nonce": nonce})
        asked = _parse_object(await asyncio.wait_for(_read_line(reader), WITHIN))
        session, request = (nonce, str(asked["nonce"])), str(asked["request"])
        if not hmac.compare_digest(_seal(self._key, "ask", *session, request), str(asked["seal"])):
            return
        body = _parse_object(request.encode())
        async with run_tasks(self._answer(str(body.pop("verb", "")), body)) as (answering,):
            turn = 0
            while not (await asyncio.wait({answering}, timeout=BUSY_EVERY))[0]:
                await self._send_answer(writer, session, turn, {"busy": True})
                turn += 1
            await self._send_answer(writer, session, turn, answering.result())

    async def _answer(self, verb: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return {"done": await self._handle(verb, facts)}
        except SteelyardError as error:
            return {"failed": error.message, "hint": error.hint}
        except Exception as error:  # a mistake of ours must not end the run
            return {"failed": f"{verb}: {type(error).__name__}: {error}", "hint": ""}

    async def _send_answer(
        self, writer: asyncio.StreamWriter, session: tuple[str, str], turn: int, answer: Mapping[str, Any]
    ) -> None:
        text = json.dumps(answer, default=str)
        await _send_line(writer, {"answer": text, "seal": _seal(self._key, f"answer-{turn}", *session, text)})


async def call(control: Path, verb: str, **facts: Any) -> Mapping[str, Any]:
    """Ask the controller whose `control.json` this is, and wait until it is done. Raises HostError."""
    announced = read_control_address(control)
    try:
        async with asyncio.timeout(WITHIN):
            reader, writer = await asyncio.open_connection(announced.address, announced.port, limit=LONGEST)
    except (OSError, TimeoutError) as error:
        raise _explain_unreachable(announced, error) from error
    try:
        return await _exchange(reader, writer, announced, {**facts, "verb": verb})
    except (OSError, *_GARBAGE) as error:
        raise _explain_unreachable(announced, error) from error
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    known: ControlAddress,
    request: Mapping[str, Any],
) -> Mapping[str, Any]:
    greeting = _parse_object(await asyncio.wait_for(_read_line(reader), WITHIN))
    session, text = (str(greeting["nonce"]), secrets.token_hex(16)), json.dumps(request)
    seal = _seal(known.key, "ask", *session, text)
    await _send_line(writer, {"nonce": session[1], "request": text, "seal": seal})
    turn = 0
    while True:
        said = _parse_object(await asyncio.wait_for(_read_line(reader), WITHIN + BUSY_EVERY))
        answer = str(said["answer"])
        if not hmac.compare_digest(_seal(known.key, f"answer-{turn}", *session, answer), str(said["seal"])):
            raise ValueError("the answer is not from this run's controller")
        body = _parse_object(answer.encode())
        if "failed" in body:
            raise HostError(str(body["failed"]), hint=str(body.get("hint", "")))
        if "done" in body:
            result: Mapping[str, Any] = body["done"]
            return result
        turn += 1


def read_control_address(control: Path) -> ControlAddress:
    """Where the controller of a run listens. Raises HostError when none says so."""
    try:
        told = json.loads(read_content(control, LONGEST))["socket"]
        return ControlAddress(str(told["address"]), int(told["port"]), str(told["key"]))
    except (OSError, ValueError, LookupError, TypeError) as error:
        hint = "it has ended or is still starting; check `steelyard status`"
        message = f"no controller to reach: {control} names no control socket"
        raise ControllerUnreachable(message, hint=hint) from error


def _explain_unreachable(known: ControlAddress, error: BaseException) -> ControllerUnreachable:
    reason = getattr(error, "strerror", None) or str(error) or "it closed the connection or is too slow"
    hint = "is its job still running, and can this machine reach that address?"
    message = f"the controller at {known.address}:{known.port} does not answer: {reason}"
    return ControllerUnreachable(message, hint=hint)


def _seal(key: str, *parts: str) -> str:
    """Of the parts, each with its length, so that none can be taken for two."""
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    """A whole line. Raises ValueError for one that is too long, IncompleteReadError at the end."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError:
        raise ValueError("a line that is too long") from None


def _parse_object(line: bytes) -> dict[str, Any]:
    try:
        body = json.loads(line)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(body, dict):
        raise ValueError("not an object")
    return body


async def _send_line(writer: asyncio.StreamWriter, content: Mapping[str, Any]) -> None:
    writer.write(json.dumps(content).encode() + b"\n")
    await asyncio.wait_for(writer.drain(), WITHIN)
