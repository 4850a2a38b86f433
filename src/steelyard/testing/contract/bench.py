"""Hosts of this machine, and what a service is given on them.

They have loopback addresses; for a service that refuses these, they are network namespaces.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.hosts.base import Host
from steelyard.hosts.lease import Lease
from steelyard.hosts.sweep import find_bearers
from steelyard.hosts.token import Token
from steelyard.model.command import Endpoint
from steelyard.plugins import find
from steelyard.services.base import Service
from steelyard.services.kit.context import ServiceContext
from steelyard.sites.local import Local, LocalOptions
from steelyard.spec.bind import make_service
from steelyard.testing.patience import PATIENCE, comes
from steelyard.transports.namespaces.hosts import NsenterNode
from steelyard.transports.namespaces.network import Namespaces


class Bench:
    """Hosts of this machine, and what a service is given on them."""

    def __init__(self, hosts: tuple[Host, ...], place: Path, run: str) -> None:
        self.hosts, self.place, self.run = hosts, place, run

    def service(self, name: str, options: Mapping[str, Any], **changes: Any) -> Service[Any]:
        """A service with these options, and `changes` of its context. It is not deployed yet."""
        kind = find("services", name, Service)  # type: ignore[type-abstract]
        return make_service(kind, options, replace(self.context(), **changes), {})

    def context(self) -> ServiceContext:
        """What a service called `store` is given on these hosts."""
        scratch = {host.name: PurePosixPath(self.place / host.name) for host in self.hosts}
        addresses = tuple(host.address for host in self.hosts)
        password = secrets.token_hex(16)
        return ServiceContext(
            "store", self.hosts, scratch, self.place / "logs", addresses, password, ready_timeout=PATIENCE
        )

    def running(self) -> list[int]:
        """The processes that were started here."""
        return [bearer.pid for bearer in find_bearers(lambda token: token.run == self.run)]

    async def is_empty(self) -> bool:
        """Whether all of them end."""
        return await comes(lambda: not self.running())


@asynccontextmanager
async def bench(hosts: int = 2, *, network: bool = False) -> AsyncIterator[Bench]:
    """So many hosts for as long as the block lasts, each with a network of its own where that is needed."""
    token = Token.of(f"test-{secrets.token_hex(6)}")
    # Servers that give up root must be able to enter it; pytest's own directories are for us alone.
    place = Path(tempfile.mkdtemp(prefix="steelyard-test-", dir="/tmp"))
    place.chmod(0o711)
    try:
        opened = _open_nodes if network else _open_local
        async with opened(token, place / "minder.log", hosts) as leased:
            for host in leased:
                await host.make_scratch(PurePosixPath(place / host.name))
            yield Bench(leased, place, token.run)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _open_local(token: Token, log: Path, hosts: int) -> AbstractAsyncContextManager[tuple[Host, ...]]:
    return Local(LocalOptions(hosts=hosts)).lease(token, log, hosts)


@asynccontextmanager
async def _open_nodes(token: Token, log: Path, hosts: int) -> AsyncIterator[tuple[Host, ...]]:
    """What holds the namespaces bears another token: it is none of the service's programs."""
    holders = Lease.open(Token.of(f"{token.run}-holders"), log=log)
    async with holders as held, Namespaces.open(held) as wiring, Lease.open(token, log=log) as lease:
        await wiring.add(hosts)
        yield tuple(NsenterNode(lease, node, wiring) for node in wiring.nodes)


def with_bench(test: Callable[[Bench], Awaitable[None]], hosts: int = 2, *, network: bool = False) -> None:
    """Run a test on such hosts."""

    async def run() -> None:
        async with bench(hosts, network=network) as made:
            await test(made)

    asyncio.run(run())


@contextmanager
def deployed_service(name: str, options: Mapping[str, Any], hosts: int = 1) -> Iterator[Endpoint]:
    """A service for as long as the block lasts, for tests of what talks to it."""
    ready: Future[Endpoint] = Future()
    ended = threading.Event()
    thread = threading.Thread(target=_deploy, args=(name, options, hosts, ready, ended))
    thread.start()
    try:
        yield ready.result()
    finally:
        ended.set()
        thread.join()


def _deploy(
    name: str, options: Mapping[str, Any], hosts: int, ready: Future[Endpoint], ended: threading.Event
) -> None:
    async def run() -> None:
        async with bench(hosts) as made:
            service = made.service(name, options, hosts=made.hosts[:hosts])
            async with service.deploy() as endpoint:
                ready.set_result(endpoint)
                await asyncio.to_thread(ended.wait)

    try:
        asyncio.run(run())
    except BaseException as error:
        if ready.done():
            raise
        ready.set_exception(error)
