"""Stand-ins for tests: a site and host that start nothing; a workload and a service that only sleep."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from pydantic import Field

from steelyard.errors import TrialFailure
from steelyard.hosts.base import Host, Process, Streams
from steelyard.hosts.scratch_marker import ScratchMarker
from steelyard.hosts.token import Token
from steelyard.model.command import Command, Endpoint, Exit, Output, Place
from steelyard.model.metric import Metric, Reading
from steelyard.services.base import Service, ServiceOptions
from steelyard.services.kit.access import Listener
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.server import Server
from steelyard.sites.base import Site, SiteOptions
from steelyard.workloads.base import Workload, WorkloadOptions


@dataclass(frozen=True, slots=True)
class Said:
    """What a fake program does: its output, its exit, how long it claims to take (seconds; nobody waits)."""

    stdout: str = ""
    stderr: str = ""
    code: int | None = 0
    signal: int | None = None
    wall: float = 0.0
    user: float = 0.0
    peak_memory: int = 0
    files: Mapping[str, str] = field(default_factory=dict)


Behaviour = Callable[[Command], Said]


class FakeProcess:
    """A program that has ended before it began."""

    pid = 0

    def __init__(self, said: Said, at: int | None = None) -> None:
        self._said, self._at = said, at

    async def wait(self) -> Exit:
        """At once; one that was to begin at an instant says that it did."""
        said, at = self._said, None if self._at is None else self._at / 1e9
        started = time.time() if at is None else at
        ended = Exit(said.code, said.signal, said.wall, said.user, 0.0, said.peak_memory, started)
        return replace(ended, released=at)

    async def kill(self, grace: float = 2.0) -> None:
        """Nothing to end."""


class FakeHost(Host):
    """A host on which commands do what `behave` says. `files` is what can be read there.

    Directories are real, because workloads and the run put files into them. `started` lists all commands.
    """

    def __init__(
        self,
        behave: Behaviour,
        files: Mapping[str, str] | None = None,
        *,
        name: str = "fake",
        machine: str = "fake",
    ) -> None:
        self.name, self.cores, self.memory = name, 4, 8 * 2**30
        self.address, self.machine, self.shares_files, self.facts = "127.0.0.1", machine, True, {}
        self.mark = ScratchMarker.generate(name)
        self.behave, self.files = behave, dict(files or {})
        self.started: list[Command] = []

    async def start(
        self, command: Command, streams: Streams, *, cwd: PurePosixPath, at: int | None = None
    ) -> Process:
        """Ask `behave`, and write what it says where the program would have."""
        self.started.append(command)
        try:
            said = self.behave(command)
        except FileNotFoundError as error:
            raise TrialFailure("tool-missing", f"{command.argv[0]} is not on the fake host") from error
        streams.stdout.write_text(said.stdout)
        streams.stderr.write_text(said.stderr)
        for file, content in said.files.items():
            (streams.stdout.parent / "raw" / file).write_text(content)
        return FakeProcess(said, at)

    async def read(self, patterns: Iterable[str]) -> dict[str, str]:
        """What of `files` is asked for by its exact name."""
        return {path: self.files[path] for path in patterns if path in self.files}

    async def capture(self, argv: tuple[str, ...], *, seconds: float = 10.0) -> str | None:
        """Nothing."""
        return None

    async def which(self, program: str) -> str | None:
        """Everything is there."""
        return f"/usr/bin/{program}"

    async def put(self, source: Path, target: PurePosixPath) -> None:
        """Copied for real."""
        _copy(source, Path(target))

    async def get(self, source: PurePosixPath, target: Path) -> None:
        """Copied for real."""
        _copy(Path(source), target)

    async def make_scratch(self, path: PurePosixPath) -> None:
        """A real directory."""
        Path(path).mkdir(parents=True)

    async def remove_scratch(self, path: PurePosixPath) -> None:
        """Removed for real."""
        await self.remove_directory(path)

    async def restore_at_end(self, path: str, value: str) -> None:
        """Nothing was set."""

    async def make_directory(self, path: PurePosixPath) -> None:
        """A real directory."""
        Path(path).mkdir(exist_ok=True)

    async def remove_directory(self, path: PurePosixPath) -> None:
        """Removed for real."""
        shutil.rmtree(path, ignore_errors=True)

    async def read_free_space(self, path: PurePosixPath) -> int:
        """Plenty."""
        return 2**40

    async def sync(self) -> None:
        """Nothing to write."""

    async def drop_caches(self) -> bool:
        """Allowed, and without effect."""
        return True


class FakeSite(Site[SiteOptions]):
    """A site with fake hosts, which can be looked at afterwards as `hosts`; `host` is the first."""

    def __init__(self, behave: Behaviour, files: Mapping[str, str] | None = None, *, hosts: int = 1) -> None:
        super().__init__(SiteOptions())
        names = ["fake"] if hosts == 1 else [f"fake-{n}" for n in range(hosts)]
        self.hosts = [FakeHost(behave, files, name=name) for name in names]

    @property
    def host(self) -> FakeHost:
        """The only host, or the first."""
        return self.hosts[0]

    def size(self) -> int:
        """As many as were made."""
        return len(self.hosts)

    def lease(
        self, token: Token, log: Path, hosts: int | None
    ) -> AbstractAsyncContextManager[tuple[Host, ...]]:
        """The fake hosts."""
        return self._lease(hosts)

    @asynccontextmanager
    async def _lease(self, hosts: int | None) -> AsyncIterator[tuple[Host, ...]]:
        yield tuple(self.hosts[:hosts])


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, target)


class SleepOptions(WorkloadOptions):
    """How long."""

    seconds: float = Field(0.01, ge=0, le=60, description="How long it sleeps, in seconds")


class SleepWorkload(Workload[SleepOptions]):
    """Sleeps, and measures how long that took: the smallest workload, for tests of everything around it."""

    Options = SleepOptions
    examples = ({"seconds": 0.01},)

    def metrics(self) -> tuple[Metric, ...]:
        """One time."""
        return (Metric("slept", "s", "none", "elapsed time of the sleep", over_copies="max"),)

    def command(self, place: Place) -> Command:
        """sleep(1)."""
        return Command(("sleep", f"{self.options.seconds:g}"))

    def parse(self, phase: str, output: Output) -> Reading:
        """The kernel's account of it."""
        return Reading({"slept": output.exit.wall})

    def seconds(self) -> float:
        """As asked."""
        return self.options.seconds


class NullService(Disturbable, Service[ServiceOptions]):
    """Nothing, on each host: a process that sleeps and is ready at once. What is left is Steelyard's part.

    It is no plug-in by itself; name it in the entry points of a package, in the group `steelyard.services`:
    `null = "steelyard.testing:NullService"`.
    """

    access = (Listener("nothing", authentication="more than anybody has"),)
    examples = ({},)

    async def start(self) -> None:
        """One process on each host, at once."""
        await asyncio.gather(
            *(
                self.launch(host, "null", Command(("sleep", "infinity")), address=host.address, port=0)
                for host in self.context.hosts
            )
        )

    async def is_answering(self, server: Server) -> bool:
        """As long as its process lives."""
        return server.exit is None

    def endpoint(self) -> Endpoint:
        """An address at which nobody listens."""
        facts = {"protocol": "null", "servers": self.list_servers()}
        return Endpoint(self.context.hosts[0].address, 0, facts)
