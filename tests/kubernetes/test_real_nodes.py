"""Two nodes of a real cluster: pods apart, and pods that come back on the other node."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from patience import PATIENCE, comes
from steelyard.errors import HostDown, HostError
from steelyard.hosts.base import Streams
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.provision.kubernetes.hosts import lease_pods
from steelyard.provision.kubernetes.order import PodGroup, PodOrder, PodUse
from steelyard.provision.kubernetes.pod_host import PodHost

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("kubernetes")]
NODES = {"localhost", "node-2"}


@pytest.fixture(scope="module")
def two_nodes(real: Any) -> Iterator[Any]:
    with real.with_second_node():
        yield real


def tell(
    real: Any,
    folder: Path,
    story: Callable[[Sequence[PodHost]], Awaitable[None]],
    *needs: str,
    pods: int = 2,
    apart: bool = True,
    within: float = PATIENCE,
) -> None:
    """Pods, one a node or not, for events with these needs."""

    async def whole() -> None:
        use = PodUse(kubeconfig=str(real.kubeconfig), within=within, needs=frozenset(needs))
        order = PodOrder((PodGroup("db", pods, "tools:1"),), one_per_node=apart)
        async with lease_pods(order, use, Token.of("test-run"), folder / "log") as hosts:
            await story(hosts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        asyncio.run(whole())


def test_spread_puts_two_hosts_on_two_nodes_that_reach_each_other(two_nodes: Any, tmp_path: Path) -> None:
    async def story(hosts: Sequence[PodHost]) -> None:
        first, second = hosts
        assert {host.facts["node"] for host in hosts} == NODES
        server = Command(("redis-server", "--port", "7000", "--protected-mode", "no", "--save", ""))
        place = first.scratch_base()
        await first.start(server, Streams(tmp_path / "out", tmp_path / "err"), cwd=place)
        ask = f"redis-cli -h {first.address} -p 7000 ping 2>/dev/null"
        answers = f"until {ask} | grep -q PONG; do sleep 0.2; done"
        async with asyncio.timeout(PATIENCE):
            assert await second.capture(("sh", "-c", answers), seconds=PATIENCE) == ""

    tell(two_nodes, tmp_path, story)
    assert not two_nodes.labelled()


def test_three_hosts_apart_have_no_room_on_two_nodes(two_nodes: Any, tmp_path: Path) -> None:
    async def story(_: Sequence[PodHost]) -> None:
        raise AssertionError("the hosts are had")

    with pytest.raises(HostError, match=r"(?s)no node has room for it .*anti-affinity"):
        tell(two_nodes, tmp_path, story, pods=3, within=10)
    assert not two_nodes.labelled()


def test_what_a_drain_under_load_evicts_comes_back_on_the_other_node(two_nodes: Any, tmp_path: Path) -> None:
    streams = Streams(tmp_path / "out", tmp_path / "err")

    async def story(hosts: Sequence[PodHost]) -> None:
        (host,) = hosts
        former, address = host.facts["node"], host.address
        spin = Command(("sh", "-c", "while :; do date; done"))
        load = await host.start(spin, streams, cwd=host.scratch_base())
        assert await comes(lambda: (tmp_path / "out").stat().st_size > 0)
        assert await host.drain_node() == former
        with pytest.raises(HostDown, match="an event evicted its pod"):
            await load.wait()
        (other,) = NODES - {former}
        assert await comes(lambda: [pod["spec"].get("nodeName") for pod in two_nodes.pods()] == [other])
        await host.revive()
        assert (host.facts["node"], host.address == address) == (other, False)
        assert await host.capture(("echo", "here")) == "here\n"
        await host.uncordon_node()
        assert host.facts["node"] == other, "nothing moves it back"

    with two_nodes.granted("drain-nodes"), two_nodes.granted("evict-pods"):
        tell(two_nodes, tmp_path, story, "drain-nodes", pods=1, apart=False)
    assert not two_nodes.labelled()
    assert all("unschedulable" not in node["spec"] for node in two_nodes.ask("GET", "/api/v1/nodes")["items"])
