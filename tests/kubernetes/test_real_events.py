"""Events that a real cluster takes part in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from patience import PATIENCE, comes, until
from steelyard.errors import HostDown, HostError
from steelyard.hosts.base import Streams
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.provision.kubernetes import enforcement
from steelyard.provision.kubernetes.hosts import lease_pods
from steelyard.provision.kubernetes.order import PodGroup, PodOrder, PodUse
from steelyard.provision.kubernetes.pod_host import PodHost

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("kubernetes")]


def tell(
    real: Any, folder: Path, story: Callable[[Sequence[PodHost]], Awaitable[None]], role: str, *needs: str
) -> None:
    """Two pods, by the least Role and one more, for events with these needs."""

    async def whole() -> None:
        use = PodUse(kubeconfig=str(real.kubeconfig), within=PATIENCE, needs=frozenset(needs))
        order = PodOrder((PodGroup("db", 2, "tools:1"),))
        async with lease_pods(order, use, Token.of("test-run"), folder / "log") as hosts:
            await story(hosts)

    with pytest.MonkeyPatch.context() as patch, real.granted(role):
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        asyncio.run(whole())


def test_a_pod_that_is_killed_is_another_with_an_empty_volume(real: Any, tmp_path: Path) -> None:
    """Three times, so that a back-off of the Job, ten seconds and twice as many each time, would show."""
    streams = Streams(tmp_path / "out", tmp_path / "err")

    async def story(hosts: Sequence[PodHost]) -> None:
        host, other = hosts
        place = host.scratch_base()
        assert place is not None
        scratch = place / "steelyard-0123456789abcdef"
        await host.make_scratch(scratch)
        await other.capture(("touch", f"{place}/theirs"))
        for _ in range(3):
            await host.capture(("touch", f"{scratch}/data"))
            former, address = host.facts["pod"], host.address
            process = await host.start(Command(("sleep", "300")), streams, cwd=scratch)
            await host.kill_host()
            with pytest.raises(HostDown):
                await process.wait()
            await host.revive()
            assert host.facts["pod"] != former
            assert host.address != address
            assert await host.capture(("ls", str(scratch))) == ""
            await host.renew()
        (job,) = real.ask("GET", "/apis/batch/v1/namespaces/bench/jobs")["items"]
        assert not job["status"].get("failed")
        assert await other.capture(("ls", f"{place}/theirs")) == f"{place}/theirs\n"

    tell(real, tmp_path, story, "kill-hosts", "kill-hosts")
    assert not real.labelled()


def test_who_may_not_delete_pods_is_told_before_there_are_any(real: Any, tmp_path: Path) -> None:
    use = PodUse(kubeconfig=str(real.kubeconfig), needs=frozenset({"kill-hosts"}))

    async def whole() -> None:
        async with lease_pods(
            PodOrder((PodGroup("db", 1, "tools:1"),)), use, Token.of("r"), tmp_path / "log"
        ):
            raise AssertionError

    with pytest.raises(HostError, match="delete pods or patch pods in namespace bench"):
        asyncio.run(whole())


def test_a_network_that_ignores_policies_is_refused_before_the_first_trial(real: Any, tmp_path: Path) -> None:
    """As the bridge of this cluster does: the API server takes the policy, and everything passes."""

    async def story(_: Sequence[PodHost]) -> None:
        raise AssertionError("the hosts are had")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(enforcement, "PATIENCE", 5.0)
        with pytest.raises(
            HostError, match=r"does not enforce a NetworkPolicy: .* an open and a new connection"
        ):
            tell(real, tmp_path, story, "network-policies", "cut-network")
    assert until(lambda: not real.labelled())


def test_a_policy_is_taken_changed_and_removed(real: Any, tmp_path: Path) -> None:
    root = "/apis/networking.k8s.io/v1/namespaces/bench/networkpolicies"

    async def story(hosts: Sequence[PodHost]) -> None:
        host, other = hosts
        await host.block_addresses([other.address])
        (policy,) = real.ask("GET", root)["items"]
        assert policy["spec"]["ingress"][0]["from"]
        await host.cut()
        (policy,) = real.ask("GET", root)["items"]
        assert not policy["spec"].get("ingress")
        assert not policy["spec"].get("egress")
        await host.heal()
        (policy,) = real.ask("GET", root)["items"]
        assert policy["spec"]["egress"][0]["to"]
        await host.unblock_addresses([other.address])
        assert not real.ask("GET", root)["items"]
        await host.cut()  # and nobody heals it

    tell(real, tmp_path, story, "network-policies")
    assert until(lambda: not real.labelled())


def test_a_node_is_drained_of_our_pods_and_uncordoned(real: Any, tmp_path: Path) -> None:
    """The only node: the pods wait for room until it is uncordoned."""

    async def story(hosts: Sequence[PodHost]) -> None:
        former = {host.facts["pod"] for host in hosts}
        node = await hosts[0].drain_node()
        about = real.ask("GET", f"/api/v1/nodes/{node}")
        assert about["spec"]["unschedulable"] is True
        assert about["metadata"]["annotations"]["steelyard/cordoned-by"] == "test-run"
        with pytest.raises(HostDown, match="an event evicted its pod"):
            await hosts[1].read(["/proc/stat"])
        assert await comes(lambda: [pod["status"]["phase"] for pod in real.pods()] == ["Pending"] * 2)
        await hosts[0].uncordon_node()
        assert not former & {host.facts["pod"] for host in hosts}
        for host in hosts:
            assert await host.capture(("echo", "here")) == "here\n"
        (job,) = real.ask("GET", "/apis/batch/v1/namespaces/bench/jobs")["items"]
        assert not job["status"].get("failed")
        await hosts[0].drain_node()  # and nobody uncordons it

    with real.granted("evict-pods"):
        tell(real, tmp_path, story, "drain-nodes", "drain-nodes")
    assert not real.labelled()
    (node,) = real.ask("GET", "/api/v1/nodes")["items"]
    assert "unschedulable" not in node["spec"]


def test_a_node_with_pods_of_others_is_not_drained(real: Any, tmp_path: Path) -> None:
    pods = "/api/v1/namespaces/default/pods"
    container = {"name": "web", "image": "busybox:1", "command": ["sleep", "600"]}
    spec = {
        "containers": [container],
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
    }
    real.ask("POST", pods, {"metadata": {"name": "web"}, "spec": spec})

    async def story(hosts: Sequence[PodHost]) -> None:
        assert await comes(lambda: real.ask("GET", f"{pods}/web")["spec"].get("nodeName"))
        with pytest.raises(HostError, match="pods of others run there: default/web"):
            await hosts[0].drain_node()

    try:
        with real.granted("evict-pods"):
            tell(real, tmp_path, story, "drain-nodes", "drain-nodes")
    finally:
        real.ask("DELETE", f"{pods}/web?gracePeriodSeconds=0")
    (node,) = real.ask("GET", "/api/v1/nodes")["items"]
    assert "unschedulable" not in node["spec"]
