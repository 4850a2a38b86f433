"""The controller's side of the lease: start a minder, and through it start and end children.

The lease ends with the controller, however that dies, and the minder then ends everything. Should the minder
itself die, all that bears its token is swept at once, and everybody who waits gets a MinderError.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

from steelyard.errors import HostError
from steelyard.hosts import minder
from steelyard.hosts.minder.processes import EXEC_WITHIN
from steelyard.hosts.scratch_marker import ScratchMarker
from steelyard.hosts.sweep import UNENDING, SweepError, end_bearers
from steelyard.hosts.token import Token
from steelyard.model.command import Exit

READY_WITHIN = 30.0
GONE_WITHIN = 30.0
_HINTS = {
    "program": "Is it installed, executable and on PATH? A script's first line must name its interpreter.",
    "directory": "The working directory must exist before the program starts.",
    "stdin": "The file must exist and be readable.",
}


class MinderError(HostError):
    """The minder could not be started, or is gone; what it had started was ended."""


class StartError(HostError):
    """A program could not be started.

    `what` was at fault (program, directory, stdin, stdout, stderr), `value` is its name, `errno` the reason.
    """

    def __init__(self, what: str, value: str, number: int) -> None:
        self.what, self.value, self.errno = what, value, number
        reason = f"{os.strerror(number)} ({errno.errorcode.get(number, number)})"
        super().__init__(f"cannot start: {what} {value!r}: {reason}", hint=_HINTS.get(what, ""))


class LeaseChild:
    """A program that the minder started. `started` is wall-clock time, `clock` monotonic, in seconds."""

    def __init__(self, lease: Lease, name: str, least_peak: int) -> None:
        self.name, self.pid, self._least_peak = name, 0, least_peak
        self.started = self.clock = 0.0
        self._lease = lease
        self._exit: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()

    async def wait(self) -> Exit:
        """Return how it ended, once nothing is left of it. Raises MinderError."""
        return await asyncio.shield(self._exit)

    async def kill(self, grace: float = 2.0) -> None:
        """End it and all below it: SIGTERM, SIGKILL after `grace` seconds. Returns when nothing is left."""
        if not self._exit.done():
            self._lease._send(do="kill", id=self.name, grace=grace)
        await self.wait()

    def _on_start(self, message: dict[str, Any]) -> None:
        self.pid, self.started, self.clock = message["pid"], message["started"], message["clock"]

    def _on_exit(self, message: dict[str, Any]) -> None:
        figures = {key: value for key, value in message.items() if key not in ("event", "id")}
        figures["peak_is_bound"] |= message["peak_memory"] <= self._least_peak
        self._exit.set_result(Exit(started=self.started, **figures))


class Lease:
    """A minder, for as long as it is needed: `async with Lease.open(token) as lease`."""

    def __init__(self, token: Token) -> None:
        loop = asyncio.get_running_loop()
        self.token, self.mark, self.minder_pid = token, ScratchMarker.generate(token.run), 0
        self._names = map(str, itertools.count(1))
        self._children: dict[str, LeaseChild] = {}
        self._answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._ready: asyncio.Future[None] = loop.create_future()
        self._gone: asyncio.Future[int] = loop.create_future()
        self._transport: asyncio.Transport | None = None
        self._over: MinderError | None = None
        self._closing = False

    @classmethod
    @asynccontextmanager
    async def open(cls, token: Token, *, log: Path | None = None) -> AsyncIterator[Self]:
        """Start a minder for the run and the controller that the token names.

        What the minder itself may have to complain about goes to the file `log`. Leaving the block ends all
        children, and returns when they and the minder are gone. Raises MinderError.
        """
        lease = cls(token)
        try:
            await lease._connect(log)
            await lease._wait_ready()
            yield lease
        finally:
            await lease._close()

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
    ) -> LeaseChild:
        """Start a program in a session of its own with exactly this environment and the token of the run.

        `argv[0]` is looked up on the PATH in `env`. Output files are created or emptied; where both paths are
        equal they share one open file. A peak of no more than `least_peak` bytes is a bound: it may be that
        of a program that becomes the one that was meant. Raises StartError and MinderError.
        """
        places = {"directory": cwd, "stdin": stdin or os.devnull, "stdout": stdout, "stderr": stderr}
        values = {"program": argv[0] if argv else ""} | {what: str(place) for what, place in places.items()}
        request = _request(argv, env, places)
        child = LeaseChild(self, next(self._names), least_peak)
        self._children[child.name] = child
        try:
            answer = await self._ask(child.name, do="start", **request)
        except asyncio.CancelledError:
            with suppress(MinderError):
                self._send(do="kill", id=child.name, grace=0)
            raise
        if answer["event"] == "failed":
            raise StartError(answer["what"], values[answer["what"]], answer["errno"])
        return child

    async def make_scratch(self, path: Path, mark: ScratchMarker | None = None) -> None:
        """Have the minder create a directory with a mark, ours by default; it goes when the lease ends.

        One that bears the mark already is only noted. Raises OSError and MinderError.
        """
        mark = mark or self.mark
        answer = await self._ask(next(self._names), do="scratch", path=_path(path), mark=str(mark))
        if answer["errno"]:
            raise OSError(answer["errno"], answer["why"], str(path))

    def forget_scratch(self, path: Path) -> None:
        """Tell the minder that a directory was removed, or is to stay."""
        self._send(do="unscratch", path=_path(path))

    # The wire -------------------------------------------------------------------------------------------

    async def _ask(self, name: str, **message: object) -> dict[str, Any]:
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[name] = answer
        try:
            self._send(id=name, **message)
            return await answer
        finally:
            del self._answers[name]

    def _send(self, **message: object) -> None:
        if self._over or self._transport is None:
            raise self._over or MinderError("the lease is not open")
        self._transport.write(json.dumps(message).encode() + b"\n")

    def _receive(self, message: dict[str, Any]) -> None:
        event, name = message["event"], message.get("id", "")
        if event == "ready":
            self._ready.set_result(None)
        elif event == "exited":
            self._children.pop(name)._on_exit(message)
        elif event == "started":
            self._children[name]._on_start(message)
        elif event == "failed":
            del self._children[name]
        answer = self._answers.get(name)
        if answer and not answer.done() and event != "exited":
            answer.set_result(message)

    def _on_connection_lost(self) -> None:
        self._over = MinderError("the lease is closed") if self._closing else self._sweep()
        exits = [child._exit for child in self._children.values()]
        waiting: list[asyncio.Future[Any]] = [self._ready, *self._answers.values(), *exits]
        for future in waiting:
            if not future.done():
                future.set_exception(self._over)
                future.exception()  # nobody has to ask for it

    def _sweep(self) -> MinderError:
        try:
            ended = end_bearers(self._is_ours)
            if self._answers:  # between the minder's vfork and its exec a program bears no token yet
                time.sleep(EXEC_WITHIN)
                ended += end_bearers(self._is_ours)
            rest = f"{ended} processes that it had started were killed"
        except SweepError as error:
            rest = error.message
        return MinderError(f"the minder (pid {self.minder_pid}) of run {self.token.run} has died; {rest}")

    def _is_ours(self, token: Token) -> bool:
        return token == self.token

    # The minder -----------------------------------------------------------------------------------------

    async def _connect(self, log: Path | None) -> None:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self.minder_pid = _spawn_minder(self.token, theirs.fileno(), log or Path(os.devnull))
        except OSError as error:
            ours.close()
            self._gone.set_result(0)
            raise MinderError(f"cannot start the minder with {sys.executable}: {error}") from error
        pidfd = os.pidfd_open(self.minder_pid)
        loop.add_reader(pidfd, self._on_minder_exit, pidfd)
        self._transport, _ = await loop.create_unix_connection(lambda: _Wire(self), sock=ours)

    async def _wait_ready(self) -> None:
        try:
            async with asyncio.timeout(READY_WITHIN):
                await self._ready
        except TimeoutError:
            raise MinderError(f"minder {self.minder_pid} was not ready within {READY_WITHIN:g} s") from None

    def _on_minder_exit(self, pidfd: int) -> None:
        asyncio.get_running_loop().remove_reader(pidfd)
        os.close(pidfd)
        status = -1
        with suppress(ChildProcessError):  # somebody set SIGCHLD to be ignored
            _, status = os.waitpid(self.minder_pid, 0)
        self._gone.set_result(status)

    async def _close(self) -> None:
        self._closing = True
        if self._transport and not self._transport.is_closing():
            self._transport.write_eof()
        try:
            async with asyncio.timeout(GONE_WITHIN):
                if await self._gone != 0:
                    end_bearers(self._is_ours)
        except TimeoutError:
            message = f"the minder (pid {self.minder_pid}) is still waiting for processes to end"
            raise MinderError(message, hint=UNENDING) from None
        finally:
            if self._transport:
                self._transport.close()


class _Wire(asyncio.Protocol):
    """Cuts what the minder sends into messages."""

    def __init__(self, lease: Lease) -> None:
        self._lease, self._rest = lease, b""

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._lease._receive(json.loads(line))

    def connection_lost(self, error: Exception | None) -> None:
        self._lease._on_connection_lost()


def _spawn_minder(token: Token, lease: int, log: Path) -> int:
    argv = [sys.executable, "-I", "-S", str(Path(minder.__file__).parent), str(token)]
    every = signal.valid_signals()
    with log.open("ab") as said:
        files = [(os.POSIX_SPAWN_DUP2, fd, number) for fd, number in ((lease, 0), (said.fileno(), 1), (1, 2))]
        return os.posix_spawn(
            sys.executable, argv, os.environ, file_actions=files, setsid=True, setsigmask=(), setsigdef=every
        )


def _request(argv: Sequence[str], env: Mapping[str, str], places: Mapping[str, Path | str]) -> dict[str, Any]:
    try:
        return {
            "argv": [_to_wire(argument) for argument in argv],
            "env": {_to_wire(name): _to_wire(value) for name, value in env.items()},
            "cwd": _path(places["directory"]),
            **{what: _path(places[what]) for what in ("stdin", "stdout", "stderr")},
        }
    except UnicodeEncodeError as error:
        raise StartError("program", str(error.object), errno.EILSEQ) from error


def _to_wire(text: str) -> str:
    """Return text that stands for the same bytes whatever the locale of the two processes."""
    return os.fsencode(text).decode("utf-8", "surrogateescape")


def _path(path: Path | str) -> str:
    return _to_wire(str(Path(path).absolute()))
