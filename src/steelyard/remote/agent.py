"""The controller's side of an agent on a far host: requests, events, the beat, and the children it started.

The lease is the channel. When it ends, or the host sends what makes no sense, or does not answer in time,
everybody who waits gets HostLost, and the agent there ends everything by itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from steelyard.errors import HostError, HostLost
from steelyard.remote import wire
from steelyard.remote.remote_child import RemoteChild
from steelyard.remote.token import Token
from steelyard.remote.transport import Channel, Transport

T = TypeVar("T")

_GREETING_NOISE = 65536  # bytes that a login shell may say before the agent does


class AgentTimeouts(NamedTuple):
    """How patient both sides are, in seconds.

    `beat`: how often the controller shows that it lives. `patience`: for how long the agent, and the
    controller, bear that the other is silent. `hello`: for how long an agent may take to begin.
    """

    beat: float = 4.0
    patience: float = 15.0
    hello: float = 30.0


class RequestRefused(HostError):
    """The agent could not do what it was asked; `reason` is what it said."""

    def __init__(self, name: str, code: int, reason: str) -> None:
        self.code, self.reason = code, reason
        super().__init__(f"host {name}: {reason or f'refused with code {code}'}")


class Agent:
    """An agent, for as long as it is needed: `async with Agent.open(...) as agent`."""

    def __init__(self, channel: Channel, name: str, pace: AgentTimeouts, say: Callable[[str], None]) -> None:
        self.name, self.hello = name, wire.Hello("", "", "")
        self._channel, self._pace, self._say = channel, pace, say
        self._waiting: deque[asyncio.Future[tuple[int, bytes]]] = deque()
        self._greeting: asyncio.Future[wire.Hello] = asyncio.get_running_loop().create_future()
        self._children: dict[str, RemoteChild] = {}
        self._scripts: dict[str, asyncio.Future[int]] = {}
        self._sending = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self.lost: HostLost | None = None

    @classmethod
    @asynccontextmanager
    async def open(
        cls, transport: Transport, token: Token, pace: AgentTimeouts, say: Callable[[str], None]
    ) -> AsyncIterator[Self]:
        """Start `agent.sh` there. Leaving the block ends it, and returns when it is gone. Raises HostLost."""
        agent = cls(await transport.run(agent_script(token, pace)), transport.name, pace, say)
        try:
            await agent._begin()
            yield agent
        finally:
            await agent._end()

    async def ask(self, *words: str) -> bytes:
        """Send a request, and return what is replied. Raises Refused and HostLost."""
        answer: asyncio.Future[tuple[int, bytes]] = asyncio.get_running_loop().create_future()
        line = self._line(words)
        async with self._sending:
            self._check()
            self._waiting.append(answer)
            await self._send(line)
        code, content = await self._in_time(answer, f"did not answer `{words[0]}`", self._pace.patience)
        if code:
            raise RequestRefused(self.name, code, content.decode(errors="replace").strip())
        return content

    async def run(self, id_: str, seconds: float, script: str, *words: str) -> tuple[int, bytes]:
        """Run a script with these arguments: its exit code (124: its time was up), and what it printed.

        Everybody there can see script and arguments: nothing that is secret may be in them.
        """
        return await self._see_to_end(id_, seconds, "do", id_, f"{seconds:.3f}", script, *words)

    async def remove(self, id_: str, seconds: float, path: str) -> tuple[int, bytes]:
        """Remove a scratch directory that it made: as `run`, with what stands in its way."""
        return await self._see_to_end(id_, seconds, "remove", id_, f"{seconds:.3f}", path)

    async def _see_to_end(self, id_: str, seconds: float, *request: str) -> tuple[int, bytes]:
        self._scripts[id_] = done = asyncio.get_running_loop().create_future()
        try:
            await self.ask(*request)
            late = seconds + self._pace.patience
            code = await self._in_time(done, "did not end a script", late)
            return code, await self.ask("fetch", id_)
        except asyncio.CancelledError:
            self._later("kill", id_, "0")
            raise
        finally:
            del self._scripts[id_]

    async def start(self, id_: str, words: Sequence[str]) -> RemoteChild:
        """Start a program: `words` are those of `start` after the ID. Raises NotStarted and HostLost."""
        child = self._children[id_] = RemoteChild(self, id_)
        try:
            await self.ask("start", id_, *words)
            await self._in_time(child.begun, "did not say whether a program began", self._pace.patience)
        except asyncio.CancelledError:
            self._later("kill", id_, "0")
            raise
        except HostError:
            self._children.pop(id_, None)
            raise
        return child

    async def become(self, path: str) -> None:
        """Let the probe at `path` take the agent's place; nothing may run. Raises HostLost."""
        async with self._sending:
            self._check()
            self._greeting = asyncio.get_running_loop().create_future()
            await self._send(wire.encode_request(("become", path)))
            self.hello = await self._in_time(self._greeting, "did not become the probe", self._pace.hello)

    # The channel ----------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        for work in (self._hear_replies, self._hear_events, self._beat):
            self._tasks.append(asyncio.create_task(self._or_lose(work)))
        silence = "did not greet us: is there a POSIX shell, and does its start-up file keep quiet?"
        self.hello = await self._in_time(self._greeting, silence, self._pace.hello)

    async def _end(self) -> None:
        for task in self._tasks[2:]:
            task.cancel()
        with suppress(HostLost, TimeoutError):
            async with asyncio.timeout(self._pace.patience):
                await self._channel.end_input()
                await self._channel.wait()
        self._lose("the lease is closed")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._channel.close()

    async def _or_lose(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except (ValueError, asyncio.LimitOverrunError) as error:
            self._lose(f"said what no agent says: {error}")
        except (asyncio.IncompleteReadError, ConnectionError, OSError):
            self._lose("ended the connection")
        except HostLost as error:
            self._lose(error.message)

    async def _hear_replies(self) -> None:
        self._greet(await self._first_line())
        while True:
            line = await self._channel.stdout.readuntil(b"\n")
            if line.startswith(wire.GREETING) and not self._greeting.done():
                self._greet(wire.parse_hello(line))
                continue
            code, length = wire.parse_header(line)
            content = await self._channel.stdout.readexactly(length)
            if not self._waiting:
                raise wire.WireError("a reply to nothing")
            answer = self._waiting.popleft()
            if not answer.done():
                answer.set_result((code, content))

    def _greet(self, hello: wire.Hello) -> None:
        if not self._greeting.done():
            self._greeting.set_result(hello)

    async def _first_line(self) -> wire.Hello:
        """What a login shell says before the agent is for the log."""
        noise = 0
        while noise < _GREETING_NOISE:
            line = await self._channel.stdout.readuntil(b"\n")
            if line.startswith(wire.GREETING):
                return wire.parse_hello(line)
            noise += len(line)
            self._say(line.decode(errors="replace").rstrip())
        raise wire.WireError(f"{noise} bytes and no greeting")

    async def _hear_events(self) -> None:
        while line := await self._channel.stderr.readline():
            self._hear(wire.parse_event(line))
        raise ConnectionResetError

    def _hear(self, event: wire.Event) -> None:
        match event:
            case wire.Say(text):
                self._say(text)
            case wire.Done(id_, code):
                done = self._scripts.get(id_)
                if done and not done.done():
                    done.set_result(code)
            case _:
                child = self._children.get(event.id)
                if child:
                    child.hear(event)
                if isinstance(event, wire.Exited | wire.Failed):
                    self._children.pop(event.id, None)

    async def _beat(self) -> None:
        """Show that we live, and see that the other side does: a cut cable makes no sound."""
        while True:
            await asyncio.sleep(self._pace.beat)
            if self._sending.locked():
                continue
            async with self._sending:
                await self._send(wire.encode_request(("beat",)))
            await self.ask("clock")

    # Losing it ------------------------------------------------------------------------------------------

    async def _send(self, data: bytes) -> None:
        try:
            async with asyncio.timeout(self._pace.patience):
                await self._channel.send(data)
        except TimeoutError:
            raise self._lose(f"took nothing for {self._pace.patience:g} s") from None
        except HostLost as error:
            raise self._lose(error.message) from error

    async def _in_time(self, future: asyncio.Future[T], silence: str, seconds: float) -> T:
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            raise self._lose(f"{silence} within {seconds:g} s") from None

    def _line(self, words: Sequence[str]) -> bytes:
        try:
            return wire.encode_request(words)
        except ValueError as error:
            raise HostError(f"host {self.name}: {error}") from error

    def _check(self) -> None:
        if self.lost:
            raise HostLost(self.lost.message, hint=self.lost.hint)

    def _lose(self, why: str) -> HostLost:
        """Nobody is to wait any longer. The agent ends everything when its lease ends."""
        if self.lost is None:
            text = why if why.startswith("host ") else f"host {self.name} is lost: it {why}"
            self.lost = HostLost(text, hint="what ran there ends itself; is it up, and reachable from here?")
            self._channel.close()
        waiting: list[asyncio.Future[Any]] = [self._greeting, *self._waiting, *self._scripts.values()]
        for future in waiting:
            if not future.done():
                future.set_exception(self.lost)
                future.exception()  # nobody has to ask for it
        for child in self._children.values():
            child.fail(self.lost)
        return self.lost

    def _later(self, *words: str) -> None:
        """A request whose outcome nobody waits for any more."""

        async def send() -> None:
            with suppress(HostError):
                await self.ask(*words)

        self._tasks.append(asyncio.create_task(send()))


def agent_script(token: Token, pace: AgentTimeouts) -> str:
    """`agent.sh` with its parts and arguments, as the command of a channel."""
    names = ("gate.sh", "processes.sh", "scratch.sh", "agent.sh")
    gate, *parts = (Path(__file__).with_name(name).read_text("utf-8") for name in names)
    words = (str(token), f"{pace.beat:.3f}", f"{pace.patience:.3f}")
    return wire.build_script(words, "".join(parts), sy_gate=gate)
