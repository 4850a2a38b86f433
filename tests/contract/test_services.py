"""What every service must do, run over every service there is, with real servers on loopback addresses."""

from __future__ import annotations

import asyncio
import inspect
import os
import pwd
import re
import secrets
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from pydantic import ValidationError

from patience import PATIENCE, comes
from sockets import listeners
from steelyard.errors import HostError
from steelyard.plugins import builtin_names, find
from steelyard.remote.base import Host
from steelyard.remote.sweep import find_bearers
from steelyard.remote.token import Token
from steelyard.services.base import Killable, Pausable, Service, ServiceContext
from steelyard.services.kit.ports import find_free_ports, list_listening_ports
from steelyard.sites.local import Local, LocalOptions
from steelyard.spec.bind import make_service
from steelyard.tools.find import find_missing

# `attached` starts nothing; it has tests of its own.
NAMES = sorted(builtin_names("services") - {"attached"})
PAUSABLE = [name for name in NAMES if issubclass(find("services", name, Service), Pausable)]
ENTERING = ["cassandra", "etcd", "gridftp", "netbench", "postgresql", "redis", "scylladb", "xrootd"]
GIVE_WAY = [*ENTERING, "iperf3", "memcached", "sockperf"]
CASES = [
    pytest.param(name, example, id=f"{name}-{number}")
    for name in NAMES
    for number, example in enumerate(find("services", name, Service).examples)
]
NEEDED = {"program": find("services", "program", Service).examples[0]}
"""What a service must be told at least."""
BOUND: dict[str, set[str]] = {
    "host": set(),
    "loopback": {"127.0.0.1", "::1"},
    "everywhere": {"0.0.0.0", "::"},
    "elsewhere": set(),
    "chosen": set(),
}
"""Addresses to which a declared listener may be bound; empty for those of its hosts."""


class Bench:
    """Two hosts of this machine, and what a service is given on them."""

    def __init__(self, hosts: tuple[Host, ...], place: Path, run: str) -> None:
        self.hosts, self.place, self.run = hosts, place, run

    def service(self, name: str, options: dict, **changes: object) -> Service:
        kind = find("services", name, Service)
        return make_service(kind, options, replace(self.context(), **changes), {})

    def context(self) -> ServiceContext:
        scratch = {host.name: PurePosixPath(self.place / host.name) for host in self.hosts}
        addresses = tuple(host.address for host in self.hosts)
        password = secrets.token_hex(16)
        return ServiceContext(
            "store", self.hosts, scratch, self.place / "logs", addresses, password, ready_timeout=PATIENCE
        )

    def running(self) -> list[int]:
        return [bearer.pid for bearer in find_bearers(lambda token: token.run == self.run)]

    async def gone(self) -> bool:
        return await comes(lambda: not self.running())


@asynccontextmanager
async def bench(hosts: int = 2) -> AsyncIterator[Bench]:
    token = Token.of(f"test-{secrets.token_hex(6)}")
    # Servers that give up root must be able to enter it; pytest's own directories are for us alone.
    place = Path(tempfile.mkdtemp(prefix="steelyard-test-", dir="/tmp"))
    place.chmod(0o711)
    try:
        async with Local(LocalOptions(hosts=hosts)).lease(token, place / "minder.log", hosts) as found:
            for host in found:
                await host.make_scratch(PurePosixPath(place / host.name))
            yield Bench(found, place, token.run)
    finally:
        shutil.rmtree(place, ignore_errors=True)


async def stopped(pid: int) -> bool:
    """Whether a process comes to a halt: it may have to be run once more before it sees the signal."""
    stat = Path(f"/proc/{pid}/stat")
    return await comes(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")


def check_listeners(made: Bench, service: Service) -> None:
    """All that listens is declared, and bound no wider than that."""
    declared, own = service.listeners(), {host.address for host in made.hosts}
    allowed = {bound for listener in declared for bound in BOUND[listener.binding] or own}
    there = listeners(made.running())
    assert {server.port for server in service.servers} <= {port for _, port in there}
    assert {address for address, _ in there} <= allowed
    for address in own:
        here = {(where, port) for where, port in there if where == address}
        assert len(here) <= len(declared) * len([s for s in service.servers if s.address == address])


def needed(name: str) -> None:
    for tool in find_missing(find("services", name, Service).needs):
        pytest.skip(f"{tool.name} is not installed")


def with_bench(test: Callable[[Bench], Awaitable[None]], hosts: int = 2) -> None:
    async def run() -> None:
        async with bench(hosts) as made:
            await test(made)

    asyncio.run(run())


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_deploys_and_describes_its_options(name):
    kind = find("services", name, Service)
    assert len(inspect.cleandoc(kind.__doc__ or "")) > 80
    assert kind.examples
    assert [key for key, field in kind.Options.model_fields.items() if not field.description] == []
    with pytest.raises(ValidationError):
        kind.Options.model_validate({"no_such_option": 1})


@pytest.mark.parametrize("name", sorted(builtin_names("services")))
def test_it_declares_all_that_it_listens_on(name):
    kind = find("services", name, Service)
    assert kind.access, "what it listens on"
    assert len({listener.purpose for listener in kind.access}) == len(kind.access)
    for listener in kind.access:
        assert listener.purpose
        assert listener.encrypted
        assert listener.binding in BOUND


@pytest.mark.parametrize(("name", "options"), CASES)
def test_it_comes_up_on_all_hosts_answers_and_leaves_nothing(name, options):
    needed(name)

    async def test(made: Bench) -> None:
        service = made.service(name, options)
        async with service.deploy() as endpoint:
            servers = endpoint.facts["servers"].split(",")
            assert servers[0] == f"{endpoint.address}:{endpoint.port}"
            assert {where.split(":")[0] for where in servers[:2]} == {"127.0.0.1", "127.0.0.2"}
            assert service.speaks is None or endpoint.facts["protocol"] == service.speaks.name
            assert len(servers) == len(service.servers) == len(set(servers))
            assert all(await asyncio.gather(*(service.is_answering(server) for server in service.servers)))
            asks = endpoint.password is not None
            assert asks != service.listeners()[0].is_open, "it declares whether it asks for a password"
            assert (endpoint.password or service.context.password) not in str(endpoint)
            check_listeners(made, service)
        assert await made.gone()
        assert not list(Path("/tmp").glob(f"{name}.*")), "a server's facts belong in its scratch"
        assert not {server.port for server in service.servers} & await list_listening_ports(made.hosts[0])
        logs = {path.name for path in (made.place / "logs").iterdir()}
        assert {server.streams.stdout.name for server in service.servers} <= logs
        said = "".join(path.read_text(errors="replace") for path in (made.place / "logs").iterdir())
        assert service.context.password not in said
        assert not endpoint.password or endpoint.password not in said
        assert said, "its logs belong in the record"

    with_bench(test)


@pytest.mark.parametrize("name", NAMES)
def test_a_server_that_dies_is_noticed(name):
    needed(name)

    async def test(made: Bench) -> None:
        service = made.service(name, NEEDED.get(name, {}))
        async with service.deploy():
            watch = asyncio.create_task(service.wait_for_death())
            await asyncio.sleep(0)
            os.kill(service.servers[0].process.pid, signal.SIGKILL)
            said = await asyncio.wait_for(watch, 10)
            assert re.search(r"^service store: .* on local \(127\.0\.0\.1\) ended by signal 9; its log", said)
        assert await made.gone()

    with_bench(test, hosts=1)


@pytest.mark.parametrize("name", NAMES)
def test_one_that_is_killed_on_purpose_can_be_started_again(name):
    needed(name)

    async def test(made: Bench) -> None:
        service = made.service(name, NEEDED.get(name, {}))
        assert isinstance(service, Killable)
        async with service.deploy() as endpoint:
            watch = asyncio.create_task(service.wait_for_death())
            with pytest.raises(HostError, match="no server on nowhere"):
                await service.kill("nowhere")
            await service.kill("local")
            assert all(server.exit is not None for server in service.servers)
            await service.restart("local")
            assert all(server.exit is None for server in service.servers)
            assert await service.is_answering(service.servers[0])
            assert service.endpoint() == endpoint
            assert not watch.done(), "its end was asked for"
            watch.cancel()
        assert await made.gone()

    with_bench(test, hosts=1)


@pytest.mark.parametrize("name", PAUSABLE)
def test_one_that_is_frozen_goes_on_afterwards(name):
    needed(name)

    async def test(made: Bench) -> None:
        service = made.service(name, NEEDED.get(name, {}))
        async with service.deploy():
            await service.pause("local")
            assert await stopped(service.servers[0].process.pid)
            await service.resume("local")
            assert await service.is_answering(service.servers[0])
            await service.pause("local")  # and it ends in good order although it is frozen
        assert await made.gone()

    with_bench(test, hosts=1)


@pytest.mark.parametrize("name", NAMES)
def test_a_port_that_is_taken_is_named_before_anything_starts(name):
    needed(name)

    async def test(made: Bench) -> None:
        (port,) = await find_free_ports(made.hosts, 1)
        taken = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", port)
        try:
            service = made.service(name, {**NEEDED.get(name, {}), "port": port})
            with pytest.raises(HostError, match=rf"port {port} on local \(127\.0\.0\.1\) is already in use"):
                async with service.deploy():
                    pytest.fail("it came up on a port of somebody else")
            assert service.servers == []
        finally:
            taken.close()
            await taken.wait_closed()

    with_bench(test, hosts=1)


@pytest.mark.parametrize("name", NAMES)
def test_one_that_does_not_come_up_says_why_in_bounded_time_and_is_gone(name, monkeypatch):
    needed(name)

    async def test(made: Bench) -> None:
        service = made.service(name, NEEDED.get(name, {}), ready_timeout=0.6)

        async def never(server: object) -> bool:
            return False

        monkeypatch.setattr(service, "is_answering", never)
        with pytest.raises(
            HostError, match=r"service store: .* was not ready within 0\.6 s(, waiting for .*)?; its log"
        ):
            async with service.deploy():
                pytest.fail("it was never ready")
        assert await made.gone()

    with_bench(test, hosts=1)


@pytest.mark.parametrize("name", NAMES)
def test_one_that_ends_at_once_is_quoted(name, monkeypatch):
    needed(name)

    async def test(made: Bench) -> None:
        service = made.service(name, NEEDED.get(name, {}))
        start, host = service.start, made.hosts[0]

        async def broken() -> None:
            real = host.start

            async def refused(command, streams, *, cwd, at=None):
                argv = ("sh", "-c", "echo the disk is on fire >&2; exit 7")
                return await real(replace(command, argv=argv), streams, cwd=cwd)

            monkeypatch.setattr(host, "start", refused)
            await start()
            monkeypatch.setattr(host, "start", real)

        monkeypatch.setattr(service, "start", broken)
        with pytest.raises(
            HostError, match="ended with code 7 before it was ready; its log ends: the disk is on fire"
        ):
            async with service.deploy():
                pytest.fail("it was never ready")
        assert await made.gone()

    with_bench(test, hosts=1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to give way")
@pytest.mark.parametrize("name", ENTERING)
def test_a_scratch_that_an_unprivileged_server_cannot_enter_is_named(name):
    needed(name)

    async def test(made: Bench) -> None:
        made.place.chmod(0o700)
        service = made.service(name, NEEDED.get(name, {}))
        with pytest.raises(HostError, match="choose a scratch directory that others can access"):
            async with service.deploy():
                pytest.fail("its data cannot be written")
        assert service.servers == []

    with_bench(test, hosts=1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to give way")
@pytest.mark.parametrize("name", GIVE_WAY)
def test_root_gives_way_to_ids_that_nobody_has_others_on_each_host(name):
    needed(name)

    async def test(made: Bench) -> None:
        service = made.service(name, NEEDED.get(name, {}))
        async with service.deploy():
            accounts = [ids(server.process.pid) for server in service.servers]
            assert len(set(accounts)) == len(accounts) == 2
            assert all(account >= 60_000 for account in accounts)
            for account in accounts:
                with pytest.raises(KeyError):
                    pwd.getpwuid(account)

    with_bench(test)


def ids(pid: int) -> int:
    """The one id that a process has, as its user and as its group, in all ways."""
    status = Path(f"/proc/{pid}/status").read_text()
    lines = re.findall(r"^(?:Uid|Gid):\s+(.*)$", status, re.MULTILINE)
    (found,) = {int(each) for line in lines for each in line.split()}
    assert re.search(r"^Groups:\s*$", status, re.MULTILINE)
    return found
