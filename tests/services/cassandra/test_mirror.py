"""Real rings with a second data centre on another file system: it gets everything, and that is proven."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from patience import PATIENCE
from steelyard.errors import HostError
from steelyard.hosts.base import Host
from steelyard.services.cassandra import Cassandra
from steelyard.services.kit.capabilities import HasMirror
from steelyard.snapshots.store import SnapshotStore

ROWS = 60
ONE, LOCAL_QUORUM, LOCAL_ONE = 1, 6, 10  # consistency
HINTS = {"hints_flush_period": "100ms"}  # by itself a node keeps them in memory for 10 s
ONE_CENTRE = "{'class': 'NetworkTopologyStrategy', 'datacenter1': 2}"
ANYWHERE = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
EVERYWHERE = "{'class': 'NetworkTopologyStrategy', 'replication_factor': 2}"


rings = loaded(Path(__file__).with_name("test_cassandra.py"))
Test = Callable[[Any, Cassandra], Awaitable[None]]


def with_mirror(test: Test, shared: Path, nodes: int = 3, *, spare: int = 0, **options: Any) -> None:
    mirror = {"nodes": 1, "directory": str(shared), "within": "5min", **options.pop("mirror", {})}
    # One that is killed has written all that it confirmed.
    durable = {"settings": HINTS, "commitlog_sync": "batch"}
    rings.with_ring(nodes, test, spare=spare, mirror=mirror, **durable, **options)


def mirror_of(service: Cassandra) -> Host:
    return service.context.hosts[-1]


def place_of(service: Cassandra, shared: Path) -> Path:
    return shared / mirror_of(service).name


async def filled(
    service: Cassandra,
    keyspace: str,
    placing: str = "",
    rows: range = range(ROWS),
    consistency: int = LOCAL_QUORUM,
) -> None:
    """A table of it, through the data centre of clients."""
    with rings.client(service) as found:
        if placing:
            found.run(f"CREATE KEYSPACE {keyspace} WITH replication = {placing}")
        found.run(f"CREATE TABLE IF NOT EXISTS {keyspace}.t (k int PRIMARY KEY, v text)")
        if rows.start == 0:
            await same_tables(service)
        for key in rows:
            await rings.known_to_all(
                found, f"INSERT INTO {keyspace}.t (k, v) VALUES ({key}, 'value {key}')", consistency
            )


async def same_tables(service: Cassandra) -> None:
    """All nodes know them, by what each says from now on: no write fails on one and is tried again."""
    await service.watch.expect([server.address for server in service.servers])
    async with asyncio.timeout(PATIENCE):
        while not await service.is_settled():  # noqa: ASYNC110 - the ring tells nobody
            await asyncio.sleep(0.05)
    await service.watch.slow_down()


def rows_in(service: Cassandra, node: int, keyspace: str) -> int:
    with rings.client(service, node) as found:
        return int(found.run(f"SELECT k FROM {keyspace}.t", LOCAL_ONE))


async def hints_wait(service: Cassandra) -> None:
    async with asyncio.timeout(PATIENCE):
        while not (await service.read_meters())["pending_hints"]:  # noqa: ASYNC110 - the ring tells nobody
            await asyncio.sleep(0.1)


def test_a_mirror_that_was_away_gets_everything_and_keeps_it(enterable: Path) -> None:
    async def test(made: Any, service: Cassandra) -> None:
        assert isinstance(service, HasMirror)
        mirror, facts = mirror_of(service), service.endpoint().facts
        assert facts["CONTACT_NAMES"] == "127.0.0.1,127.0.0.2"
        assert (facts["servers"].count(","), facts["datacenter"], facts["replication"]) == (
            1,
            "datacenter1",
            "2",
        )
        assert facts["mirror"] == f"{mirror.name}:{enterable / 'shared' / mirror.name}"
        await filled(service, "data")
        await filled(service, "later", ONE_CENTRE)
        await filled(service, "anywhere", ANYWHERE, consistency=ONE)
        await service.kill(mirror.name)
        await filled(service, "data", rows=range(ROWS, 2 * ROWS))
        await hints_wait(service)
        with pytest.raises(HostError, match=f"the mirror needs every node; missing: {mirror.name} is down"):
            await service.prove_mirror()
        await service.restart(mirror.name)
        found = await service.prove_mirror()
        assert found["in_sync"] is True
        assert found["keyspaces"] == ["anywhere", "data", "later"]
        assert sorted(found["extended"]) == ["anywhere", "later"]
        for node in (0, 1):
            await service.kill(service.context.hosts[node].name)
        assert [rows_in(service, 2, name) for name in ("data", "later", "anywhere")] == [2 * ROWS, ROWS, ROWS]

    with_mirror(test, enterable / "shared", keyspaces=["data"])
    (place,) = (enterable / "shared").iterdir()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert list(place.glob("data/data/data/t-*/*-Data.db")), "it stays after the ring"
    assert not (place / "in-use").exists()
    assert json.loads((place / "proof.json").read_text())["in_sync"] is True


@pytest.mark.full
def test_a_write_that_the_mirror_lost_is_found(enterable: Path) -> None:
    """Its files are removed behind its back."""

    async def test(made: Any, service: Cassandra) -> None:
        mirror = mirror_of(service)
        await filled(service, "good")
        await filled(service, "bad")
        assert (await service.prove_mirror())["in_sync"]
        await service.watch.operate("drain", mirror.address, 60)  # or its commit log would have it still
        await service.kill(mirror.name)
        lost = [path for path in place_of(service, enterable).glob("data/data/bad/t-*/*") if path.is_file()]
        assert any(path.name.endswith("-Data.db") for path in lost)
        for path in lost:
            path.unlink()
        await service.restart(mirror.name)
        assert rows_in(service, 2, "bad") == 0
        with pytest.raises(
            HostError, match=r"(?s)the mirror is incomplete: keyspace bad: .*bad\.t"
        ) as caught:
            await service.prove_mirror()
        assert "keyspace good" not in caught.value.message
        assert mirror.address in caught.value.message
        assert service.mirror is not None
        mending = service.mirror.layout.options.model_copy(update={"repair": True})
        service.mirror.layout = replace(service.mirror.layout, options=mending)
        assert (await service.prove_mirror())["repaired"] == ["bad"]
        assert rows_in(service, 2, "bad") == ROWS

    with_mirror(test, enterable, keyspaces=["good", "bad"])


@pytest.mark.full
def test_it_is_snapshot_recovered_grown_and_proven(enterable: Path) -> None:
    place = enterable / "vault"

    async def test(made: Any, service: Cassandra) -> None:
        vault = SnapshotStore.from_place(str(place))
        await filled(service, "data")
        await filled(service, "anywhere", ANYWHERE, consistency=ONE)
        await filled(service, "both", EVERYWHERE)
        first = await service.snapshot(lambda _: vault, "first")
        await vault.publish(service.make_runner(service.context.hosts[0], "publish"), first)
        assert [node.host for node in first.nodes] == ["local-0", "local-1"]
        assert first.replication == {"data": 2, "anywhere": 1, "both": 2}
        assert not any("mirror" in definition for definition in first.definitions)
        versions = []
        for _ in range(2):  # what was streamed once is streamed again
            await filled(service, "data", rows=range(ROWS, 2 * ROWS))
            steps = await service.recover(lambda _: vault, first)
            assert steps["mirror"] > 0
            assert [rows_in(service, 2, name) for name in ("data", "anywhere", "both")] == [ROWS] * 3
            assert (await service.prove_mirror())["in_sync"]
            with rings.client(service) as found:
                versions += found.values(f"{rings.SCHEMA_VERSION}.local")
        assert versions[0] == versions[1], "the same tables, emptied, whatever centre Cassandra names first"
        mirror = mirror_of(service)
        await service.grow(4)
        assert [state.host for state in await service.list_nodes()] == [
            "local-0",
            "local-1",
            "local-3",
            mirror.name,
        ]
        await service.pause(mirror.name)
        await filled(service, "data", rows=range(ROWS, 2 * ROWS))
        await hints_wait(service)
        with pytest.raises(HostError, match=f"{mirror.name} is paused"):
            await service.prove_mirror()
        await service.resume(mirror.name)
        proof = await service.prove_mirror()
        assert proof["in_sync"]
        assert proof["waited"] > 3, "as long as a write may be waited for"
        await service.shrink(3)
        assert rows_in(service, 2, "data") == 2 * ROWS
        with pytest.raises(HostError, match="and 1 are its mirror, which stays"):
            await service.shrink(2)

    with_mirror(test, enterable / "shared", spare=1, keyspaces=["data"])


@pytest.mark.full
def test_two_nodes_share_a_mirror_and_all_of_it_is_compared(enterable: Path) -> None:
    async def test(made: Any, service: Cassandra) -> None:
        await filled(service, "data")
        await filled(service, "later", ONE_CENTRE.replace("2}", "1}"))
        found = await service.prove_mirror()
        assert found["keyspaces"] == ["data", "later"]
        shares = [rows_in(service, node, "data") for node in (1, 2)]
        assert shares == [ROWS, ROWS], "each asks the other for what it has not"
        for host in service.context.hosts[1:]:
            assert list((enterable / host.name).glob("data/data/data/t-*/*-Data.db"))

    with_mirror(test, enterable, keyspaces=["data"], mirror={"nodes": 2})
