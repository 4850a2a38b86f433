"""The kind `service`: what is deployed on hosts before a workload talks to it.

A service is `configure`, `start`, `ready`, `stop` and `endpoint`; `deployed` runs them in order and tears
down whatever happens. It acts only through the hosts and the context that it is handed. What not every
service can do is a capability (`kit/capabilities.py`): a small protocol, asked for with `isinstance`.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from steelyard.errors import HostDown, HostError
from steelyard.hosts.base import Host
from steelyard.hosts.capturing import fetch_segments
from steelyard.hosts.short_programs import make_runner
from steelyard.hosts.tasks import run_tasks, wait_first
from steelyard.hosts.wrapping import read_kernel, wrap_command
from steelyard.model.command import Command, Endpoint
from steelyard.model.condition_check import ConditionCheck
from steelyard.model.keys.reference import FOLDER
from steelyard.model.metric import Mark
from steelyard.model.protocol import WireProtocol
from steelyard.model.tool import Tool
from steelyard.services.kit.access import Listener
from steelyard.services.kit.address import is_loopback
from steelyard.services.kit.context import HostShare, ServiceContext
from steelyard.services.kit.server import Server
from steelyard.snapshots.store import Runner


class ServiceOptions(BaseModel):
    """Typed options of a service. Unknown keys are errors. Every field has a description with its unit."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


OptionsT = TypeVar("OptionsT", bound=ServiceOptions)


class Service(ABC, Generic[OptionsT]):
    """Base of all services. The subclass's docstring says what it deploys, who may talk to it, its source.

    It sets `Options`, its `ServiceOptions` class; `needs`, the tools that its hosts must have;
    `default_ready_timeout`, the seconds that it may take until it is ready; `is_external` when it runs
    nothing on its hosts, and so takes no part of them; `speaks`, the protocol that is its endpoint's fact
    `protocol`, where benchmarks have a client for it; `access`, all that it listens on and what that asks
    for; `covers`, ids of published requirements (`C4S.1`); `examples`, option mappings for the catalogue and
    the contract tests; `verbatim` and `words` as of a workload; `open_hint`, what else to do where it is
    refused for being open; `needs_network` when its servers refuse loopback addresses. It starts servers with
    `launch` and says in `is_answering` whether one does its work. Methods raise HostError that names service
    and host.
    """

    Options: ClassVar[type[ServiceOptions]] = ServiceOptions
    needs: ClassVar[tuple[Tool, ...]] = ()
    default_ready_timeout: ClassVar[float] = 30.0
    is_external: ClassVar[bool] = False
    speaks: ClassVar[WireProtocol | None] = None
    access: ClassVar[tuple[Listener, ...]] = ()
    open_hint: ClassVar[str] = ""
    needs_network: ClassVar[bool] = False
    covers: ClassVar[tuple[str, ...]] = ()
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    verbatim: ClassVar[frozenset[str]] = frozenset()
    words: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, options: OptionsT, context: ServiceContext) -> None:
        self.options, self.context = options, context
        self.servers: list[Server] = []
        self.marks: list[Mark] = []  # of each trial that it serves
        self.complaints: list[str] = []  # of how it ended, for the record
        self.durations: dict[
            str, float
        ] = {}  # seconds: `configure` before anything ran, `launch` until ready
        self._changed = asyncio.Event()

    @classmethod
    def min_hosts(cls, options: OptionsT) -> int:  # noqa: ARG003 - most do with one
        """How many hosts it needs at least, with these options."""
        return 1

    @classmethod
    def self_names(cls, options: Mapping[str, Any]) -> tuple[str, ...]:  # noqa: ARG003 - most have none
        """What `${self.…}` may name in these options, as they stand in the file."""
        return ()

    async def configure(self) -> None:
        """Choose ports, make directories, write configuration. Nothing runs yet."""

    @abstractmethod
    async def start(self) -> None:
        """Start all servers, on all hosts at once where they do not depend on each other."""

    @abstractmethod
    async def is_answering(self, server: Server) -> bool:
        """Whether a server does its work now, by its own word; asked again and again until it is."""

    def describe_wait(self, server: Server) -> str:
        """What `is_answering` waits for, in words, where that is not plain."""
        return ""

    @property
    def ready_timeout(self) -> float:
        """Seconds until it must be ready."""
        return self.context.ready_timeout

    @abstractmethod
    def endpoint(self) -> Endpoint:
        """Where a client finds it. The fact `servers` lists all of its servers."""

    def listeners(self) -> tuple[Listener, ...]:
        """Those of `access` that it has with its options."""
        return self.access

    def is_open(self) -> bool:
        """Whether it has a port that asks for nothing, or does not say."""
        listeners = self.listeners()
        return not listeners or any(listener.is_open for listener in listeners)

    async def ready(self) -> None:
        """Wait until every server answers. Raises HostError with the last lines of its log."""
        await asyncio.gather(*map(self._wait_until_answering, self.servers))

    async def check_conditions(self) -> list[ConditionCheck]:
        """What its servers were put under on each host, by the kernel's word; of several, of the last."""
        if not self.context.wrap.any:
            return []
        hosts = {server.host.name: server.host for server in self.servers}
        observations = await asyncio.gather(
            *(read_kernel(host, self.scratch(host)) for host in hosts.values())
        )
        return [
            ConditionCheck(f"service {self.context.name} on {name}", self.context.wrap, got)
            for name, got in zip(hosts, observations, strict=True)
        ]

    def processes(self) -> Sequence[Server]:
        """All that it keeps running on hosts."""
        return self.servers

    async def is_settled(self) -> bool:
        """Whether all servers that should live do their work, and nothing moves between them."""
        if any(server.exit is not None or server.frozen for server in self.servers):
            return False
        return all(await asyncio.gather(*map(self.is_answering, self.servers)))

    async def stop(self) -> None:
        """End all servers and wait until they are gone."""
        stops = (server.stop() for server in self.servers)
        failures = [error for error in await asyncio.gather(*stops, return_exceptions=True) if error]
        if failures:
            raise failures[0]
        await self._fetch_segments()

    async def _fetch_segments(self) -> None:
        """What was recorded of its servers' storage calls, to the record, beside their logs."""
        if not self.context.wrap.capture:
            return
        for host, label in {(server.host, server.label): None for server in self.servers}:
            target = self.context.logs / f"{host.name}-{label}.trace" / "segments"
            try:
                await fetch_segments(host, self._trace_place(host, label), target)
            except HostDown as down:  # as the experiment asked for
                lost = f"service {self.context.name}: what was recorded of {label} is lost"
                self.complaints.append(f"{lost}: {down.message}")

    def _trace_place(self, host: Host, label: str) -> PurePosixPath:
        return self.scratch(host) / f"trace-{label}"

    async def wait_for_death(self) -> str:
        """Wait until a server ends that nobody asked to, and say which and how: a watch beside the workload.

        Servers that come while it waits are watched from then on.
        """
        while True:
            self._changed.clear()
            ends = (server.wait_for_unexpected_exit() for server in self.processes())
            async with run_tasks(*ends, self._wait_for_change()) as watches:
                if said := (await wait_first(watches)).result():
                    return f"service {self.context.name}: {said}"

    async def _wait_for_change(self) -> None:
        """Wait until there are other servers."""
        await self._changed.wait()

    def servers_on(self, host: str) -> list[Server]:
        """Its servers on the host of this name. Raises HostError when there are none."""
        there = [server for server in self.servers if server.host.name == host]
        if not there:
            raise HostError(f"service {self.context.name} has no server on {host}")
        return there

    @asynccontextmanager
    async def deploy(self) -> AsyncIterator[Endpoint]:
        """The service, ready, for as long as the block lasts; its servers are gone after it."""
        began = time.monotonic()
        self._check_addresses()
        with self.context.claims:
            await self.configure()
            self.durations["configure"] = time.monotonic() - began
            try:
                await self.start()
                await self.ready()
                self.durations["launch"] = time.monotonic() - began
                yield self.endpoint()
            finally:
                await asyncio.shield(self.stop())

    def _check_addresses(self) -> None:
        hosts = (*self.context.hosts, *self.context.spare) if self.needs_network else ()
        for host in hosts:
            if is_loopback(host.address):
                message = f"service {self.context.name} cannot run on {host.name}: its servers refuse"
                hint = "use hosts with addresses of their own, such as those of `--site netns:4`"
                raise HostError(f"{message} loopback addresses such as {host.address}", hint=hint)

    async def launch(self, host: Host, label: str, command: Command, *, address: str, port: int) -> Server:
        """Start one server on a host. Its output goes to the record as `<host>-<label>.log` and `.err`."""
        scratch, folder = self.scratch(host), self.context.known.get(FOLDER)
        trace = self._trace_place(host, label)
        command = await wrap_command(host, command, self.context.wrap, scratch, folder, trace=trace)
        server = await Server.start(
            host, label, command, cwd=scratch, logs=self.context.logs, address=address, port=port
        )
        self.servers.append(server)
        self._changed.set()
        return server

    async def restart_server(self, old: Server, command: Command | None = None) -> None:
        """Have a server that ended begin once more, or go on by another command; wait until it answers."""
        if command:
            scratch, folder = self.scratch(old.host), self.context.known.get(FOLDER)
            trace = self._trace_place(old.host, old.label)
            command = await wrap_command(old.host, command, self.context.wrap, scratch, folder, trace=trace)
        new = await old.restart(command)
        self.servers[self.servers.index(old)] = new
        self._changed.set()
        await self._wait_until_answering(new)

    async def run_script(self, host: Host, label: str, script: str, **env: str) -> str:
        """What a short shell script prints, run in the scratch on a host. Raises HostError when it fails."""
        return await self.make_runner(host, label)(Command(("sh", "-eu", "-c", script), env))

    def make_runner(self, host: Host, label: str, seconds: float = 60.0) -> Runner:
        """Runs commands in the scratch on a host. Raises HostError when one fails or takes so long."""

        plain = make_runner(host, self.scratch(host), self.context.logs, label, seconds)

        async def run(command: Command) -> str:
            try:
                return await plain(command)
            except HostError as error:
                raise HostError(f"service {self.context.name}: {error.message}", hint=error.hint) from error

        return run

    def scratch(self, host: Host) -> PurePosixPath:
        """Its directory on a host."""
        return self.context.scratch[host.name]

    def share(self, host: Host) -> HostShare:
        """What it may use of a host."""
        return self.context.shares.get(host.name) or HostShare(host.cores, host.memory)

    def list_servers(self) -> str:
        """The fact `servers` of an endpoint: every host once before any comes again."""
        by_host = [
            sorted((server.port, server.address) for server in self.servers if server.host is host)
            for host in self.context.hosts
        ]
        turns = zip_longest(*by_host)
        return ",".join(f"{one[1]}:{one[0]}" for turn in turns for one in turn if one is not None)

    async def _wait_until_answering(self, server: Server) -> None:
        await self.wait_for_server(server, self.is_answering)

    async def wait_for_server(self, server: Server, is_ready: Callable[[Server], Awaitable[bool]]) -> None:
        """Ask again and again until it is ready. Raises HostError when it ends before, or takes too long."""
        what = f"service {self.context.name}: {server.label} on {server.host.name} ({server.address})"
        try:
            async with asyncio.timeout(self.ready_timeout):
                while not await is_ready(server):
                    if server.exit is not None:
                        raise HostError(
                            f"{what} ended {server.exit.way} before it was ready; {server.describe_log()}"
                        )
                    await asyncio.sleep(0.05)
        except TimeoutError:
            waiting = f", waiting for {text}" if (text := self.describe_wait(server)) else ""
            message = (
                f"{what} was not ready within {self.ready_timeout:g} s{waiting}; {server.describe_log()}"
            )
            raise HostError(message) from None
