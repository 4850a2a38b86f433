"""Nodes are drained of the run's own pods, and take pods again whatever happens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kube_cluster import NODE, KubeCluster
from patience import comes
from steelyard.errors import HostDown, HostError
from steelyard.hosts.base import Streams
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.provision.kubernetes.clean import clean_pods
from steelyard.provision.kubernetes.hosts import lease_pods
from steelyard.provision.kubernetes.nodes import CORDONED_BY, list_others
from steelyard.provision.kubernetes.order import LABEL, PodGroup, PodOrder, PodUse
from steelyard.provision.kubernetes.pod_host import PodHost

Story = Callable[[Sequence[PodHost]], Awaitable[None]]
Make = Callable[..., PodOrder]
MakeUse = Callable[..., PodUse]
NEEDS = frozenset({"drain-nodes"})
GROUPS = (PodGroup("db", 2, "tools:1"),)


def tell(order: PodOrder, use: PodUse, log: Path, story: Story) -> None:
    async def whole() -> None:
        async with lease_pods(order, use, Token.of("test-run"), log) as hosts:
            await story(hosts)

    asyncio.run(whole())


def pod(name: str, lease: str | None = None, phase: str = "Running", **metadata: Any) -> dict[str, Any]:
    labels = {LABEL: lease} if lease else {}
    about = {"name": name, "namespace": "theirs", "labels": labels, **metadata}
    return {"metadata": about, "status": {"phase": phase}, "spec": {"nodeName": NODE}}


def test_all_pods_of_the_run_on_the_node_go_and_come_back(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    streams = Streams(tmp_path / "out", tmp_path / "err")

    async def story(hosts: Sequence[PodHost]) -> None:
        one, other = hosts
        assert one.list_node_hosts() == (one, other)
        place, former = other.scratch_base(), {host.facts["pod"] for host in hosts}
        assert place is not None
        process = await other.start(Command(("sleep", "300")), streams, cwd=place)
        assert await one.drain_node() == NODE
        assert await one.drain_node() == NODE  # it is drained already
        assert cluster.node["spec"] == {"unschedulable": True}
        assert cluster.node["metadata"]["annotations"] == {CORDONED_BY: "test-run"}
        with pytest.raises(HostDown, match="host db-1 is down: an event evicted its pod"):
            await process.wait()
        assert await comes(lambda: len(cluster.pods) == 2 and not former & cluster.pods.keys())
        assert not any(each.document["spec"].get("nodeName") for each in cluster.pods.values())
        await one.uncordon_node()
        await one.uncordon_node()
        assert cluster.node["spec"] == {}
        assert cluster.node["metadata"] == {"name": NODE, "labels": {}, "annotations": {}}
        assert not former & {host.facts["pod"] for host in hosts}
        assert await other.capture(("echo", "here")) == "here\n"
        (job,) = cluster.jobs.values()
        assert "failed" not in job

    tell(order(groups=GROUPS), use(needs=NEEDS), tmp_path / "log", story)


def test_pods_come_back_on_another_node_where_there_is_one(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    async def story(hosts: Sequence[PodHost]) -> None:
        cluster.add_node("node-2")
        await hosts[0].drain_node()
        await asyncio.gather(*(host.revive() for host in hosts))
        assert [host.facts["node"] for host in hosts] == ["node-2"] * 2
        assert cluster.node["spec"] == {"unschedulable": True}
        await hosts[0].uncordon_node()
        assert cluster.node["spec"] == {}

    tell(order(groups=GROUPS), use(needs=NEEDS), tmp_path / "log", story)


def test_a_node_with_pods_of_others_is_refused(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    async def story(hosts: Sequence[PodHost]) -> None:
        cluster.behaviour.strangers = [pod(f"web-{number}") for number in range(6)]
        with pytest.raises(HostError, match=r"pods of others run there: theirs/web-0, .* and 2 more"):
            await hosts[0].drain_node()
        cluster.behaviour.strangers = []
        cluster.node["spec"] = {"unschedulable": True}
        with pytest.raises(HostError, match="somebody else has cordoned it"):
            await hosts[0].drain_node()
        await hosts[0].uncordon_node()
        assert cluster.node["spec"] == {"unschedulable": True}

    tell(order(groups=GROUPS), use(needs=NEEDS), tmp_path / "log", story)
    assert len([each for each in cluster.requests if each.startswith("PATCH")]) == 0


def test_whose_pods_a_drain_would_evict() -> None:
    daemon = pod("log", ownerReferences=[{"kind": "DaemonSet"}])
    mirror = pod("etcd", annotations={"kubernetes.io/config.mirror": "x"})
    pods = [pod("ours", "1234"), daemon, mirror, pod("done", phase="Succeeded"), pod("web"), pod("old", "99")]
    assert list_others(pods, "1234") == ["theirs/web", "theirs/old"]


def test_what_nobody_uncordons_is_uncordoned_at_the_end(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    async def story(hosts: Sequence[PodHost]) -> None:
        await hosts[0].drain_node()

    tell(order(groups=GROUPS), use(needs=NEEDS), tmp_path / "log", story)
    assert cluster.node["spec"] == {}
    assert not cluster.labelled(LABEL)


def test_clean_uncordons_what_a_killed_controller_left(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    """The API server is away at the end, which for the cluster is as if the controller had been killed."""

    async def story(hosts: Sequence[PodHost]) -> None:
        await hosts[0].drain_node()
        cluster.behaviour.is_away = True

    with pytest.raises(HostError, match="could not remove its pods"):
        tell(order(groups=GROUPS), use(needs=NEEDS), tmp_path / "log", story)
    cluster.behaviour.is_away = False
    assert cluster.node["spec"] == {"unschedulable": True}
    removed, problems = clean_pods(lambda _: True)
    assert (removed["test-run"][0], problems) == (f"cordon of node {NODE}", [])
    assert cluster.node["spec"] == {}


def test_who_may_not_drain_is_told_and_others_do_not_ask_for_nodes(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    async def story(_: Sequence[PodHost]) -> None:
        """Only be there."""

    cluster.behaviour.denied = {("patch", "nodes"), ("list", "nodes"), ("create", "pods/eviction")}
    with pytest.raises(HostError, match="may not: list nodes in all namespaces or patch nodes in all"):
        tell(order(groups=GROUPS), use(needs=NEEDS), tmp_path / "log", story)
    tell(order(groups=GROUPS), use(), tmp_path / "log", story)
    assert "GET /api/v1/nodes" not in json.dumps(cluster.requests).replace("/nodes/", "/")
