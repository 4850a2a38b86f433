"""ScyllaDB as far as a stand-in can play it: `standins/scylla`. The server itself was never run here."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from patience import PATIENCE
from standins import lay
from steelyard.errors import HostError
from steelyard.services.kit.data import DataDirectory
from steelyard.services.scylladb import Scylladb

STRANGER = (Path(__file__).parents[1] / "stranger.py").read_text()
CAPTURED: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 60, "check": True}
contract = loaded(Path(__file__).parents[2] / "contract" / "test_services.py")
cql = loaded(Path(__file__).parents[1] / "cql.py")
Test = Callable[[Any, Scylladb], Awaitable[None]]


@pytest.fixture(autouse=True)
def stand_in(enterable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First of all: these tests are about what only it can be made to do."""
    monkeypatch.setenv("PATH", os.pathsep.join([lay(enterable, monkeypatch), os.environ["PATH"]]))
    monkeypatch.delenv("SCYLLA_HOME", raising=False)


def with_ring(nodes: int, test: Test, *, spare: int = 0, within: float = PATIENCE, **options: Any) -> None:
    """Deploy it and run the test beside it; nothing of it is left."""

    async def run() -> None:
        async with contract.bench(nodes + spare) as made:
            changes = {"hosts": made.hosts[:nodes], "spare": made.hosts[nodes:], "ready_timeout": within}
            service = made.service("scylladb", options, **changes)
            async with service.deploy():
                await test(made, service)
            assert await made.is_empty()

    asyncio.run(run())


async def unexpected(made: Any, service: Scylladb) -> None:
    pytest.fail("it came up")


def logged_in(service: Scylladb, node: int, user: str = "steelyard", password: str | None = None) -> bool:
    address = service.servers[node].address
    try:
        password = password or service.context.password
        with cql.Cql(address, service.ports.native, user, password, service.shown_authority):
            return True
    except cql.Refused:
        return False


def readable_by_its_node_alone(path: Path, data: DataDirectory) -> None:
    """A node of root's has a group of its own, which nobody else is in."""
    found = path.stat()
    assert stat.S_IMODE(found.st_mode) == (0o640 if data.account else 0o600)
    assert (found.st_uid, found.st_gid) == (os.geteuid(), int(data.account or os.getegid()))


def test_it_grows_and_shrinks_and_a_host_that_left_may_come_back() -> None:
    async def test(made: Any, service: Scylladb) -> None:
        await service.grow(3)
        assert service.endpoint().facts["CONTACT_NAMES"] == "127.0.0.1,127.0.0.2,127.0.0.3"
        assert (await service.read_meters())["live_nodes"] == 3
        assert len({token for tokens in service.members.tokens.values() for token in tokens}) == 3 * 2
        await service.shrink(2)
        assert [server.address for server in service.servers] == ["127.0.0.1", "127.0.0.2"]
        assert await service.is_settled()
        await service.grow(3)
        assert logged_in(service, 2)
        assert await service.read_meters() == {"live_nodes": 3, "load_bytes": 3000, "pending_compactions": 0}
        with pytest.raises(HostError, match="cannot have 4 nodes, at most 3"):
            await service.grow(4)
        with pytest.raises(HostError, match="cannot have 1 nodes: its replication is 2"):
            await service.shrink(1)

    with_ring(2, test, spare=1, num_tokens=2, cleanup=True)


def test_a_dead_node_unsettles_it_and_keeps_others_from_leaving() -> None:
    async def test(made: Any, service: Scylladb) -> None:
        await service.kill(made.hosts[0].name)
        assert [(node.state, node.load) for node in await service.list_nodes()] == [
            ("down", None),
            ("up", 1000),
        ]
        assert not await service.is_settled()
        with pytest.raises(HostError, match=r"decommission failed on local-1: .*a node is down.* \(500\)"):
            await service.shrink(1)
        await service.restart(made.hosts[0].name)
        assert await service.is_settled()
        await service.shrink(1)
        assert await service.is_settled()

    with_ring(2, test, replication=1)


def test_only_the_run_gets_in_and_its_password_is_told_to_nobody() -> None:
    async def test(made: Any, service: Scylladb) -> None:
        secret = service.context.password
        assert logged_in(service, 1)
        assert not logged_in(service, 1, password="guessed")
        assert not logged_in(service, 0, "cassandra", "cassandra")
        for pid in made.running():
            assert secret not in Path(f"/proc/{pid}/cmdline").read_text()
        for log in service.context.logs.iterdir():
            assert secret not in log.read_text(errors="replace"), log.name
        for host in service.context.hosts:
            place = Path(service.scratch(host))
            assert stat.S_IMODE((place / "client.password").stat().st_mode) == 0o600
            readable_by_its_node_alone(place / "conf" / "scylla.yaml", service.data[host.name])
            assert secret not in (place / "conf" / "scylla.yaml").read_text()
        facts = service.endpoint().facts
        assert (facts["version"], facts["replication"]) == ("2025.1.0-standin", "2")

    with_ring(2, test)


def test_nodes_listen_to_each_other_alone_and_clients_use_tls_where_they_are_asked_to() -> None:
    async def test(made: Any, service: Scylladb) -> None:
        assert logged_in(service, 1)
        assert service.endpoint().authority == service.authority.certificate
        words = ("127.0.0.1", *map(str, (service.ports.storage, service.ports.storage, service.ports.native)))
        done = await asyncio.to_thread(subprocess.run, (sys.executable, "-c", STRANGER, *words), **CAPTURED)
        heard = json.loads(done.stdout)
        assert not heard["cql"], "not in the clear"
        assert not heard["storage plain"]
        assert heard["storage without"].startswith("refused")
        assert heard["storage forged"].startswith("refused")
        for host in service.context.hosts:
            identity = Path(service.scratch(host)) / "conf" / "identity.pem"
            readable_by_its_node_alone(identity, service.data[host.name])

    with_ring(2, test, tls=True)


def test_each_ring_has_a_name_of_its_own() -> None:
    names = []

    async def test(made: Any, service: Scylladb) -> None:
        names.append(service.cluster)
        assert service.endpoint().authority is None, "by default not on loopback addresses"

    for _ in range(2):
        with_ring(1, test)
    assert len(set(names)) == 2


def test_a_server_that_knows_the_default_password_is_refused() -> None:
    with pytest.raises(HostError, match=r"ScyllaDB 2025\.1\.0-standin accepts the default password"):
        with_ring(1, unexpected, settings={"standin_is_old": True})


def test_what_it_says_when_it_ends_is_told() -> None:
    with pytest.raises(
        HostError, match=r"(?s)scylla on local \(127\.0\.0\.1\) ended with code 1 before .*no_such_thing"
    ):
        with_ring(1, unexpected, settings={"standin_refuses": ["no_such_thing"]})


def test_a_flag_that_it_does_not_know_ends_it() -> None:
    with pytest.raises(HostError, match=r"(?s)ended with code \d+ before it was ready.*--no-such-flag"):
        with_ring(1, unexpected, flags=["--no-such-flag"])


def test_more_copies_than_nodes_are_refused_before_anything_starts() -> None:
    with pytest.raises(HostError, match="replication 2 needs 2 nodes, not 1"):
        with_ring(1, unexpected, replication=2)


def test_scylla_home_comes_first(enterable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = enterable / "home" / "bin" / "scylla"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho it is this one >&2; exit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("SCYLLA_HOME", str(enterable / "home"))
    with pytest.raises(HostError, match="it is this one"):
        with_ring(1, unexpected)
