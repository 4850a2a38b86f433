"""Cassandra for real: whom it lets in, how it grows and shrinks, and what is told of one that fails."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from loading import loaded
from patience import PATIENCE
from steelyard.errors import HostError
from steelyard.hosts.minder.processes import read_proc
from steelyard.hosts.sweep import find_bearers
from steelyard.services.cassandra import Cassandra
from steelyard.services.cassandra import nodes as cassandra_nodes
from steelyard.services.cassandra.home import CASSANDRA
from steelyard.testing.sockets import list_listeners
from steelyard.tools.find import install_directory

SMALL = {"heap": "128MiB", "jvm": ["-XX:TieredStopAtLevel=1"]}  # a quick start counts here, not speed
ROWS = 40
PRIVATE = ("secrets", "jmx.password", "identity.pem")
QUORUM, ALL = 4, 5  # consistency
SCHEMA_VERSION = "SELECT schema_version FROM system"

contract = loaded(Path(__file__).parents[2] / "contract" / "test_services.py")
cql = loaded(Path(__file__).parents[1] / "cql.py")
Test = Callable[[Any, Cassandra], Awaitable[None]]


def with_ring(nodes: int, test: Test, *, spare: int = 0, **options: Any) -> None:
    """Deploy it and run the test beside it; nothing of it is left."""
    contract.needed("cassandra")

    async def run() -> None:
        async with contract.bench(nodes + spare) as made:
            changes = {"hosts": made.hosts[:nodes], "spare": made.hosts[nodes:], "ready_timeout": PATIENCE}
            service = made.service("cassandra", {**SMALL, **options}, **changes)
            async with service.deploy():
                await test(made, service)
            assert await made.is_empty()

    asyncio.run(run())


def client(service: Cassandra, node: int = 0, user: str = "steelyard", password: str | None = None) -> Any:
    address = service.servers[node].address
    authority = service.authority.certificate if service.encrypted else None
    return cql.Cql(address, service.plan.ports.native, user, password or service.context.password, authority)


def test_only_the_run_gets_in_and_only_where_it_should():
    async def test(made: Any, service: Cassandra) -> None:
        for node in range(2):
            with pytest.raises(cql.Refused):
                client(service, node, "cassandra", "cassandra")
            with pytest.raises(cql.Refused):
                client(service, node, password="guessed")
            with client(service, node) as found:
                assert found.run("SELECT keyspace_name FROM system_schema.keyspaces") > 5
        with client(service) as found:
            found.run("CREATE TABLE scores.t (k int PRIMARY KEY)")
            await known_to_all(found, "INSERT INTO scores.t (k) VALUES (1)")
        for server in service.servers:
            assert {where for where, _ in list_listeners([server.process.pid])} == {server.address}
        refuse_management(service)
        hide_secrets(made, service)
        meters = await service.read_meters()
        assert meters["live_nodes"] == 2
        assert meters["load_bytes"] > 0
        assert {"pending_compactions", "pending_hints", "streams"} <= meters.keys()
        while not await service.is_settled():  # noqa: ASYNC110 - a compaction may still be at work
            await asyncio.sleep(0.1)
        facts = service.endpoint().facts
        assert (facts["replication"], facts["CONTACT_NAMES"]) == ("2", "127.0.0.1,127.0.0.2")

    with_ring(2, test, keyspaces=["scores"], num_tokens=4)


async def known_to_all(found: Any, statement: str, consistency: int = ALL) -> None:
    """Run it once all nodes have the same tables, which drivers wait for.

    A node that is still taking over definitions may lose what it is told meanwhile, although it confirms it.
    """
    async with asyncio.timeout(PATIENCE):
        while len({*found.values(f"{SCHEMA_VERSION}.local"), *found.values(f"{SCHEMA_VERSION}.peers")}) > 1:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    found.run(statement, consistency)


def refuse_management(service: Cassandra) -> None:
    """With a wrong password: by the program that decommissions, for it would do harm."""
    place = Path(service.scratch(service.context.hosts[0])) / "ring"
    forged = place.parent / "forged"
    shutil.copytree(place, forged)
    secrets = (place / "secrets").read_text()
    (forged / "secrets").write_text(secrets.replace(service.secrets.jmx, "0" * 48))
    home = service.plan.homes[service.context.hosts[0].name]
    words = ("steelyard.cassandra.Operate", str(forged), "decommission", "127.0.0.2")
    done = subprocess.run(
        (home.java, "-cp", home.classes, *words), check=False, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "wrong name or password" in done.stderr


def hide_secrets(made: Any, service: Cassandra) -> None:
    told = [service.secrets.client, service.secrets.jmx]
    for pid in made.running():
        words = Path(f"/proc/{pid}/cmdline").read_text()
        assert not any(secret in words for secret in told)
    for log in service.context.logs.iterdir():
        text = log.read_text(errors="replace")
        assert not any(secret in text for secret in (*told, "PRIVATE KEY")), log.name
    for host in service.context.hosts:
        for path in Path(service.scratch(host)).rglob("*"):
            if path.is_file() and path.name in PRIVATE:
                found = path.stat()  # a node of root's has a group of its own, which nobody else is in
                own = {0o600} if os.geteuid() else {0o600, 0o640}
                assert stat.S_IMODE(found.st_mode) in own
                assert found.st_gid in {os.getegid(), int(service.data[host.name].account or 0)}


def test_a_setting_that_cassandra_does_not_know_is_named():
    async def never(made: Any, service: Cassandra) -> None:
        pytest.fail("it came up")

    with pytest.raises(
        HostError, match=r"(?s)ended with code \d+ before it was ready; .*no_such_setting"
    ) as caught:
        with_ring(1, never, settings={"no_such_setting": 1})
    assert "127.0.0.1" in caught.value.message


async def fill(service: Cassandra) -> None:
    with client(service) as found:
        found.run("CREATE TABLE data.t (k int PRIMARY KEY)")
        await known_to_all(found, "INSERT INTO data.t (k) VALUES (0)")
        for key in range(1, ROWS):
            found.run(f"INSERT INTO data.t (k) VALUES ({key})", ALL)


def test_one_that_joins_knows_the_tables_before_it_asks_for_rows(monkeypatch: pytest.MonkeyPatch):
    """Where gossip is late: by itself Cassandra takes it that there are none, and joins without a row."""
    monkeypatch.setattr(cassandra_nodes, "HEARD_OF", 0.0)

    async def test(made: Any, service: Cassandra) -> None:
        await fill(service)
        heard_of = 0.0
        while not await grown(service):
            heard_of = 2 * heard_of + 1  # a busy machine needs longer to answer at all
            monkeypatch.setattr(cassandra_nodes, "HEARD_OF", heard_of)
        assert complete(service, 1)

    with_ring(1, test, spare=1, keyspaces=["data"], ring_delay="10ms")


@pytest.mark.full
def test_one_that_reaches_nobody_says_so_and_may_come_again() -> None:
    async def test(made: Any, service: Cassandra) -> None:
        await service.pause(service.members.ring[0].name)
        with pytest.raises(
            HostError, match=r"(?s)its log says: .*Unable to gossip with any peers.*its log ends"
        ):
            await service.grow(2)
        await service.resume(service.members.ring[0].name)
        while not await grown(service):
            pass

    with_ring(1, test, spare=1, ring_delay="10ms")


async def grown(service: Cassandra) -> bool:
    """Whether it grew; a new node whose first question nobody answered within a second must say so."""
    try:
        await service.grow(2)
    except HostError as error:
        if "Unable to gossip with any peers" in error.message:
            return False
        raise
    return True


@pytest.mark.full
def test_it_grows_and_shrinks_while_it_is_used_and_loses_nothing():
    async def test(made: Any, service: Cassandra) -> None:
        await fill(service)
        await service.grow(4)
        assert [server.address for server in service.servers] == [f"127.0.0.{n}" for n in range(1, 5)]
        assert service.endpoint().facts["servers"].count(",") == 3
        assert (await service.read_meters())["live_nodes"] == 4
        assert complete(service, 3), "the one that joined serves"
        assert (await asyncio.to_thread(by_hand, service, "status")).count("\nUN ") == 4
        await service.shrink(3)
        assert len(service.servers) == 3
        assert complete(service, 2)
        assert len(made_nodes(made)) == 3, "the process of one that left is gone"
        await service.kill(service.members.ring[1].name)
        assert not await service.is_settled()
        assert await eventually_complete(service), "two of three copies are left"
        await service.restart(service.members.ring[1].name)
        assert await service.is_settled()
        assert complete(service, 1)
        await service.grow(4)  # on the host that it had left
        assert complete(service, 3)

    with_ring(3, test, spare=1, keyspaces=["data"], cleanup=True)


def complete(service: Cassandra, node: int, consistency: int = ALL) -> bool:
    with client(service, node) as found:
        return bool(found.run("SELECT k FROM data.t", consistency) == ROWS)


def by_hand(service: Cassandra, *words: str) -> str:
    """What Cassandra's own nodetool says of a ring, as docs/reference/cassandra.md has it called."""
    program = install_directory(CASSANDRA) / "bin" / "nodetool"
    place = Path(service.scratch(service.context.hosts[0])) / "ring"
    argv = (str(program), str(place), service.servers[0].address, *words)
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


async def eventually_complete(service: Cassandra) -> bool:
    """Until the failure detector has found out, a read may wait for the dead node in vain."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await asyncio.to_thread(complete, service, 0, consistency=QUORUM)
            except cql.Refused as error:
                if "timed out" not in str(error):
                    raise
            await asyncio.sleep(0.1)


def made_nodes(made: Any) -> list[int]:
    return [
        bearer.pid
        for bearer in find_bearers(lambda token: token.run == made.run)
        if b"java.arguments" in read_proc(f"/proc/{bearer.pid}/cmdline")
    ]


@pytest.mark.full
def test_one_that_cannot_join_is_ended_and_the_ring_stays_whole():
    async def test(made: Any, service: Cassandra) -> None:
        broken = service.options.model_copy(update={"settings": {"no_such_setting": 1}})
        good = service.nodes
        service.nodes = replace(good, plan=replace(good.plan, options=broken))
        with pytest.raises(HostError, match=r"(?s)ended before it joined; .*no_such_setting"):
            await service.grow(2)
        service.nodes = good
        assert len(service.servers) == len(service.members.ring) == 1
        async with asyncio.timeout(PATIENCE):
            while not await service.is_settled():  # noqa: ASYNC110 - the ring tells nobody
                await asyncio.sleep(0.1)
        await service.grow(2)
        assert len(made_nodes(made)) == 2

    with_ring(1, test, spare=1)


@pytest.fixture
def only_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A CASSANDRA_HOME without anything of ours, on hosts whose cache is empty."""
    contract.needed("cassandra")
    (tmp_path / "lib").mkdir()
    for jar in (install_directory(CASSANDRA) / "lib").glob("*.jar"):
        if not jar.name.startswith("steelyard-"):
            (tmp_path / "lib" / jar.name).symlink_to(jar)
    return tmp_path


@pytest.mark.full
@pytest.mark.parametrize("installed", [True, False])
def test_hosts_that_lack_it_get_what_they_lack(only_installed, monkeypatch, installed):
    """Our classes where only Cassandra is there; all jars where nothing is."""

    async def run() -> None:
        here = install_directory(
            CASSANDRA
        )  # the controller has it; the host, which is this machine, looks elsewhere
        monkeypatch.setattr("steelyard.services.cassandra.home.install_directory", lambda tool: here)
        monkeypatch.setattr("steelyard.services.cassandra.home.find_missing", lambda tools: [])
        monkeypatch.setenv("XDG_CACHE_HOME", str(only_installed / "empty"))
        monkeypatch.setenv("CASSANDRA_HOME", str(only_installed) if installed else "")
        async with contract.bench(1) as made:
            service = made.service("cassandra", SMALL, ready_timeout=PATIENCE)
            async with service.deploy():
                scratch = PurePosixPath(service.scratch(made.hosts[0]))
                home = service.plan.homes["local"]
                assert home.lib in {scratch / "lib", PurePosixPath(only_installed / "lib")}
                assert home.classes == str(
                    scratch / ("classes" if installed else "lib/steelyard-cassandra-1.jar")
                )
                with client(service) as found:
                    assert found.run("SELECT keyspace_name FROM system_schema.keyspaces") == 5

    asyncio.run(run())
