"""A second data centre on paper: which hosts, which tokens, where its data lie, what is refused."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.errors import HostError
from steelyard.services.cassandra import Cassandra
from steelyard.services.cassandra.config import CassandraNodeConfig, CassandraPorts, cassandra_yaml
from steelyard.services.cassandra.mirror import BEGIN, END, PREPARE, Mirror, check_proof, split_hosts
from steelyard.services.cassandra.options import CassandraOptions, MirrorOptions
from steelyard.services.cassandra.schema import (
    adapt_definitions,
    drop_datacenter,
    format_replication,
    parse_replications,
)
from steelyard.services.kit.capabilities import HasMirror
from steelyard.services.kit.context import ServiceContext
from steelyard.services.kit.cql_ring import even_tokens, more_tokens, separate_tokens
from steelyard.services.kit.ring_members import RingMembers

SHARED = {"directory": "/shared/mirror"}


class Named:
    """A host of this name."""

    memory, cores = 2**33, 2

    def __init__(self, number: int) -> None:
        self.name, self.address = f"h{number}", f"10.0.0.{number}"


def hosts(count: int) -> tuple[Any, ...]:
    return tuple(Named(number) for number in range(1, count + 1))


def mirror(count: int, **options: Any) -> Mirror:
    return Mirror(MirrorOptions.model_validate({**SHARED, "nodes": count, **options}), hosts(count))


def ring(count: int, options: dict[str, Any]) -> Cassandra:
    context = ServiceContext("ring", hosts(count), {}, Path("/nowhere"), (), "secret")
    return Cassandra(CassandraOptions.model_validate(options), context)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mirror": {"directory": "shared"}}, "is not an absolute directory path"),
        ({"mirror": {"directory": "/"}}, "is not an absolute directory path"),
        ({"mirror": {"directory": "/shared/../etc"}}, "is not an absolute directory path"),
        ({"mirror": {"nodes": 1}}, "directory"),
        ({"mirror": {**SHARED, "nodes": 0}}, "nodes"),
        ({"mirror": {**SHARED, "replication": 2}}, "replication 2 needs 2 nodes, not 1"),
        ({"mirror": {**SHARED, "datacenter": "a'b"}}, "datacenter"),
        ({"mirror": {**SHARED, "datacenter": "one"}, "datacenter": "one"}, "cannot be named 'one'"),
        ({"mirror": {**SHARED, "unknown": 1}}, "unknown"),
    ],
)
def test_what_cannot_be_a_mirror_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        CassandraOptions.model_validate(options)


def test_the_last_hosts_are_the_mirror() -> None:
    everywhere = hosts(4)
    chosen = MirrorOptions.model_validate({**SHARED, "nodes": 2})
    used, found = split_hosts(everywhere, chosen, "ring")
    assert found is not None
    assert [host.name for host in used] == ["h1", "h2"]
    assert [str(found.host_directory(host)) for host in found.hosts] == [
        "/shared/mirror/h3",
        "/shared/mirror/h4",
    ]
    assert found.arguments("fast", 2) == ("fast=2", "mirror=1", "10.0.0.3", "10.0.0.4")
    assert found.facts()["mirror"] == "h3:/shared/mirror/h3,h4:/shared/mirror/h4"
    assert split_hosts(everywhere, None, "ring") == (list(everywhere), None)
    with pytest.raises(HostError, match="service ring: the mirror takes 2 of 2 hosts and leaves none"):
        split_hosts(hosts(2), chosen, "ring")


def test_copies_are_counted_where_clients_are() -> None:
    options = {"mirror": {**SHARED, "nodes": 2}, "replication": 3}
    assert Cassandra.min_hosts(CassandraOptions.model_validate(options)) == 3
    assert Cassandra.min_hosts(CassandraOptions()) == 1
    service = ring(4, options)
    with pytest.raises(HostError, match="replication 3 needs 3 nodes, not 2"):
        asyncio.run(service.configure())


def test_it_shrinks_to_its_copies_and_its_mirror_and_grows_beside_it() -> None:
    service = ring(4, {"mirror": SHARED, "replication": 2})
    used, found = split_hosts(service.context.hosts, service.options.mirror, "ring")
    assert found is not None
    service.members, service.replication = RingMembers(used, found.hosts), 2
    with pytest.raises(HostError, match=r"cannot have 2 nodes: its replication is 2, and 1 are its mirror"):
        asyncio.run(service.shrink(2))
    with pytest.raises(HostError, match=r"cannot have 5 nodes, at most 4"):
        asyncio.run(service.grow(5))


def test_without_one_there_is_nothing_to_prove() -> None:
    service = ring(1, {})
    service.mirror = None
    assert isinstance(service, HasMirror)
    assert asyncio.run(service.prove_mirror()) == {}


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 4), st.integers(0, 6))
def test_no_token_is_in_the_ring_twice(nodes: int, mirrored: int, each: int, joining: int) -> None:
    owned = list(even_tokens(nodes, each))
    found = mirror(mirrored).tokens(owned, each)
    beside = [token for own in found.values() for token in own]
    for _ in range(joining):
        owned.append(separate_tokens(more_tokens(owned, each), beside))
    every = [token for own in (*owned, *found.values()) for token in own]
    assert len(set(every)) == len(every) == (nodes + joining + mirrored) * each
    assert all(-(2**63) <= token < 2**63 for token in every)


def test_a_token_that_somebody_has_moves_to_the_next() -> None:
    assert separate_tokens([3, 7], [3, 4]) == (5, 7)
    assert separate_tokens([2**63 - 1], [2**63 - 1]) == (-(2**63),), "the ring has no end"
    assert separate_tokens([1, 1], []) == (1, 2)


BOTH = "CREATE KEYSPACE a WITH replication = " + format_replication({"fast": 2, "mirror": 1}) + " AND x = 1;"
ONE = "CREATE KEYSPACE a WITH replication = " + format_replication({"fast": 2}) + " AND x = 1;"
SIMPLE = "CREATE KEYSPACE a WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '2'};"


def test_a_snapshot_is_of_one_data_centre_and_comes_back_into_one_or_two() -> None:
    assert drop_datacenter([BOTH, "CREATE TABLE a.t ()"], "mirror") == (ONE, "CREATE TABLE a.t ()")
    assert parse_replications(drop_datacenter([BOTH], "mirror")) == {"a": 2}
    assert adapt_definitions([ONE], "fast", 3, {"mirror": 1}) == (BOTH,)
    (found,) = adapt_definitions([SIMPLE], "fast", 3, {"mirror": 1})
    assert "'NetworkTopologyStrategy', 'fast': '2', 'mirror': '1'" in found
    assert adapt_definitions([SIMPLE], "fast", 3) == (SIMPLE,)


def test_a_node_keeps_its_data_where_it_is_told_and_roles_need_no_mirror() -> None:
    ports, conf, data = (
        CassandraPorts(9042, 7000, 7199),
        PurePosixPath("/s/conf"),
        PurePosixPath("/shared/h/data"),
    )
    node = CassandraNodeConfig("10.0.0.2", (7,), ("10.0.0.1",), ports, conf, data)
    found = json.loads(cassandra_yaml(node))
    assert found["data_file_directories"] == ["/shared/h/data/data"]
    assert found["commitlog_directory"] == "/shared/h/data/commitlog"
    assert "auth_write_consistency_level" not in found
    mirrored = json.loads(
        cassandra_yaml(CassandraNodeConfig("a", (7,), ("a",), ports, conf, data, mirrored=True))
    )
    assert mirrored["auth_write_consistency_level"] == "LOCAL_QUORUM"


def script(text: str, place: Path, facts: str = "{}", account: str = "") -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "PLACE": str(place), "FACTS": facts, "ACCOUNT": account}
    return subprocess.run(("sh", "-eu", "-c", text), env=env, check=False, capture_output=True, text=True)


def test_a_place_for_data_is_made_for_us_alone_and_set_aside_when_it_was_used(tmp_path: Path) -> None:
    place = tmp_path / "shared" / "h1"
    assert script(PREPARE, place, '{"first": 1}').returncode == 0
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert script(PREPARE, place, '{"second": 1}').returncode == 0, "it was not used yet"
    assert [path.name for path in place.parent.iterdir()] == ["h1"]
    assert script(BEGIN, place).returncode == 0
    (place / "data" / "rows").write_text("precious")
    refused = script(PREPARE, place)
    assert refused.returncode == 1
    assert f"{place} belongs to a running or aborted ring" in refused.stderr
    assert script(BEGIN, place).returncode != 0, "one ring at a time"
    assert script(END, place).returncode == 0
    assert script(PREPARE, place).returncode == 0
    (aside,) = (path for path in place.parent.iterdir() if path != place)
    assert (aside / "data" / "rows").read_text() == "precious"
    assert sorted(path.name for path in place.iterdir()) == ["mirror.json"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's nodes run as somebody else")
def test_while_a_ring_lives_the_data_are_its_node_s_and_root_s_afterwards(
    enterable: Path, tmp_path: Path
) -> None:
    place, account = enterable / "shared" / "h1", "2001000001"
    assert script(PREPARE, place, account=account).returncode == 0
    assert script(BEGIN, place, account=account).returncode == 0
    assert (place / "data").stat().st_uid == int(account)
    assert [path.stat().st_uid for path in (place, place / "in-use", place / "mirror.json")] == [0, 0, 0]
    (place / "data" / "link").symlink_to(tmp_path / "of-nobody")
    os.lchown(place / "data" / "link", int(account), int(account))
    assert script(END, place, account=account).returncode == 0
    assert {path.lstat().st_uid for path in (place, *place.rglob("*"))} == {0}
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    closed = tmp_path / "shared" / "h1"
    assert script(PREPARE, closed, account=account).returncode == 0
    refused = script(BEGIN, closed, account=account)
    assert f"the node's user {account} cannot access {closed}" in refused.stderr
    assert sorted(path.name for path in closed.iterdir()) == ["mirror.json"]


def test_a_place_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    full, link, file = (tmp_path / name for name in ("full", "link", "file"))
    full.mkdir()
    (full / "thesis.txt").write_text("mine")
    link.symlink_to(tmp_path)
    file.touch()
    for place, said in ((full, "contains files"), (link, "is not a dir"), (file, "is not a dir")):
        refused = script(PREPARE, place)
        assert refused.returncode == 1
        assert f"{place} {said}" in refused.stderr
    assert [path.name for path in full.iterdir()] == ["thesis.txt"]


FOUND = {
    "differences": {"good": "", "bad": "Preview complete\n bad.t: 127.0.0.1 -> 127.0.0.3: 1 ranges"},
    "extended": ["good"],
    "mended": [],
    "backlog": {},
    "seconds": {"wait": 3.5, "compare": 1.0},
}


def test_a_verdict_names_what_differs() -> None:
    with pytest.raises(HostError, match=r"(?s)keyspace bad: Preview.*127.0.0.3") as caught:
        check_proof("ring", FOUND)
    assert "keyspace good" not in caught.value.message
    facts = check_proof("ring", {**FOUND, "differences": {"good": ""}})
    assert facts["in_sync"] is True
    assert (facts["waited"], facts["keyspaces"], facts["extended"]) == (3.5, ["good"], ["good"])
