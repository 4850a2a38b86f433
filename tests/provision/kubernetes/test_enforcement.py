"""Whether policies do anything is seen before anything hangs on it; what closes a network opens it again."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kube_cluster import KubeCluster
from kube_network import may_talk
from steelyard.errors import HostError
from steelyard.hosts.token import Token
from steelyard.provision.kubernetes import enforcement
from steelyard.provision.kubernetes.hosts import lease_pods
from steelyard.provision.kubernetes.order import LABEL, PodGroup, PodOrder, PodUse
from steelyard.provision.kubernetes.pod_host import PodHost

Story = Callable[[Sequence[PodHost]], Awaitable[None]]
Make = Callable[..., PodOrder]
MakeUse = Callable[..., PodUse]
NEEDS = frozenset({"cut-network", "part-network"})


def tell(order: PodOrder, use: PodUse, log: Path, story: Story) -> None:
    async def whole() -> None:
        async with lease_pods(order, use, Token.of("test-run"), log) as hosts:
            await story(hosts)

    asyncio.run(whole())


async def never(_: Sequence[PodHost]) -> None:
    raise AssertionError("the hosts are had")


def test_a_network_that_enforces_policies_is_used(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    asked: list[int] = []

    async def story(_: Sequence[PodHost]) -> None:
        asked.append(len(cluster.policies))

    tell(order(), use(needs=NEEDS), tmp_path / "log", story)
    made = [each.split()[0] for each in cluster.requests if "networkpolicies" in each]
    assert (asked, made) == ([0], ["POST", "DELETE"])


@pytest.mark.parametrize(
    ("network", "says"),
    [
        ("ignores policies", "db-0 has an open and a new connection that passes"),
        ("lets open connections pass", "db-0 has an open connection that passes"),
    ],
)
def test_one_that_does_not_is_told_before_anything_is_measured(
    cluster: KubeCluster,
    order: Make,
    use: MakeUse,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    network: Any,
    says: str,
) -> None:
    monkeypatch.setattr(enforcement, "PATIENCE", 3.0)
    cluster.behaviour.network = network
    with pytest.raises(HostError, match=f"network does not enforce a NetworkPolicy: .*{says}") as told:
        tell(order(), use(needs=NEEDS), tmp_path / "log", never)
    assert "network plug-in" in told.value.hint
    assert not cluster.labelled(LABEL)


@pytest.mark.parametrize(
    ("groups", "denied", "says"),
    [
        ((PodGroup("db", 1, "tools:1"),), set(), "need two pods"),
        ((PodGroup("db", 2, "tools:1"),), {("patch", "networkpolicies")}, "may not: patch networkpolicies"),
    ],
)
def test_what_it_takes_to_try_is_told(
    cluster: KubeCluster,
    order: Make,
    use: MakeUse,
    tmp_path: Path,
    groups: Any,
    denied: set[tuple[str, str]],
    says: str,
) -> None:
    cluster.behaviour.denied = denied
    with pytest.raises(HostError, match=says):
        tell(order(groups=groups), use(needs=NEEDS), tmp_path / "log", never)


def test_cut_and_parted_at_once(cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path) -> None:
    """Each host has one policy, which says all: policies only ever allow, and one would undo the other."""

    def reach() -> set[tuple[str, str]]:
        """Who reaches whom."""
        policies = list(cluster.policies.values())
        pods = {host.name: cluster.pods[host.facts["pod"]].document for host in all_hosts}
        return {(a, b) for a in pods for b in pods if a < b and may_talk(pods[a], pods[b], policies)}

    all_hosts: list[PodHost] = []

    async def story(hosts: Sequence[PodHost]) -> None:
        db, one, other = hosts
        all_hosts.extend(hosts)
        everybody = {("db-0", "load-0"), ("db-0", "load-1"), ("load-0", "load-1")}
        assert reach() == everybody
        await asyncio.gather(one.block_addresses([db.address]), db.block_addresses([one.address]))
        assert reach() == everybody - {("db-0", "load-0")}
        await db.block_addresses([other.address])
        await other.block_addresses([db.address])
        assert reach() == {("load-0", "load-1")}
        await one.cut()
        assert reach() == set()
        await one.heal()
        assert reach() == {("load-0", "load-1")}
        for host in hosts:
            await host.unblock_addresses([each.address for each in hosts])
            await host.heal()
        assert reach() == everybody
        assert not cluster.policies
        with pytest.raises(HostError, match=r"192\.0\.2\.1: not the address of a pod"):
            await db.block_addresses(["192.0.2.1"])

    tell(order(), use(), tmp_path / "log", story)


def test_what_nobody_heals_goes_with_the_job(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    async def story(hosts: Sequence[PodHost]) -> None:
        await hosts[0].cut()
        assert len(cluster.policies) == 1

    tell(order(), use(), tmp_path / "log", story)
    assert not cluster.labelled(LABEL)


@pytest.mark.parametrize("program", [(sys.executable, "-c", "talk.py"), ("perl", "-e", "talk.pl")])
def test_the_program_that_tries_connections(program: tuple[str, str, str]) -> None:
    """In both languages: it sees that an open connection and a new one pass, and that neither does."""
    name, option, file = program
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    words = (name, option, Path(enforcement.__file__).with_name(file).read_text())
    with contextlib.ExitStack() as scope:
        start = lambda *more: scope.enter_context(started(*words, *more))  # noqa: E731
        door = start("listen", "127.0.0.1")
        attempt = start("try", "127.0.0.1", door.stdout.readline().strip())
        assert attempt.stdout.readline() == "11\n"
        door.kill()
        door.wait()
        assert "00\n" in iter(attempt.stdout.readline, "")


@contextlib.contextmanager
def started(*words: str) -> Any:
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()
