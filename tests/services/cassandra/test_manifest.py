"""What a ring asks of a snapshot's manifest; what a hostile one says is refused before anything begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from steelyard.errors import HostError
from steelyard.model.snapshot import Snapshot, SnapshotNode, StoredFile
from steelyard.services.cassandra.manifest import examine, raise_for_faults

contract = loaded(Path(__file__).parents[2] / "contract" / "test_services.py")
KEYSPACE = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '2'};"
COMPONENTS = [
    "nb-1-big-Data.db", "nb-3gqv_0hk8_1btz42sbp6f3dxrk0e-big-Statistics.db", "da-2-bti-Partitions.db",
    "nb-1-big-TOC.txt", "nb-1-big-Digest.crc32", "nb-1-big-SAI+aa+by_v+Meta.db", "nb-1-big-SI_by_v.db",
]  # fmt: skip


def snapshot(*paths: str, **changes: Any) -> Snapshot:
    """A sound one with these files, some of it changed."""
    files = tuple(StoredFile(path=path, size=1, digest="0" * 64) for path in paths)
    node = SnapshotNode(host="a", tokens=("-7",), files=files, rows={"ks.t": 1})
    sound = Snapshot(
        name="n1",
        service="cassandra",
        version="5.0.2",
        taken=1.0,
        replication={"ks": 2},
        definitions=(KEYSPACE,),
        nodes=(node,),
    )
    about = {key: value for key, value in changes.items() if key in SnapshotNode.model_fields}
    others = {key: value for key, value in changes.items() if key not in about}
    return sound.model_copy(update={"nodes": (node.model_copy(update=about),), **others})


def refusal(found: Snapshot) -> str:
    with pytest.raises(HostError) as caught:
        examine(found, "ring", "5.0.6")
    return caught.value.message


def test_a_sound_one_passes() -> None:
    examine(snapshot(*(f"ks/t/{component}" for component in COMPONENTS)), "ring", "5.0.6")
    examine(snapshot(replication={}, definitions=(), rows={}), "ring", "5.0.6")
    examine(snapshot(version="4.1.9"), "ring", "5.0.6")


@pytest.mark.parametrize(
    "path",
    [
        "system_auth/roles/nb-1-big-Data.db", "other/t/nb-1-big-Data.db", "KS/t/nb-1-big-Data.db",
        "ks/nb-1-big-Data.db", "ks/t/more/nb-1-big-Data.db", "nb-1-big-Data.db",
        "ks/t,type=x/nb-1-big-Data.db", "ks/t*/nb-1-big-Data.db", "ks/t/evil.jar", "ks/t/.bashrc",
        "ks/t/nb-1-big-Data.db.sh/x", "ks/\u0663/nb-1-big-Data.db",
    ],
)  # fmt: skip
def test_files_of_no_table_of_it_are_refused(path: str) -> None:
    said = refusal(snapshot(path))
    assert said.startswith("service ring: snapshot n1 was rejected, and nothing was recovered: ")
    assert f"node a has the file {path}, which belongs to no table it defines" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"service": "redis"}, "is from redis 5.0.2, which Cassandra 5.0.6 cannot read"),
        ({"version": "5.1"}, "is from cassandra 5.1, which Cassandra 5.0.6 cannot read"),
        ({"tokens": ()}, "node a has no token"),
        ({"tokens": (str(2**63),)}, f"node a has the token {2**63}, which is out of range"),
        ({"tokens": (str(-(2**63) - 1),)}, "which is out of range"),
        ({"rows": {"system_auth.roles": 1}}, "counts rows of system_auth.roles"),
        ({"rows": {"ks": 1}}, "counts rows of ks, a table it does not define"),
        ({"replication": {"ks": 2, "system_auth": 1}}, "its replication differs from that of the keyspaces"),
        ({"replication": {"ks": 3}}, "its replication differs from that of the keyspaces"),
        ({"definitions": ()}, "its replication differs from that of the keyspaces"),
        ({"definitions": (KEYSPACE.replace("2", "9" * 5000),)}, "its replication differs from that"),
    ],
)
def test_what_no_ring_of_ours_would_say_is_refused(changes: dict[str, Any], said: str) -> None:
    assert said in refusal(snapshot(**changes))


def test_all_faults_are_told_at_once_but_not_without_end() -> None:
    said = refusal(snapshot(*(f"x{number}/t/nb-1-big-Data.db" for number in range(9)), tokens=()))
    assert "node a has no token" in said
    assert "x4/t" in said
    assert "x5/t" not in said
    assert "and 4 more" in said


def test_it_is_refused_before_any_node_begins() -> None:
    contract.needed("cassandra")

    async def test(made: Any) -> None:
        service = made.service("cassandra", {}, snapshot=snapshot(tokens=()))
        with pytest.raises(HostError, match="node a has no token"):
            async with service.deploy():
                pytest.fail("it came up")
        assert service.servers == []

    contract.with_bench(test, hosts=1)


def test_statements_are_told_by_number_and_beginning() -> None:
    texts = [KEYSPACE, "GRANT ALL\x1b[2J ON ALL KEYSPACES TO mallory", "x" * 100]
    raise_for_faults(snapshot(), texts, ["", "", ""])
    with pytest.raises(HostError) as caught:
        raise_for_faults(snapshot(), texts, ["", "is not a definition", "is none"])
    assert caught.value.message == (
        "snapshot n1: statement 2 of its manifest ('GRANT ALL [2J ON ALL KEYSPACES TO mallory') is not a "
        f"definition; statement 3 of its manifest ('{'x' * 60}…') is none; nothing was recovered"
    )
    assert "place that only trusted people can write to" in caught.value.hint
