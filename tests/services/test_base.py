"""What all services share: the order of servers, and what is told of one that ended."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import SimpleNamespace

import pytest

from patience import PATIENCE
from steelyard.errors import HostDown, HostError
from steelyard.model.command import Command, Endpoint, Exit
from steelyard.model.keys.wrap import Conditions
from steelyard.services.base import Service, ServiceOptions
from steelyard.services.kit.capabilities import Killable
from steelyard.services.kit.context import ServiceContext
from steelyard.services.kit.data import list_allowed_addresses

EXIT = Exit(3, None, 1.0, 0.1, 0.1, 0, 0.0)


class Ended:
    """A process that has ended, or that does so when it is told to."""

    pid = 7

    def __init__(self, *, alive: bool) -> None:
        self.gone = asyncio.Event()
        self.error: HostError | None = None
        if not alive:
            self.gone.set()

    async def wait(self) -> Exit:
        await self.gone.wait()
        if self.error:
            raise self.error
        return EXIT

    async def kill(self, grace: float = 2.0) -> None:
        self.gone.set()


class FakeHost:
    def __init__(self, name: str, address: str) -> None:
        self.name, self.address, self.alive = name, address, True

    async def start(self, command, streams, *, cwd, at=None):
        streams.stdout.write_text("")
        streams.stderr.write_text(f"{command.argv[0]} says goodbye")
        return Ended(alive=self.alive)


class Two(Service[ServiceOptions]):
    """Two servers on each host."""

    async def start(self) -> None:
        for port in (2, 1):
            for host in reversed(self.context.hosts):
                command = Command((f"server-{port}",))
                await self.launch(host, f"server-{port}", command, address=host.address, port=port)

    async def is_answering(self, server) -> bool:
        return server.exit is None

    def endpoint(self) -> Endpoint:
        return Endpoint("10.0.0.1", 1, {"servers": self.list_servers()})


@pytest.fixture
def service(tmp_path: Path) -> Two:
    hosts = (FakeHost("a", "10.0.0.1"), FakeHost("b", "10.0.0.2"))
    scratch = {host.name: PurePosixPath(tmp_path) for host in hosts}
    context = ServiceContext("two", hosts, scratch, tmp_path / "logs", (), "secret", ready_timeout=PATIENCE)
    return Two(ServiceOptions(), context)


def test_clients_are_spread_over_hosts_before_any_host_has_a_second(service):
    async def run() -> Endpoint:
        async with service.deploy() as endpoint:
            return endpoint

    assert asyncio.run(run()).facts["servers"] == "10.0.0.1:1,10.0.0.2:1,10.0.0.1:2,10.0.0.2:2"


def test_one_that_ends_early_is_quoted_and_the_others_are_ended(service):
    service.context.hosts[1].alive = False

    async def run() -> None:
        async with service.deploy():
            pytest.fail("it is not ready")

    with pytest.raises(
        HostError, match=r"server-\d on b \(10\.0\.0\.2\) ended \w+ .* before .* says goodbye"
    ):
        asyncio.run(run())
    assert len(service.servers) == 4
    assert all(server.exit for server in service.servers)


def test_when_a_server_cannot_even_be_started_those_before_it_are_ended(service):
    async def refused(command, streams, *, cwd, at=None):
        raise HostError("b is full")

    service.context.hosts[0].start = refused

    async def run() -> None:
        async with service.deploy():
            pytest.fail("it is not complete")

    with pytest.raises(HostError, match="b is full"):
        asyncio.run(run())
    assert [server.exit for server in service.servers] == [EXIT]


def test_what_cannot_be_killed_says_so(service):
    assert not isinstance(service, Killable)


def test_a_server_that_cannot_be_stopped_does_not_keep_the_others_running(service):
    async def run() -> None:
        async with service.deploy():
            broken = service.servers[0]

            async def lost() -> None:
                raise HostError("a is gone")

            broken.stop = lost

    with pytest.raises(HostError, match="a is gone"):
        asyncio.run(run())
    assert sum(server.exit is not None for server in service.servers) == 3


def test_servers_whose_host_an_event_killed_did_not_die_by_themselves(service):
    async def run() -> None:
        async with service.deploy():
            gone, alive = service.servers[0], service.servers[1]
            watch = asyncio.ensure_future(service.wait_for_death())
            gone.process.error = HostDown("host b is down")
            gone.process.gone.set()
            await asyncio.wait({gone._watch})
            assert (gone.exit.way, gone.is_stop_requested) == ("by signal 9", True)
            await asyncio.sleep(0)
            assert not watch.done(), "nobody is told of a death"
            alive.process.gone.set()
            assert f"{alive.label} on" in await watch

    asyncio.run(run())


def test_what_was_recorded_on_a_host_that_an_event_killed_is_lost_and_no_failure(service):
    async def down(argv, *, seconds):
        raise HostDown("host b is down: an event killed it")

    async def run() -> None:
        async with service.deploy():
            service.context = replace(service.context, wrap=Conditions(capture="io"))
            for host in service.context.hosts:
                host.capture = down

    asyncio.run(run())
    assert len(service.complaints) == 4
    assert (
        service.complaints[0]
        == "service two: what was recorded of server-2 is lost: host b is down: an event killed it"
    )


def test_addresses_that_may_connect():
    assert list_allowed_addresses(("10.0.0.9", "10.0.0.1"), SimpleNamespace(address="10.0.0.1")) == [
        "10.0.0.9",
        "10.0.0.1",
    ]
    assert list_allowed_addresses((), SimpleNamespace(address="127.0.0.3")) == ["127.0.0.3", "127.0.0.1"]
