"""Snapshots of real rings: kept at one moment, brought back into the same, more and fewer nodes; refused."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from patience import comes
from steelyard.errors import HostError
from steelyard.model.snapshot import Snapshot
from steelyard.services.cassandra import Cassandra
from steelyard.snapshots.store import SnapshotStore

ROWS, MORE = 300, 40
ONE, ALL = 1, 5  # consistency
rings = loaded(Path(__file__).with_name("test_cassandra.py"))


class Kept:
    """A vault, the snapshots in it, and what a ring says of itself."""

    def __init__(self, place: Path) -> None:
        self.place, self.vault = place, SnapshotStore.from_place(str(place))
        self.snapshots: dict[str, Snapshot] = {}

    async def keep(self, service: Cassandra, name: str) -> Snapshot:
        found = await service.snapshot(lambda _: self.vault, name)
        await self.vault.publish(service.make_runner(service.context.hosts[0], "publish"), found)
        self.snapshots[name] = found
        return found

    async def bring(self, service: Cassandra, name: str) -> Any:
        return await service.recover(lambda _: self.vault, self.snapshots[name])


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """Of a ring of two: `cells`, with a type, an index and a static column, and a quoted name beside it."""
    place = tmp_path_factory.mktemp("vault") / "snapshots"
    found = Kept(place)
    rings.with_ring(2, lambda made, service: fill(found, service), keyspaces=["scores"])
    yield found
    shutil.rmtree(place)


async def fill(kept: Kept, service: Cassandra) -> None:
    """Twice: what changed in between is copied, and no more; and the first comes back on the living ring."""
    with rings.client(service) as found:
        found.run("CREATE TYPE scores.place (x int, y int)")
        found.run("CREATE TABLE scores.cells (k int PRIMARY KEY, at frozen<place>, v text)")
        found.run("CREATE INDEX by_v ON scores.cells (v)")
        found.run('CREATE TABLE scores."OddName" (k int PRIMARY KEY)')
        await rings.known_to_all(found, "INSERT INTO scores.cells (k, v) VALUES (0, 'even')")
        for key in range(1, ROWS):
            found.run(f"INSERT INTO scores.cells (k, at, v) VALUES ({key}, {{x: {key}, y: 1}}, 'even')")
        found.run('INSERT INTO scores."OddName" (k) VALUES (1)')
    first = await kept.keep(service, "first")
    assert {"flush", "freeze", "describe", "copy"} <= first.steps.keys()
    assert 0 < first.spread < 20
    assert first.replication == {"scores": 2}
    assert holds_all(first, "scores.cells")
    with rings.client(service) as found:
        for key in range(MORE):
            found.run(f"INSERT INTO scores.cells (k, v) VALUES ({ROWS + key}, 'odd')")
        found.run("DROP INDEX scores.by_v")
        found.run("CREATE TABLE scores.other (k int PRIMARY KEY)")
    second = await kept.keep(service, "second")
    assert 0 < first.copied <= first.size
    assert 0 < second.copied < second.size
    await kept.bring(service, "first")
    assert_is_first(service)
    await kept.bring(service, "second")
    with rings.client(service) as found:
        assert found.run("SELECT k FROM scores.cells") == ROWS + MORE
        assert found.run("SELECT k FROM scores.other") == 0


def holds_all(snapshot: Snapshot, table: str) -> bool:
    """On both nodes; a row that a busy node was told twice counts for each file that it is in."""
    return len(snapshot.nodes) == 2 and all(ROWS <= node.rows[table] <= 2 * ROWS for node in snapshot.nodes)


def assert_is_first(service: Cassandra) -> None:
    with rings.client(service) as found:
        assert found.run("SELECT k FROM scores.cells") == ROWS
        assert found.run("SELECT k FROM scores.cells WHERE v = 'even' LIMIT 5000") == ROWS
        assert found.run("SELECT v FROM scores.cells WHERE k = 7") == 1
        assert found.run('SELECT k FROM scores."OddName"') == 1
        with pytest.raises(rings.cql.Refused):
            found.run("SELECT k FROM scores.other")


@pytest.mark.parametrize("nodes", [1, 3])
def test_into_more_or_fewer_nodes(kept: Kept, nodes: int) -> None:
    async def test(made: Any, service: Cassandra) -> None:
        steps = await kept.bring(service, "first")
        assert {"copy", "define", "import", "cleanup"} <= steps.keys()
        assert_is_first(service)
        states = await service.list_nodes()
        assert [state.state for state in states] == ["up"] * nodes
        again = await kept.keep(service, f"of-{nodes}")
        assert again.replication == {"scores": min(nodes, 2)}
        assert again.rows >= kept.snapshots["first"].rows, "copies count until they are compacted"

    rings.with_ring(nodes, test)


def test_what_is_not_whole_is_refused_and_changes_nothing(kept: Kept, tmp_path: Path) -> None:
    async def test(made: Any, service: Cassandra) -> None:
        with rings.client(service) as found:
            found.run("CREATE TABLE mine.t (k int PRIMARY KEY)")
            await rings.known_to_all(found, "INSERT INTO mine.t (k) VALUES (1)")
        damaged = Kept(tmp_path / "damaged")
        shutil.copytree(kept.place, damaged.place)
        damaged.snapshots = dict(kept.snapshots)
        files = [file for file in kept.snapshots["first"].nodes[0].files if file.path.endswith("-Data.db")]
        missing, flipped = (file_of(damaged.place, file.digest) for file in files[:2])
        missing.unlink()
        flip(flipped)
        with pytest.raises(HostError) as caught:
            await damaged.bring(service, "first")
        assert all(file.path in str(caught.value) for file in files[:2])
        newer = kept.snapshots["first"].model_copy(update={"version": "6.1.0"})
        with pytest.raises(HostError, match=r"6\.1\.0, which Cassandra 5\.0"):
            await service.recover(lambda _: kept.vault, newer)
        with rings.client(service) as found:
            assert found.run("SELECT k FROM mine.t") == 1

    rings.with_ring(1, test, keyspaces=["mine"])


def file_of(place: Path, digest: str) -> Path:
    return place / "files" / digest[:2] / digest


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()
    path.write_bytes(content)


async def kept_when_one_slept(service: Cassandra, mine: Kept) -> Snapshot:
    """Writes while the second of two nodes is frozen, which the first keeps for it; kept when it is back."""
    asleep = service.context.hosts[1].name
    with rings.client(service) as found:
        found.run("CREATE TABLE scores.t (k int PRIMARY KEY)")
        await rings.known_to_all(found, "INSERT INTO scores.t (k) VALUES (0)")
        await service.pause(asleep)
        for key in range(1, ROWS):
            found.run(f"INSERT INTO scores.t (k) VALUES ({key})", ONE)
        await asyncio.sleep(4)  # beyond the 2 s that a write is waited for: only then it is kept for later
        await service.resume(asleep)
    return await mine.keep(service, "slept")


def test_a_node_that_slept_is_told_and_one_that_died_is_named(kept: Kept, tmp_path: Path) -> None:
    async def test(made: Any, service: Cassandra) -> None:
        mine = Kept(tmp_path / "mine")
        slept = await kept_when_one_slept(service, mine)
        assert holds_all(slept, "scores.t"), slept.steps
        assert slept.waiting == ()
        shutil.rmtree(mine.place)
        await service.kill(service.context.hosts[1].name)
        with pytest.raises(HostError, match=r"127\.0\.0\.2"):
            await mine.keep(service, "half")
        assert not mine.place.exists() or not list(mine.place.glob("*/manifest.json"))

    rings.with_ring(2, test, keyspaces=["scores"])


def test_an_empty_ring_is_one_to_come_back_to(kept: Kept, tmp_path: Path) -> None:
    async def test(made: Any, service: Cassandra) -> None:
        mine = Kept(tmp_path / "mine")
        blank = await mine.keep(service, "blank")
        assert (blank.rows, blank.definitions) == (0, ())
        await kept.bring(service, "first")
        await mine.bring(service, "blank")
        with rings.client(service) as found, pytest.raises(rings.cql.Refused):
            found.run("SELECT k FROM scores.cells")

    rings.with_ring(1, test)


IN_MEMORY, IN_FILES = "memory", "files"  # keyspaces, by where the rows are that must go
ONE_COPY = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
TOLD_WITHIN = 1  # seconds; a node that does not listen for longer misses what it was told


async def add_rows(service: Cassandra, key: int) -> None:
    """One to each; where they are in memory no other is there."""
    with rings.client(service) as found:
        await rings.known_to_all(found, f"TRUNCATE {IN_MEMORY}.t")
        for name in (IN_MEMORY, IN_FILES):
            found.run(f"INSERT INTO {name}.t (k) VALUES ({key})", ALL)


async def count_rows(service: Cassandra, kept: Kept) -> list[dict[str, int]]:
    """By node, of its own files, which a snapshot has it write."""
    found = await kept.keep(service, f"of-{len(kept.snapshots)}")
    return [dict(node.rows) for node in found.nodes]


async def miss_drops(service: Cassandra) -> None:
    """Have the second node hear of tables only when they have gone and come again: it sleeps from the moment
    that another client than this one, which recovers the ring, is at the first."""
    tables = "SELECT keyspace_name FROM system_schema.tables WHERE table_name = 't' ALLOW FILTERING"
    with rings.client(service) as found:
        assert await comes(lambda: found.run("SELECT port FROM system_views.clients") > 1)
        await service.pause(service.context.hosts[1].name)
        # It still hears the first of what it was told; then it sees what time it is.
        found.run(f"CREATE KEYSPACE first WITH replication = {ONE_COPY}")
        assert await comes(lambda: not found.run(tables))
    await asyncio.sleep(3 * TOLD_WITHIN)
    await service.resume(service.context.hosts[1].name)


def leave_files(place: Path) -> None:
    """A table's files once more under names that its node does not know, as a late compaction leaves them."""
    (data,) = place.glob("t-*/nb-*-big-Data.db")
    for path in data.parent.glob(data.name.replace("Data.db", "*")):
        other = re.sub(r"-\d+-", "-900-", path.name)
        subprocess.run(["cp", "-a", path, path.with_name(other)], check=True)


def test_no_row_that_was_there_before_stays_on_any_node(tmp_path: Path) -> None:
    """Where tables are emptied; where they are made anew; and where a node knows late or has other files."""
    kept = Kept(tmp_path / "kept")

    async def test(made: Any, service: Cassandra) -> None:
        with rings.client(service) as found:
            for name in (IN_MEMORY, IN_FILES):
                found.run(f"CREATE TABLE {name}.t (k int PRIMARY KEY)")
            found.run(f"CREATE KEYSPACE other WITH replication = {ONE_COPY}")
            await add_rows(service, 1)
            await kept.keep(service, "first")
            first = [{f"{name}.t": 1 for name in (IN_MEMORY, IN_FILES)}] * 2
            await add_rows(service, 2)
            assert await count_rows(service, kept) != first
            await add_rows(service, 3)
            before = found.values(f"{rings.SCHEMA_VERSION}.local")
            await kept.bring(service, "first")
            assert found.values(f"{rings.SCHEMA_VERSION}.local") == before, "the same tables, emptied"
            assert await count_rows(service, kept) == first
            found.run("DROP KEYSPACE other")
        await add_rows(service, 2)
        leave_files(Path(service.plan.data[service.context.hosts[0].name].path / "data" / IN_FILES))
        late = asyncio.create_task(miss_drops(service))
        try:
            await kept.bring(service, "first")
        finally:
            await late
        assert await count_rows(service, kept) == first

    # With passwords each new keyspace would wait for a quorum of all nodes.
    settings = {"request_timeout": f"{TOLD_WITHIN}s"}
    rings.with_ring(2, test, keyspaces=[IN_MEMORY, IN_FILES], authentication="none", settings=settings)
