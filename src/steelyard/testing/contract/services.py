"""What every service must do, with real servers on hosts of this machine."""

from __future__ import annotations

import asyncio
import os
import pwd
import re
import signal
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from steelyard.errors import HostError
from steelyard.hosts.unused.ports import PortClaims
from steelyard.model.command import Command
from steelyard.model.keys.plugin_use import short_name
from steelyard.services.base import Service
from steelyard.services.kit.capabilities import Killable, Pausable
from steelyard.services.kit.mounting import MountedService
from steelyard.services.kit.ports import find_free_ports, list_listening_ports
from steelyard.testing.contract.bench import Bench, with_bench
from steelyard.testing.contract.suite import Contract, Parameters, check_declaration, skip_without
from steelyard.testing.patience import comes
from steelyard.testing.sockets import list_listeners

BOUND: dict[str, set[str]] = {
    "host": set(),
    "loopback": {"127.0.0.1", "::1"},
    "everywhere": {"0.0.0.0", "::"},
    "elsewhere": set(),
    "chosen": set(),
}
"""Addresses to which a declared listener may be bound; empty for those of its hosts."""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has to give way")


class ServiceContract(Contract):
    """What every service must do. Those that start nothing (`is_external`) only declare themselves.

    `unprivileged` names those whose servers root starts under an id of each host's own, `entering` those of
    them whose servers must be able to enter their scratch. Clients come to `some_doors` only by some of the
    servers. `slow_marks` are of the tests that deploy one that is `slow`.
    """

    kind = "services"
    base = Service
    unprivileged: ClassVar[Iterable[str]] = ()
    entering: ClassVar[Iterable[str]] = ()
    some_doors: ClassVar[Iterable[str]] = ()
    slow: ClassVar[Iterable[str]] = ()
    slow_marks: ClassVar[tuple[pytest.MarkDecorator, ...]] = ()

    @classmethod
    def parameters(cls) -> Parameters:
        """A `name`; one that is `started`, `killable` and so on; an `example`."""
        started = sorted(name for name in cls.names if not cls.find(name).is_external)
        return {"name": sorted(cls.names)} | {
            argument: list(map(cls._mark, values))
            for argument, values in cls._list_deployments(started).items()
        }

    @classmethod
    def _list_deployments(cls, started: list[str]) -> Parameters:
        return {
            "started": started,
            "killable": [name for name in started if issubclass(cls.find(name), Killable)],
            "pausable": [name for name in started if issubclass(cls.find(name), Pausable)],
            "mounted": [
                name
                for name in sorted(cls.names)
                if issubclass(cls.find(name), MountedService) and cls.find(name).is_external
            ],
            "with_port": [
                name
                for name in started
                if "port" in cls.find(name).Options.model_fields and not cls.find(name).needs_network
            ],
            "unprivileged": sorted(cls.unprivileged),
            "entering": sorted(cls.entering),
            "example": [one for one in cls.number_examples() if one.values[0][0] in started],
        }

    def run(self, test: Callable[[Bench], Awaitable[None]], name: str, hosts: int = 2) -> None:
        """A test of this service on such hosts as it takes; skipped where it cannot run."""
        kind = self.find(name)
        skip_without(kind.needs)
        if kind.needs_network and os.geteuid() != 0:
            pytest.skip("network namespaces need root")
        with _own_temporary_files():
            with_bench(test, hosts, network=kind.needs_network)

    @classmethod
    def _mark(cls, value: Any) -> Any:
        """A service's name, or an example of one, with the marks of one that is slow."""
        parameter = value if hasattr(value, "marks") else pytest.param(value, id=value)
        first: Any = parameter.values[0]
        name = first if isinstance(first, str) else first[0]
        marks = (*parameter.marks, *(cls.slow_marks if name in cls.slow else ()))
        return pytest.param(*parameter.values, id=parameter.id, marks=marks)

    def test_it_says_what_it_deploys_and_describes_its_options(self, name: str) -> None:
        kind = self.find(name)
        assert kind.examples or kind.is_external
        check_declaration(kind, 80)

    def test_it_declares_all_that_it_listens_on(self, name: str) -> None:
        kind = self.find(name)
        assert kind.access, "what it listens on"
        assert len({listener.purpose for listener in kind.access}) == len(kind.access)
        for listener in kind.access:
            assert listener.purpose
            assert listener.encrypted
            assert listener.binding in BOUND

    def test_it_comes_up_on_all_hosts_answers_and_leaves_nothing(self, example: tuple[str, int]) -> None:
        name, index = example

        async def test(made: Bench) -> None:
            service = made.service(name, self.find(name).examples[index])
            async with service.deploy() as endpoint:
                servers = endpoint.facts["servers"].split(",")
                assert servers[0] == f"{endpoint.address}:{endpoint.port}"
                addresses = {host.address for host in made.hosts}
                assert service.speaks is None or endpoint.facts["protocol"] == service.speaks.name
                everywhere = {f"{server.address}:{server.port}" for server in service.servers}
                assert {where.split(":")[0] for where in everywhere} == addresses
                assert len(everywhere) == len(service.servers)
                if name in self.some_doors:
                    assert set(servers) <= everywhere
                else:
                    assert {where.split(":")[0] for where in servers[:2]} == addresses
                    assert len(servers) == len(everywhere) == len(set(servers))
                assert all(await asyncio.gather(*map(service.is_answering, service.servers)))
                asks = endpoint.password is not None
                first = service.listeners()[0]
                by_address = "experiment's hosts" in first.authentication
                assert asks != first.is_open or (by_address and not asks), "it declares what it asks for"
                assert (endpoint.password or service.context.password) not in str(endpoint)
                check_listeners(made, service)
            assert await made.is_empty()
            left = list(Path(os.environ["TMPDIR"]).glob(f"{short_name(name)}.*"))
            assert not left, "a server's facts belong in its scratch"
            assert not {server.port for server in service.servers} & await list_listening_ports(made.hosts[0])
            logs = {path.name: path for path in (made.place / "logs").rglob("*") if path.is_file()}
            assert {server.streams.stdout.name for server in service.servers} <= logs.keys()
            said = "".join(path.read_text(errors="replace") for path in logs.values())
            assert service.context.password not in said
            assert not endpoint.password or endpoint.password not in said
            assert said, "its logs belong in the record"

        self.run(test, name)

    def test_its_files_are_for_whoever_enters_and_for_nobody_else(self, mounted: str) -> None:
        async def test(made: Bench) -> None:
            service = made.service(mounted, find_least_options(self.find(mounted)), mount_on=made.hosts)
            assert isinstance(service, MountedService)
            async with service.deploy():
                for host in made.hosts:
                    point = service.mount_point(host.name)
                    write = point.enter(
                        Command(("sh", "-c", "echo here > file && cat file && pwd")), point.path
                    )
                    assert await host.capture(write.argv) == f"here\n{point.path}\n"
                    assert Path(point.outside(point.path / "file")).read_text() == "here\n"
                    assert not list(Path(point.path).iterdir()), "seen by those who did not enter"
                first = made.hosts[0].name
                os.kill(service.mounts[first].process.pid, signal.SIGKILL)
                said = await asyncio.wait_for(service.wait_for_death(), 10)
                assert said.startswith(f"service store: mount on {first} (127.0.0.1) ended by signal 9")
            assert await made.is_empty()

        self.run(test, mounted)

    def test_a_server_that_dies_is_noticed(self, started: str) -> None:
        async def test(made: Bench) -> None:
            service = made.service(started, find_least_options(self.find(started)))
            async with service.deploy():
                watch = asyncio.create_task(service.wait_for_death())
                await asyncio.sleep(0)
                os.kill(find_pid(service), signal.SIGKILL)
                said = await asyncio.wait_for(watch, 10)
                where = re.escape(f"on {made.hosts[0].name} ({made.hosts[0].address})")
                pattern = f"^service store: .* {where} ended by signal 9; its log"
                assert re.search(pattern, said)
            assert await made.is_empty()

        self.run(test, started, hosts=1)

    def test_one_that_is_killed_on_purpose_can_be_started_again(self, killable: str) -> None:
        async def test(made: Bench) -> None:
            service = made.service(killable, find_least_options(self.find(killable)))
            assert isinstance(service, Killable)
            async with service.deploy() as endpoint:
                watch = asyncio.create_task(service.wait_for_death())
                with pytest.raises(HostError, match="no server on nowhere"):
                    await service.kill("nowhere")
                await service.kill(made.hosts[0].name)
                assert all(server.exit is not None for server in service.servers)
                await service.restart(made.hosts[0].name)
                assert all(server.exit is None for server in service.servers)
                assert await service.is_answering(service.servers[0])
                assert service.endpoint() == endpoint
                assert not watch.done(), "its end was asked for"
                watch.cancel()
            assert await made.is_empty()

        self.run(test, killable, hosts=1)

    def test_one_that_is_frozen_goes_on_afterwards(self, pausable: str) -> None:
        async def test(made: Bench) -> None:
            service = made.service(pausable, find_least_options(self.find(pausable)))
            assert isinstance(service, Pausable)
            async with service.deploy():
                await service.pause(made.hosts[0].name)
                assert await comes_to_a_halt(find_pid(service))
                await service.resume(made.hosts[0].name)
                assert await service.is_answering(service.servers[0])
                await service.pause(made.hosts[0].name)  # and it ends in good order although it is frozen
            assert await made.is_empty()

        self.run(test, pausable, hosts=1)

    def test_a_port_that_is_taken_is_named_before_anything_starts(self, with_port: str) -> None:
        async def test(made: Bench) -> None:
            with PortClaims() as claims:
                (port,) = await find_free_ports(made.hosts, 1, claims)
                taken = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", port)
            async with taken:
                options = {**find_least_options(self.find(with_port)), "port": port}
                service = made.service(with_port, options)
                says = rf"port {port} on local \(127\.0\.0\.1\) is already in use"
                with pytest.raises(HostError, match=says):
                    async with service.deploy():
                        pytest.fail("it came up on a port of somebody else")
                assert service.servers == []

        self.run(test, with_port, hosts=1)

    def test_one_that_does_not_come_up_says_why_in_bounded_time_and_is_gone(
        self, started: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def test(made: Bench) -> None:
            service = made.service(started, find_least_options(self.find(started)), ready_timeout=0.6)

            async def never(server: object) -> bool:
                return False

            monkeypatch.setattr(service, "is_answering", never)
            with pytest.raises(
                HostError, match=r"service store: .* was not ready within 0\.6 s(, waiting for .*)?; its log"
            ):
                async with service.deploy():
                    pytest.fail("it was never ready")
            assert await made.is_empty()

        self.run(test, started, hosts=1)

    def test_one_that_ends_at_once_is_quoted(self, started: str, monkeypatch: pytest.MonkeyPatch) -> None:
        async def test(made: Bench) -> None:
            service = made.service(started, find_least_options(self.find(started)))
            start, host = service.start, made.hosts[0]

            async def start_once() -> None:
                real = host.start

                async def start_failing(
                    command: Any, streams: Any, *, cwd: Any, at: int | None = None
                ) -> Any:
                    argv = ("sh", "-c", "echo the disk is on fire >&2; exit 7")
                    return await real(replace(command, argv=argv), streams, cwd=cwd)

                monkeypatch.setattr(host, "start", start_failing)
                await start()
                monkeypatch.setattr(host, "start", real)

            monkeypatch.setattr(service, "start", start_once)
            with pytest.raises(
                HostError, match="ended with code 7 before it was ready; its log ends: the disk is on fire"
            ):
                async with service.deploy():
                    pytest.fail("it was never ready")
            assert await made.is_empty()

        self.run(test, started, hosts=1)

    @needs_root
    def test_a_scratch_that_an_unprivileged_server_cannot_enter_is_named(self, entering: str) -> None:
        async def test(made: Bench) -> None:
            made.place.chmod(0o700)
            service = made.service(entering, find_least_options(self.find(entering)))
            with pytest.raises(HostError, match="choose a scratch directory that others can access"):
                async with service.deploy():
                    pytest.fail("its data cannot be written")
            assert service.servers == []

        self.run(test, entering, hosts=1)

    @needs_root
    def test_root_gives_way_to_ids_that_nobody_has_others_on_each_host(self, unprivileged: str) -> None:
        async def test(made: Bench) -> None:
            service = made.service(unprivileged, find_least_options(self.find(unprivileged)))
            async with service.deploy():
                accounts = {
                    (server.host.name, read_account(server.process.pid)) for server in service.servers
                }
                assert len(accounts) == len({account for _, account in accounts}) == 2
                assert all(account >= 60_000 for _, account in accounts)
                for _, account in accounts:
                    with pytest.raises(KeyError):
                        pwd.getpwuid(account)

        self.run(test, unprivileged)


def find_least_options(kind: Any) -> dict[str, Any]:
    """What a service must be told at least: nothing, or its first example."""
    try:
        kind.Options.model_validate({})
    except ValidationError:
        return dict(kind.examples[0])
    return {}


@contextmanager
def _own_temporary_files() -> Iterator[None]:
    """Have programs keep temporary files where no other program of the machine has any."""
    with (
        tempfile.TemporaryDirectory(prefix="steelyard-test-", dir="/tmp") as place,
        pytest.MonkeyPatch.context() as patch,
    ):
        Path(place).chmod(0o1777)  # servers that give up root have some, too
        patch.setenv("TMPDIR", place)
        yield


def find_pid(service: Service[Any]) -> int:
    """The process of its first server."""
    return int(service.servers[0].process.pid)


def check_listeners(made: Bench, service: Service[Any]) -> None:
    """All that listens is declared, and bound no wider than that."""
    declared, own = service.listeners(), {host.address for host in made.hosts}
    allowed = {bound for listener in declared for bound in BOUND[listener.binding] or own}
    there = list_listeners(made.running())
    assert {server.port for server in service.servers} <= {port for _, port in there}
    assert {address for address, _ in there} <= allowed
    for address in own:
        here = {(where, port) for where, port in there if where == address}
        assert len(here) <= len(declared) * len([s for s in service.servers if s.address == address])


async def comes_to_a_halt(pid: int) -> bool:
    """Whether a process is stopped: it may have to be run once more before it sees the signal."""
    stat = Path(f"/proc/{pid}/stat")
    return await comes(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")


def read_account(pid: int) -> int:
    """The one id that a process has, as its user and as its group, in all ways."""
    status = Path(f"/proc/{pid}/status").read_text()
    lines = re.findall(r"^(?:Uid|Gid):\s+(.*)$", status, re.MULTILINE)
    (account,) = {int(each) for line in lines for each in line.split()}
    assert re.search(r"^Groups:\s*$", status, re.MULTILINE)
    return account
