"""The parts of a ring of Cassandra on paper: what its nodes are told, and what its mirror is asked."""

from __future__ import annotations

import asyncio
import json
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.errors import HostError
from steelyard.services.cassandra.config import CassandraPorts
from steelyard.services.cassandra.home import CassandraHome
from steelyard.services.cassandra.mirror import split_hosts
from steelyard.services.cassandra.mirror_control import MirrorControl
from steelyard.services.cassandra.nodes import CassandraNodes, choose_first_tokens, describe_node
from steelyard.services.cassandra.options import CassandraOptions
from steelyard.services.cassandra.plan import RingPlan
from steelyard.services.kit.capabilities import NodeState
from steelyard.services.kit.context import HostShare
from steelyard.services.kit.data import DataDirectory
from steelyard.services.kit.ring_members import RingMembers

MIRROR = {"mirror": {"directory": "/shared", "datacenter": "slow"}, "datacenter": "fast"}
GIB = 2**30


def ring(nodes: int, **options: Any) -> RingPlan:
    chosen = CassandraOptions.model_validate(options)
    there: Any = tuple(SimpleNamespace(name=f"h{n}", address=f"10.0.0.{n}") for n in range(1, nodes + 1))
    used, mirror = split_hosts(there, chosen.mirror, "ring")
    home = CassandraHome("/jdk/java", PurePosixPath("/lib"), "5.0.4", "/lib/ours.jar")
    plan = RingPlan(
        "ring", chosen, "ring-1", False, 1, CassandraPorts(9042, 7000, 7199),
        {host.name: home for host in there},
        {host.name: DataDirectory(PurePosixPath("/s/data"), "2000001") for host in there},
        RingMembers(used, mirror.hosts if mirror else ()), mirror,
    )  # fmt: skip
    plan.members.tokens.update(choose_first_tokens(plan, None))
    return plan


def nodes_of(plan: RingPlan) -> CassandraNodes:
    return CassandraNodes(plan, lambda _: PurePosixPath("/s/conf"), lambda _: HostShare(2, GIB), "secret")


def test_a_node_of_a_mirror_is_told_of_its_own_data_centre_and_place() -> None:
    plan = ring(3, **MIRROR)
    used, _, mirrored = plan.members.hosts
    one, other = (nodes_of(plan).files(host) for host in (used, mirrored))
    assert one["cassandra-rackdc.properties"].startswith("dc=fast\n")
    assert other["cassandra-rackdc.properties"].startswith("dc=slow\n")
    assert json.loads(one["cassandra.yaml"])["data_file_directories"] == ["/s/data/data"]
    assert json.loads(other["cassandra.yaml"])["data_file_directories"] == ["/shared/h3/data/data"]
    assert "reset_bootstrap_progress" not in one["java.arguments"]
    assert "reset_bootstrap_progress" in other["java.arguments"]
    assert "system_auth.default_rf=3" in one["java.arguments"], "roles are on all nodes of both"
    assert nodes_of(plan).schema()["auth"] == "{'class': 'NetworkTopologyStrategy', 'fast': '2', 'slow': '1'}"


def test_a_node_that_joins_knows_the_tables_first_and_is_heard_of() -> None:
    plan = ring(2)
    first, joins = (nodes_of(plan).files(plan.members.ring[0], bootstrap=asked) for asked in (False, True))
    assert "SchemaFirst" in joins["java.arguments"]
    assert "SchemaFirst" not in first["java.arguments"]
    assert "ring_delay_ms=2000" in first["java.arguments"]
    assert "ring_delay_ms=5000" in joins["java.arguments"]
    assert json.loads(joins["cassandra.yaml"])["auto_bootstrap"] is True


def test_a_node_s_secrets_are_in_its_files_alone() -> None:
    nodes = nodes_of(ring(1))
    host = nodes.plan.members.ring[0]
    assert nodes.files(host)["jmx.password"] == "secret\n"
    assert "secret" not in repr(nodes)
    assert nodes.command(host).argv[-2:] == ("/jdk/java", "@/s/conf/java.arguments")
    assert nodes.command(host).argv[0] == "setpriv", "no node is root"


@pytest.mark.parametrize(
    ("exit_", "frozen", "said", "state"),
    [
        (None, False, {"mode": "NORMAL", "meters": {"load_bytes": 7.0}}, "up"),
        (None, False, {"mode": "JOINING", "meters": {}}, "joining"),
        (None, False, None, "down"),
        (None, True, {"mode": "NORMAL", "meters": {}}, "paused"),
        ("killed", True, {"mode": "NORMAL", "meters": {}}, "down"),
    ],
)
def test_a_node_s_last_words_do_not_count(exit_: Any, frozen: bool, said: Any, state: str) -> None:
    host: Any = SimpleNamespace(name="h1", address="10.0.0.1")
    server: Any = SimpleNamespace(host=host, exit=exit_, frozen=frozen)
    found = describe_node(host, ("5",), [server], said)
    assert found == NodeState("h1", "10.0.0.1", state, {"up": 7, "joining": 0}.get(state), ("5",))


class Watch:
    """Notes what it is asked for, and refuses when it is told to."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.refusal = ""

    async def run_mirror_action(self, action: str, words: tuple[str, ...], seconds: float) -> dict[str, Any]:
        self.asked.append((action, words, seconds))
        if self.refusal:
            raise HostError(self.refusal)
        return {"seconds": {"extend": 1.0, "stream": 2.5}}

    async def operate(self, operation: str, address: str, seconds: float) -> None:
        self.asked.append((operation, address))


def control(plan: RingPlan, watch: Any, states: dict[str, str]) -> MirrorControl:
    async def list_nodes() -> tuple[NodeState, ...]:
        return tuple(NodeState(h.name, h.address, states.get(h.name, "up")) for h in plan.members.hosts)

    async def run_script(host: Any, label: str, script: str, **env: str) -> str:
        watch.asked.append((host.name, label, env["PLACE"], env["ACCOUNT"]))
        raise HostError("the file system is gone")

    assert plan.mirror is not None
    return MirrorControl(plan.mirror, plan, watch, run_script, list_nodes)


def test_a_mirror_is_asked_only_while_all_nodes_are_there() -> None:
    plan, watch = ring(3, **MIRROR), Watch()
    with pytest.raises(HostError, match=r"service ring: the mirror needs every node; missing: h2 is down$"):
        asyncio.run(control(plan, watch, {"h2": "down"}).extend(9.0))
    assert not watch.asked
    assert asyncio.run(control(plan, watch, {}).fill(9.0)) == {"mirror": 3.5}
    assert watch.asked == [("fill", ("fast=2", "slow=1", "10.0.0.3"), 9.0)]
    watch.refusal = "a node is full"
    with pytest.raises(HostError, match="service ring: the mirror: a node is full"):
        asyncio.run(control(plan, watch, {}).extend(9.0))


def test_of_the_nodes_that_live_those_of_the_mirror_save_what_they_have() -> None:
    plan, watch = ring(3, **MIRROR), Watch()
    mirror = control(plan, watch, {})
    asyncio.run(mirror.save(plan.members.ring))
    assert not watch.asked
    asyncio.run(mirror.save(plan.members.hosts))
    assert watch.asked == [("drain", "10.0.0.3")]
    asyncio.run(mirror.leave())
    assert watch.asked[1:] == [("h3", "mirror", "/shared/h3", "2000001")], "and nothing holds up the end"
