"""A far host: an agent there does everything, and needs no more than a POSIX shell to begin with."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, Self

from steelyard.errors import HostError, HostLost
from steelyard.hosts import copying, scripts
from steelyard.hosts.agent import wire
from steelyard.hosts.agent.agent import Agent, AgentTimeouts, RequestRefused
from steelyard.hosts.agent.child import StartError, name_values
from steelyard.hosts.agent.followed import FollowedProcess
from steelyard.hosts.agent.output import OutputFollower
from steelyard.hosts.agent.probe import find_probe
from steelyard.hosts.base import ClockOffset, Host, Process, Streams
from steelyard.hosts.clocks import FILES, Clocks
from steelyard.hosts.scratch_marker import ScratchMarker
from steelyard.hosts.token import Token
from steelyard.hosts.transport import Transport
from steelyard.model.command import Command

SCRIPT_WITHIN = 60.0
REMOVED_WITHIN = 600.0
_ROUNDS = 8  # of asking the time; the first are slower
_MOST_IN_WORD = 64 << 10  # bytes of standard input that travel as a word
_OTHER_SCRATCH = (
    "choose another directory with --scratch DIR, STEELYARD_SCRATCH, or the site's `scratch:`; if you trust "
    "everyone who may write there, list it in ~/.config/steelyard/trusted on that host"
)
_DF = re.compile(r"\s[0-9]+\s+[0-9]+\s+(-?[0-9]+)\s+[0-9]+%\s")


class ShellHost(Host):
    """A host behind a transport: `async with ShellHost.open(...)`, or `connect` and `leave` for many at once.

    `log` is a file for what the machinery there complains about. With `shares_files`, programs write straight
    to the paths of the controller. `scratch` is where its site wants test data to go. `mark` is what the
    directories of this session bear there.
    """

    def __init__(
        self,
        transport: Transport,
        token: Token,
        log: Path,
        *,
        shares_files: bool = False,
        pace: AgentTimeouts | None = None,
        scratch: PurePosixPath | None = None,
        facts: Mapping[str, Any] | None = None,
        mark: ScratchMarker | None = None,
    ) -> None:
        self.name, self.address, self.shares_files = transport.name, transport.address, shares_files
        self.cores, self.memory, self.machine, self.facts = 1, 0, "", dict(facts or {})
        self._transport, self._token, self._log, self._pace = transport, token, log, pace or AgentTimeouts()
        self.mark = mark or ScratchMarker.generate(token.run)
        self._base, self._desk = scratch, PurePosixPath("/")
        self._ids = (f"{self.name}:{number}" for number in itertools.count(1))
        self._agent_pid, self._agent_start = 0, 0
        self._former: set[tuple[str, str, str, str]] = set()  # machine, and agents that lost us there
        self._agent: Agent | None = None
        self._given_up: HostLost | None = None
        self._lease, self._reaching = AsyncExitStack(), asyncio.Lock()
        self._scratch: set[PurePosixPath] = set()

    @classmethod
    @asynccontextmanager
    async def open(cls, transport: Transport, token: Token, log: Path, **options: Any) -> AsyncIterator[Self]:
        """A host for as long as the block lasts; options as for the class. Raises HostError."""
        host = cls(transport, token, log, **options)
        try:
            await host.connect()
            yield host
        finally:
            await host.leave()

    async def connect(self) -> None:
        """Reach it and start an agent there. Raises HostError; then, too, `leave` is to be called."""
        await self._transport.open()
        self.address = self._transport.address
        opening = Agent.open(self._transport, self._token, self._pace, self._write_log)
        agent = await self._lease.enter_async_context(opening)
        await self._read_facts(agent)
        self._desk = PurePosixPath(os.fsdecode(await agent.ask("desk", str(self.mark))))
        await self._switch_to_probe(agent)
        self._agent, self._given_up = agent, None

    def give_up(self, error: HostLost) -> None:
        """Know that it is lost: whoever waits for it gets this error, until it is reached again."""
        self._given_up = error
        if self._agent:
            self._agent.lose(error)

    async def leave(self) -> None:
        """End everything there, and the connection. Raises nothing: a lost host ends everything by itself."""
        try:
            await self._lease.aclose()
        finally:
            self._agent = None
            await self._transport.close()

    def scratch_base(self) -> PurePosixPath | None:
        """Where its site wants test data to go."""
        return self._base

    def own_processes(self) -> frozenset[int]:
        """The agent."""
        return frozenset({self._agent_pid})

    def agent(self) -> int | None:
        """The probe; the work of a shell is done by programs, of which nobody counts the time."""
        is_probe = self._agent is not None and self._agent.hello.kind == "probe"
        return self._agent_pid if is_probe else None

    # Programs -------------------------------------------------------------------------------------------

    async def start(
        self, command: Command, streams: Streams, *, cwd: PurePosixPath, at: int | None = None
    ) -> Process:
        """Start a program; see `Host`."""
        id_ = next(self._ids)
        self._check_names(command)
        remote_paths, output = self._open_output(id_, streams)
        stdin = await self._feed(streams.stdin, self._desk / f"{id_}.in")
        place = command.cwd or cwd
        words = wire.start_words(at, place, (stdin, *remote_paths), command.variables, command.argv)
        values = name_values(command.argv, place, streams.stdin, streams.stdout, streams.stderr)
        try:
            child = await self._require_agent().start(id_, words, values)
        except StartError as error:
            raise error.as_failure() from error
        return child if output is None else FollowedProcess(child, output)

    def _check_names(self, command: Command) -> None:
        """The agent can hide the value of a variable only where a shell can set it. Raises HostError."""
        for name in command.secrets:
            if not wire.NAME.fullmatch(name):
                hint = "use only letters, digits and _, or pass it as `env` if it is not secret"
                message = f"host {self.name}: the secret {name!r} cannot be passed on without being visible"
                raise HostError(message, hint=hint)

    def _open_output(self, id_: str, streams: Streams) -> tuple[list[PurePosixPath], OutputFollower | None]:
        """Where a program there prints to, and how that comes here. Equal paths share one file."""
        local_paths = [Path(os.path.abspath(path)) for path in (streams.stdout, streams.stderr)]  # noqa: PTH100
        if self.shares_files:
            return [PurePosixPath(path) for path in local_paths], None
        names = ("out", "out" if local_paths[0] == local_paths[1] else "err")
        remote_paths = [self._desk / f"{id_}.{name}" for name in names]
        output = OutputFollower(
            self.name, self._run_script, list(dict(zip(remote_paths, local_paths, strict=True)).items())
        )
        output.begin()
        return remote_paths, output

    async def _feed(self, source: Path | None, target: PurePosixPath) -> str:
        """Where a program there finds its standard input."""
        if source is None:
            return "-"
        if self.shares_files:
            return os.path.abspath(source)  # noqa: PTH100
        content = await asyncio.to_thread(source.read_bytes)
        if len(content) > _MOST_IN_WORD or b"\0" in content:
            await copying.put(self._transport, source, target)
        else:
            await self._ask("write", str(target), os.fsdecode(content))
        return str(target)

    async def capture(self, argv: tuple[str, ...], *, seconds: float = 10.0) -> str | None:
        """What a small program prints, its complaints too; see `Host`."""
        code, said = await self._require_agent().run(next(self._ids), seconds, scripts.CAPTURE, *argv)
        return said.decode(errors="replace") if code == 0 else None

    async def which(self, program: str) -> str | None:
        """Where a program lies on the PATH of the agent."""
        code, said = await self._run(scripts.WHICH, program)
        return os.fsdecode(said) if code == 0 and said else None

    # Time -----------------------------------------------------------------------------------------------

    async def read_clock_offset(self) -> ClockOffset:
        """How its wall clock stands to ours: the best of several round trips.

        Its reading belongs to some moment between question and answer; the shortest round trip leaves the
        least doubt (Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989).
        """
        return min(
            [await self._measure_clock_offset() for _ in range(_ROUNDS)], key=lambda clock: clock.uncertainty
        )

    async def _measure_clock_offset(self) -> ClockOffset:
        asked = time.time_ns()
        there = await self._read_wall_clock()
        heard = time.time_ns()
        return ClockOffset(
            (there - (asked + heard) / 2) / 1e9, (heard - asked) / 2e9 + _clock_uncertainty(there)
        )

    async def _read_wall_clock(self) -> int:
        answer = await self._ask("clock")
        if not re.fullmatch(rb"[0-9]{1,19}", answer):
            raise HostError(f"host {self.name}: {answer[:40]!r} is not a time")
        return int(answer)

    async def read_clocks(self) -> Clocks | None:
        """Its wall clock, asked before and after the files that tell of the others; see `Host`."""
        earliest, files, latest = (
            await self._read_wall_clock(),
            await self.read(FILES),
            await self._read_wall_clock(),
        )
        return Clocks.from_files(files, earliest / 1e9, latest / 1e9 + _clock_uncertainty(latest))

    # Files ----------------------------------------------------------------------------------------------

    async def read(self, patterns: Iterable[str]) -> dict[str, str]:
        """The content of files; see `Host`."""
        asked = tuple(patterns)
        said = await self._ask("read", *asked) if asked else b""
        try:
            return {path: content.decode(errors="replace") for path, content in wire.parse_frames(said)}
        except wire.WireError as error:
            raise HostError(f"host {self.name}: its files could not be read: {error}") from error

    async def put(self, source: Path, target: PurePosixPath) -> None:
        """Copy a file or a folder there."""
        self._require_agent()
        await copying.put(self._transport, source, target)

    async def get(self, source: PurePosixPath, target: Path) -> None:
        """Copy a file or a folder from there."""
        self._require_agent()
        await copying.get(self._transport, source, target)

    async def make_scratch(self, path: PurePosixPath) -> None:
        """Make a marked directory that the agent removes should we die; see `Host`."""
        try:
            await self._ask("scratch", str(path), str(self.mark))
        except RequestRefused as error:
            message = f"host {self.name}: cannot create the scratch directory {path}: {error.reason}"
            raise HostError(message, hint=_OTHER_SCRATCH) from error
        self._scratch.add(path)

    async def remove_scratch(self, path: PurePosixPath) -> None:
        """Remove it, its marker last, and the parents that were made for it, unless others use them."""
        answer = await self._require_agent().remove(next(self._ids), REMOVED_WITHIN, str(path))
        self._check_result(f"remove the scratch directory {path}", *answer)
        self._scratch.discard(path)

    async def make_directory(self, path: PurePosixPath) -> None:
        """Make a directory inside the scratch."""
        await self._run_checked(f"create the directory {path}", scripts.MAKE_DIRECTORY, str(path))

    async def remove_directory(self, path: PurePosixPath) -> None:
        """Remove a directory with everything in it."""
        await self._run_checked(f"remove {path}", scripts.REMOVE_DIRECTORY, str(path))

    async def read_free_space(self, path: PurePosixPath) -> int:
        """Bytes free for us under a directory; those of the nearest parent that exists."""
        said = await self._run_checked(f"determine the free space of {path}", scripts.FREE_SPACE, str(path))
        match = _DF.search(said.partition("\n")[2])
        if not match:
            raise HostError(f"host {self.name}: df(1) reports nothing for {path}: {said[:200]!r}")
        return max(int(match[1]), 0) * 1024

    async def sync(self) -> None:
        """Write what is dirty to disk."""
        await self._run_checked("write everything to disk", "exec 2>&1; sync")

    async def restore_at_end(self, path: str, value: str) -> None:
        """By the agent, which ends when it hears nothing more of us."""
        await self._ask("restore", path, value)

    async def drop_caches(self) -> bool:
        """Empty page cache, dentries and inodes through /proc/sys/vm/drop_caches (root only)."""
        code, _ = await self._run(scripts.DROP_CACHES)
        return code == 0

    # Reaching it ----------------------------------------------------------------------------------------

    async def check(self) -> None:
        """Make sure that it answers, and reach for it once more where it was lost. Raises HostLost."""
        async with self._reaching:
            with suppress(HostLost):
                await self._ask("clock")
                return
            await self._reconnect()

    async def _reconnect(self) -> None:
        # The probe's directory may outlive it, where it was killed: nobody else is there to remove it.
        shell = self._agent is not None and self._agent.hello.kind == "sh"
        agent = (str(self._agent_pid), str(self._agent_start), str(self._desk) if shell else "")
        self._former.add((self.machine, *agent))
        await self.leave()
        await self.connect()
        try:
            await self._resume_scratch()
        except HostLost as error:
            self.give_up(error)  # or the next `check` would find all well, without marked directories
            raise
        except HostError as error:
            lost = HostLost(error.message, hint=error.hint)
            self.give_up(lost)
            raise lost from error

    async def _resume_scratch(self) -> None:
        """Mark its directories again, once nobody is there who would remove them."""
        for machine, *former in sorted(self._former):
            if self.machine == machine:  # one that has booted meanwhile ended everything
                await self._await_former_agent(*former)
        for path in self._scratch:
            await self._ask("scratch", str(path), str(self.mark))
        self._former.clear()

    async def _await_former_agent(self, pid: str, start: str, desk: str) -> None:
        """Wait for the end of an agent that lost us: it ends what we began, and removes our directories."""
        seconds = round(self._pace.silence_timeout * 2) + 10
        words = (pid, start, str(seconds), desk)
        code, _ = await self._run(scripts.FORMER_AGENT, *words, seconds=seconds * 3)
        if code:
            raise HostLost(
                f"host {self.name}: processes from before it was lost are still running (agent {pid})"
            )

    async def _read_facts(self, agent: Agent) -> None:
        """Learn what kind of host it is."""
        _, printed = await agent.run(next(self._ids), SCRIPT_WITHIN, scripts.FACTS)
        said = printed.decode(errors="replace").split("\n")
        if len(said) < 7 or not all(word.isdecimal() for word in (*said[:2], *said[3:6])):
            raise HostError(f"host {self.name}: is it Linux with /proc? It reported {said[:6]}")
        self.cores, self.memory, self.machine = int(said[0]), int(said[1]) * 1024, said[2]
        self._agent_pid, self._agent_start = int(said[4]), int(said[5])

    async def _switch_to_probe(self, agent: Agent) -> None:
        """Let the probe take the agent's place, where there is one and it runs there."""
        path = find_probe(agent.hello.system, agent.hello.machine)
        if path is None:
            return
        there = PurePosixPath(path)
        if not self.shares_files:
            there = self._desk / "steelyard-probe"
            await copying.put(self._transport, path, there)
        code, said = await agent.run(next(self._ids), SCRIPT_WITHIN, scripts.MAY_RUN, str(there))
        if code:
            reason = said.decode(errors="replace").strip()
            self._write_log(f"using sh, because the probe does not run there: {reason}")
            return
        await agent.become(str(there))
        await agent.ask("scratch", str(self._desk), str(self.mark))

    def _require_agent(self) -> Agent:
        if self._agent is None and self._given_up:
            raise type(self._given_up)(self._given_up.message, hint=self._given_up.hint)
        if self._agent is None:
            raise HostLost(f"host {self.name} was already released, or never reached")
        self._agent.check()
        return self._agent

    async def _ask(self, *words: str) -> bytes:
        return await self._require_agent().ask(*words)

    async def _run(self, script: str, *words: str, seconds: float = SCRIPT_WITHIN) -> tuple[int, bytes]:
        return await self._require_agent().run(next(self._ids), seconds, script, *words)

    async def _run_script(self, script: str, *words: str) -> bytes:
        code, said = await self._run(script, *words)
        if code:
            reason = said.decode(errors="replace").strip()[:500] or f"code {code}"
            raise HostError(f"host {self.name}: a script failed: {reason}")
        return said

    async def _run_checked(self, what: str, script: str, *words: str) -> str:
        return self._check_result(what, *await self._run(script, *words, seconds=REMOVED_WITHIN))

    def _check_result(self, what: str, code: int, said: bytes) -> str:
        """What was printed by something that ended so. Raises HostError where it failed."""
        text = said.decode(errors="replace")
        if code:
            raise HostError(f"host {self.name}: cannot {what}: {text.strip()[:500] or f'code {code}'}")
        return text

    def _write_log(self, text: str) -> None:
        with suppress(OSError), self._log.open("a") as log:
            log.write(f"{self.name}: {text[:500]}\n")


def _clock_uncertainty(wall: int) -> float:
    """Seconds of doubt of a date(1) that knows whole seconds only."""
    return 1.0 if wall % 10**9 == 0 else 0.0
