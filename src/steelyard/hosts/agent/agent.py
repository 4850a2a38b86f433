"""The controller's side of an agent: requests, events, the beat, and the children that the agent started.

The lease is the channel. When it ends, or the agent sends what makes no sense, or does not answer in time,
everybody who waits gets HostLost, and the agent ends everything by itself.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from steelyard.errors import HostError, HostLost
from steelyard.hosts.agent import wire
from steelyard.hosts.agent.child import AgentChild
from steelyard.hosts.gate import read_gate_script
from steelyard.hosts.token import Token
from steelyard.hosts.transport import Channel, Transport

T = TypeVar("T")
Answer = asyncio.Future[bytes]

ENDED = "ended the connection"
_LOST = "its processes end by themselves; is it up, and reachable from here?"
_GREETING_NOISE = 65536  # bytes that a login shell may say before the agent does


class AgentTimeouts(NamedTuple):
    """How patient both sides are, in seconds; infinitely, where a channel ends by itself with either side.

    `beat_interval`: how often the controller shows that it lives. `silence_timeout`: for how long the agent,
    and the controller, bear that the other is silent. `hello_timeout`: for how long an agent may take to
    begin.
    """

    beat_interval: float = 4.0
    silence_timeout: float = 15.0
    hello_timeout: float = 30.0

    @classmethod
    def for_silence(cls, lost_after: float) -> Self:
        """Where the controller bears so many seconds of silence; an agent bears twice as many."""
        return cls(beat_interval=lost_after / 3, silence_timeout=lost_after * 2)


class RequestRefused(HostError):
    """The agent could not do what it was asked; `reason` is what it said."""

    def __init__(self, name: str, code: int, reason: str) -> None:
        self.code, self.reason = code, reason
        super().__init__(f"host {name}: {reason or f'refused with code {code}'}")


class Agent:
    """An agent, for as long as it is needed: `async with Agent(...)`, or `Agent.open(...)` on a far host.

    `say` takes what is for the log. `explain` makes the error that everybody gets who waits when the agent is
    lost, from words such as "ended the connection". `place` is how messages call its host; empty for ours.
    """

    def __init__(
        self,
        channel: Channel,
        name: str,
        pace: AgentTimeouts,
        say: Callable[[str], None],
        explain: Callable[[str], HostError] | None = None,
    ) -> None:
        self.name, self.hello = name, wire.Hello("", "", "")
        self.place = "" if explain else name
        self._channel, self._pace, self._say = channel, pace, say
        self._explain = explain or self._explain_loss
        self._waiting: deque[Answer] = deque()
        self._greeting: asyncio.Future[wire.Hello] = asyncio.get_running_loop().create_future()
        self._children: dict[str, AgentChild] = {}
        self._scripts: dict[str, asyncio.Future[int]] = {}
        self._sending = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self.lost: HostError | None = None

    @classmethod
    @asynccontextmanager
    async def open(
        cls, transport: Transport, token: Token, pace: AgentTimeouts, say: Callable[[str], None]
    ) -> AsyncIterator[Self]:
        """Start `agent.sh` there. Leaving the block ends it, and returns when it is gone. Raises HostLost."""
        async with cls(await transport.run(agent_script(token, pace)), transport.name, pace, say) as agent:
            yield agent

    async def __aenter__(self) -> Self:
        try:
            await self._begin()
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    async def ask(self, *words: str) -> bytes:
        """Send a request, and return what is replied. Raises RequestRefused and HostLost."""
        try:
            line = wire.encode_request(words)
        except ValueError as error:
            raise HostError(f"host {self.name}: {error}") from error
        answer = await self._request(line)
        return await self._wait_for(answer, f"did not answer `{words[0]}`", self._pace.silence_timeout)

    async def _request(self, line: bytes) -> Answer:
        answer: Answer = asyncio.get_running_loop().create_future()
        async with self._sending:
            self.check()
            self._waiting.append(answer)
            await self._send(line)
        return answer

    async def run(self, id_: str, seconds: float, script: str, *words: str) -> tuple[int, bytes]:
        """Run a script with these arguments: its exit code (124: its time was up), and what it printed.

        Everybody there can see script and arguments: nothing that is secret may be in them.
        """
        return await self._run_and_fetch(id_, seconds, "do", id_, f"{seconds:.3f}", script, *words)

    async def remove(self, id_: str, seconds: float, path: str) -> tuple[int, bytes]:
        """Remove a scratch directory that it made: as `run`, with what stands in its way."""
        return await self._run_and_fetch(id_, seconds, "remove", id_, f"{seconds:.3f}", path)

    async def _run_and_fetch(self, id_: str, seconds: float, *request: str) -> tuple[int, bytes]:
        self._scripts[id_] = done = asyncio.get_running_loop().create_future()
        try:
            await self.ask(*request)
            late = seconds + self._pace.silence_timeout
            code = await self._wait_for(done, "did not end a script", late)
            return code, await self.ask("fetch", id_)
        except asyncio.CancelledError:
            self._ask_in_background("kill", id_, "0")
            raise
        finally:
            del self._scripts[id_]

    async def start(
        self, id_: str, words: Sequence[str], values: Mapping[str, str] | None = None, least_peak: int = 0
    ) -> AgentChild:
        """Start a program: `words` are those of `start` after the ID, the rest is as for AgentChild.

        Raises StartError and HostLost.
        """
        child = AgentChild(self, id_, values, least_peak)
        line = self._encode_start(child, words)
        self._children[id_] = child
        try:
            answer = await self._request(line)
            answer.add_done_callback(child.note_answer)  # waiting for it, too, would cost a turn of the loop
            silence = "did not report whether a program started"
            await self._wait_for(child.begun, silence, self._pace.silence_timeout)
        except asyncio.CancelledError:
            self._ask_in_background("kill", id_, "0")
            raise
        except HostError:
            self._children.pop(id_, None)
            raise
        return child

    def _encode_start(self, child: AgentChild, words: Sequence[str]) -> bytes:
        try:
            return wire.encode_request(("start", child.name, *words))
        except ValueError as error:
            raise child.refuse(
                "program", "EILSEQ" if isinstance(error, UnicodeError) else "EINVAL"
            ) from error

    async def become(self, path: str) -> None:
        """Let the probe at `path` take the agent's place; nothing may run. Raises HostLost."""
        async with self._sending:
            self.check()
            self._greeting = asyncio.get_running_loop().create_future()
            await self._send(wire.encode_request(("become", path)))
            self.hello = await self._wait_for(
                self._greeting, "did not start the probe", self._pace.hello_timeout
            )

    @contextmanager
    def expect_loss(self, error: HostError) -> Iterator[None]:
        """The block takes the agent away: everybody gets this error then, unless the block fails."""
        before, self._explain = self._explain, lambda _: error
        try:
            yield
        except BaseException:
            self._explain = before
            raise

    # The channel ----------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        for work in (self._read_replies, self._read_events, self._send_heartbeats):
            self._tasks.append(asyncio.create_task(self._run_guarded(work)))
        self.hello = await self._wait_for(self._greeting, "sent no greeting", self._pace.hello_timeout)

    async def _end(self) -> None:
        for task in self._tasks[2:]:
            task.cancel()
        try:
            with suppress(HostLost, TimeoutError):
                async with _limit(self._pace.silence_timeout):
                    await self._channel.end_input()
                    await self._channel.wait()
        finally:
            self._mark_lost("the lease is closed")
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._channel.close()

    async def _run_guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except (ValueError, asyncio.LimitOverrunError) as error:
            self._mark_lost(f"sent an invalid message: {error}")
        except (asyncio.IncompleteReadError, ConnectionError, OSError):
            self._mark_lost(ENDED)
        except HostLost as error:
            self._mark_lost(error.message)

    async def _read_replies(self) -> None:
        self._set_greeting(await self._read_greeting())
        while True:
            line = await self._channel.stdout.readuntil(b"\n")
            if line.startswith(wire.GREETING) and not self._greeting.done():
                self._set_greeting(wire.parse_hello(line))
                continue
            code, length = wire.parse_header(line)
            content = await self._channel.stdout.readexactly(length)
            if not self._waiting:
                raise wire.WireError("a reply without a request")
            answer = self._waiting.popleft()
            if answer.done():
                continue
            if code:
                reason = content.decode(errors="replace").strip()
                answer.set_exception(RequestRefused(self.name, code, reason))
                answer.exception()  # nobody has to ask for it
            else:
                answer.set_result(content)

    def _set_greeting(self, hello: wire.Hello) -> None:
        if not self._greeting.done():
            self._greeting.set_result(hello)

    async def _read_greeting(self) -> wire.Hello:
        """What a login shell says before the agent is for the log."""
        noise = 0
        while noise < _GREETING_NOISE:
            line = await self._channel.stdout.readuntil(b"\n")
            if line.startswith(wire.GREETING):
                return wire.parse_hello(line)
            noise += len(line)
            self._say(line.decode(errors="replace").rstrip())
        raise wire.WireError(f"{noise} bytes and no greeting")

    async def _read_events(self) -> None:
        while line := await self._channel.stderr.readline():
            self._handle_event(wire.parse_event(line))
        raise ConnectionResetError

    def _handle_event(self, event: wire.Event) -> None:
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
                    child.handle_event(event)
                if isinstance(event, wire.Exited | wire.Failed):
                    self._children.pop(event.id, None)

    async def _send_heartbeats(self) -> None:
        """Show that we live, and see that the other side does: a cut cable makes no sound."""
        while True:
            await asyncio.sleep(self._pace.beat_interval)
            if self._sending.locked():
                continue
            async with self._sending:
                await self._send(wire.encode_request(("beat",)))
            await self.ask("clock")

    # Losing it ------------------------------------------------------------------------------------------

    async def _send(self, data: bytes) -> None:
        try:
            async with _limit(self._pace.silence_timeout):
                await self._channel.send(data)
        except TimeoutError:
            raise self._mark_lost(f"accepted no data for {self._pace.silence_timeout:g} s") from None
        except HostLost as error:
            raise self._mark_lost(error.message) from error

    async def _wait_for(self, future: asyncio.Future[T], silence: str, seconds: float) -> T:
        try:
            async with _limit(seconds):
                return await future
        except TimeoutError:
            raise self._mark_lost(f"{silence} within {seconds:g} s") from None

    def check(self) -> None:
        """Raise the error by which it is lost, where it is."""
        if self.lost:
            raise type(self.lost)(self.lost.message, hint=self.lost.hint)

    def _explain_loss(self, why: str) -> HostError:
        if why.startswith("host "):
            return HostLost(why, hint=_LOST)
        if not self.hello.kind:
            why = f"{why} (does it have a POSIX shell, and a silent shell start-up file?)"
        return HostLost(f"host {self.name} is lost: it {why}", hint=_LOST)

    def _mark_lost(self, why: str) -> HostError:
        return self.lose(self.lost or self._explain(why))

    def lose(self, error: HostError) -> HostError:
        """Nobody is to wait any longer; the first error stands. The agent ends all when its lease ends."""
        if self.lost is None:
            self.lost = error
            self._channel.close()
        waiting: list[asyncio.Future[Any]] = [self._greeting, *self._waiting, *self._scripts.values()]
        for future in waiting:
            if not future.done():
                future.set_exception(self.lost)
                future.exception()  # nobody has to ask for it
        for child in self._children.values():
            child.fail(self.lost)
        return self.lost

    def _ask_in_background(self, *words: str) -> None:
        """A request whose outcome nobody waits for any more."""

        async def send() -> None:
            with suppress(HostError):
                await self.ask(*words)

        self._tasks.append(asyncio.create_task(send()))


def _limit(seconds: float) -> asyncio.Timeout:
    """At most so many seconds; for an infinite time no timer is set."""
    return asyncio.timeout(None if seconds == math.inf else seconds)


def agent_script(token: Token, pace: AgentTimeouts) -> str:
    """`agent.sh` with its parts and arguments, as the command of a channel."""
    names = ("processes.sh", "scratch.sh", "agent.sh")
    parts = (Path(__file__).with_name(name).read_text("utf-8") for name in names)
    words = (str(token), f"{pace.beat_interval:.3f}", f"{pace.silence_timeout:.3f}")
    return wire.build_script(words, "".join(parts), sy_gate=read_gate_script())
