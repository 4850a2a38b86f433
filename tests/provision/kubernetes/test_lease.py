"""Pods as hosts: in the order of the roles, renewed while they are used, gone afterwards whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from kube_cluster import KubeCluster
from patience import comes
from steelyard.errors import HostDown, HostError, HostLost
from steelyard.hosts.base import Streams
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.provision.kubernetes.clean import clean_pods
from steelyard.provision.kubernetes.early import ADDRESS
from steelyard.provision.kubernetes.hosts import lease_pods
from steelyard.provision.kubernetes.order import LABEL, PodGroup, PodOrder, PodUse, ScratchVolume
from steelyard.provision.kubernetes.pod_host import PodHost
from steelyard.provision.lease_files import leases_folder

Story = Callable[[Sequence[PodHost]], Awaitable[None]]
Make = Callable[..., PodOrder]
MakeUse = Callable[..., PodUse]


def tell(order: PodOrder, use: PodUse, log: Path, story: Story) -> None:
    async def whole() -> None:
        async with lease_pods(order, use, Token.of("test-run"), log) as hosts:
            await story(hosts)

    asyncio.run(whole())


async def nothing(_: Sequence[PodHost]) -> None:
    """Only be there."""


def test_hosts_in_the_order_of_the_roles(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    async def story(hosts: Sequence[PodHost]) -> None:
        assert [host.name for host in hosts] == ["db-0", "load-0", "load-1"]
        assert len(cluster.labelled(LABEL)) == 2 + 3
        assert [path.suffix for path in leases_folder().iterdir()] == [".kubernetes"]
        facts = await hosts[0].gather_facts()
        assert (facts["node"], facts["scratch"], facts["role"]) == ("node-1", "emptyDir", "db")
        assert facts["pod"].startswith("steelyard-")
        assert facts["qos"] == "Guaranteed"
        assert str(hosts[0].scratch_base()) == f"{tmp_path}/volume"

    tell(order(), use(), tmp_path / "log", story)
    assert not cluster.labelled(LABEL)
    assert not list(leases_folder().iterdir())


def test_pods_are_reached_before_their_kubelet_tells_that_they_run(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    cluster.behaviour.tells_after = 3600.0

    async def story(hosts: Sequence[PodHost]) -> None:
        for host in hosts:
            assert await host.capture(("echo", "here")) == "here\n"
            assert host.address == cluster.pods[host.facts["pod"]].environment["STAND_IN_ADDRESS"]
        assert phases(cluster) == {"Pending"}

    tell(order(), use(within=60.0), tmp_path / "log", story)


def test_pods_that_do_not_tell_their_address_are_waited_for(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    """A user's template has hidden the variable."""
    cluster.behaviour.tells_after = 0.5
    variable = {"name": ADDRESS["name"], "value": "?", "valueFrom": None}
    hidden = {"spec": {"containers": [{"name": "main", "env": [variable]}]}}
    groups = (PodGroup("db", 1, "tools:1", {}, (hidden,)),)

    async def story(hosts: Sequence[PodHost]) -> None:
        assert phases(cluster) == {"Running"}
        assert hosts[0].address.startswith("127.0.")

    tell(order(groups=groups), use(), tmp_path / "log", story)


def test_a_pod_has_the_cores_and_the_memory_of_its_requests(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    groups = (PodGroup("db", 1, "tools:1", {"cpu": "500m", "memory": "64Mi"}),)

    async def story(hosts: Sequence[PodHost]) -> None:
        assert (hosts[0].cores, hosts[0].memory) == (1, 64 << 20)

    tell(order(groups=groups), use(), tmp_path / "log", story)


def test_hosts_renew_their_lease(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewed = asyncio.Queue[str]()

    async def renew(host: PodHost) -> None:
        renewed.put_nowait(host.name)

    async def story(hosts: Sequence[PodHost]) -> None:
        names = [await renewed.get() for _ in range(6)]
        assert set(names) == {host.name for host in hosts}

    monkeypatch.setattr(PodHost, "renew", renew)
    tell(order(lease=1.0), use(), tmp_path / "log", story)


def test_a_lease_that_nobody_renews_any_more_ends(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    """The renewal replaces the hour to begin with by ten seconds; then the pods end well."""

    async def story(hosts: Sequence[PodHost]) -> None:
        (host,) = hosts
        assert host._renewing is not None
        host._renewing.cancel()
        await host.renew()
        assert await comes(lambda: phases(cluster) == {"Succeeded"})

    groups = (PodGroup("db", 1, "tools:1"),)
    tell(order(groups=groups, lease=10.0, begin_within=3600.0), use(), tmp_path / "log", story)


def phases(cluster: KubeCluster) -> set[str]:
    return {pod.document["status"]["phase"] for pod in cluster.pods.values()}


def test_a_stream_that_breaks_fails_what_runs_and_not_the_host(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    groups = (PodGroup("db", 1, "tools:1"),)
    streams = Streams(tmp_path / "out", tmp_path / "err")

    async def story(hosts: Sequence[PodHost]) -> None:
        (host,) = hosts
        place = host.scratch_base()
        assert place is not None
        process = await host.start(Command(("sleep", "300")), streams, cwd=place)
        await asyncio.to_thread(cluster.cut_streams)
        with pytest.raises(HostLost, match="host db-0"):
            await process.wait()
        await host.check()
        process = await host.start(Command(("echo", "again")), streams, cwd=place)
        assert (await process.wait()).code == 0
        assert streams.stdout.read_text() == "again\n"

    tell(order(groups=groups), use(), tmp_path / "log", story)


def test_a_pod_that_is_evicted_is_told_and_its_place_is_filled(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    groups = (PodGroup("db", 1, "tools:1"),)
    streams = Streams(tmp_path / "out", tmp_path / "err")

    async def story(hosts: Sequence[PodHost]) -> None:
        (host,) = hosts
        place, former = host.scratch_base(), host.facts["pod"]
        assert place is not None
        process = await host.start(Command(("sleep", "300")), streams, cwd=place)
        await asyncio.to_thread(cluster.evict, former)
        with pytest.raises(HostLost):
            await process.wait()
        await host.check()
        assert host.facts["pod"] != former

    tell(order(groups=groups), use(), tmp_path / "log", story)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"room": 1}, r"2 of 3 pods did not run within 2 s; all were given back:.*no node has room"),
        ({"images": frozenset()}, r"3 of 3 pods did not run.*its image cannot be pulled \(ImagePullBackOff"),
        ({"quota": 1}, r"exceeded quota"),
    ],
)
def test_what_does_not_run_whole_is_given_back_with_the_reason(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path, change: dict[str, object], says: str
) -> None:
    for name, value in change.items():
        setattr(cluster.behaviour, name, value)
    with pytest.raises(HostError, match=f"(?s){says}"):
        tell(order(), use(within=2.0), tmp_path / "log", nothing)
    assert not cluster.labelled(LABEL)
    assert not list(leases_folder().iterdir())


def test_what_cannot_run_is_not_waited_for(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    """An image without `sh`: the command of its container cannot be started."""
    without = {"spec": {"containers": [{"name": "main", "command": ["/no/such/shell"]}]}}
    groups = (PodGroup("db", 1, "tools:1", {}, (without,)),)
    with pytest.raises(HostError, match=r"(?s)pods cannot run.*does the image have `sh`"):
        tell(order(groups=groups), use(within=3600.0), tmp_path / "log", nothing)


def test_an_api_server_that_is_away_at_the_end_leaves_the_file_for_clean(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    async def story(_: Sequence[PodHost]) -> None:
        cluster.behaviour.is_away = True

    with pytest.raises(HostError, match=r"could not remove its pods .* cannot be reached") as told:
        tell(order(), use(), tmp_path / "log", story)
    assert "`steelyard clean`" in told.value.hint
    assert cluster.labelled(LABEL)
    removed, problems = clean_pods(lambda _: True)
    assert (removed, len(problems)) == ({}, 1)
    cluster.behaviour.is_away = False
    assert clean_pods(lambda _: False) == ({}, [])
    removed, problems = clean_pods(lambda rental: rental.run == "test-run")
    assert (sorted(removed), [len(each) for each in removed.values()], problems) == (["test-run"], [2], [])
    assert not cluster.labelled(LABEL)
    assert not list(leases_folder().iterdir())


def test_clean_leaves_what_a_live_controller_has(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    async def story(_: Sequence[PodHost]) -> None:
        assert await asyncio.to_thread(clean_pods, lambda _: True) == ({}, [])
        assert cluster.labelled(LABEL)

    tell(order(), use(), tmp_path / "log", story)


def test_a_claim_goes_with_its_pod(cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path) -> None:
    volume = ScratchVolume(f"{tmp_path}/volume", "fast", "1Gi")

    async def story(hosts: Sequence[PodHost]) -> None:
        assert len(cluster.claims) == 3
        assert hosts[0].facts["scratch"] == "claim of class fast of 1Gi"

    tell(order(scratch=volume), use(), tmp_path / "log", story)
    assert not cluster.claims


def test_nothing_secret_is_written_down(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    async def story(_: Sequence[PodHost]) -> None:
        (path,) = leases_folder().iterdir()
        assert path.stat().st_mode & 0o777 == 0o600
        assert "secret-token" not in path.read_text()
        assert json.loads(path.read_text())["context"] == "here"

    tell(order(), use(), tmp_path / "log", story)


def test_a_pod_that_is_killed_comes_back_as_another_at_once(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    """As often as one likes: the Job does not take it for a failure of its own, after which it would wait."""
    groups = (PodGroup("db", 2, "tools:1"),)
    streams = Streams(tmp_path / "out", tmp_path / "err")

    async def story(hosts: Sequence[PodHost]) -> None:
        host, other = hosts
        place = host.scratch_base()
        assert place is not None
        for _ in range(3):
            former, address = host.facts["pod"], host.address
            process = await host.start(Command(("sleep", "300")), streams, cwd=place)
            await host.kill_host()
            await host.kill_host()  # it is gone already
            with pytest.raises(HostDown, match=f"an event deleted its pod {former}"):
                await process.wait()
            with pytest.raises(HostDown):
                await host.read(["/proc/stat"])
            reviving = asyncio.create_task(host.revive())
            while not reviving.done():  # nobody who asks meanwhile is told that it is lost for good
                with contextlib.suppress(HostDown):
                    await host.read(["/proc/stat"])
                await asyncio.sleep(0)
            await reviving
            assert host.facts["pod"] != former
            assert host.address not in (address, other.address)
            await host.renew()
        (job,) = cluster.jobs.values()
        assert "failed" not in job

    tell(order(groups=groups), use(), tmp_path / "log", story)


def test_a_pod_whose_place_stays_empty_does_not_come_back(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    async def story(hosts: Sequence[PodHost]) -> None:
        cluster.behaviour.room = 0
        await hosts[0].kill_host()
        with pytest.raises(HostError, match=r"host db-0: pod .* does not run: no node has room"):
            await hosts[0].revive()

    tell(order(groups=(PodGroup("db", 1, "tools:1"),)), use(connect_within=1.0), tmp_path / "log", story)


def test_who_may_not_delete_pods_is_told(
    cluster: KubeCluster, order: Make, use: MakeUse, tmp_path: Path
) -> None:
    cluster.behaviour.denied = {("delete", "pods")}

    async def story(hosts: Sequence[PodHost]) -> None:
        with pytest.raises(HostError, match="cannot delete pods/"):
            await hosts[0].kill_host()

    tell(order(), use(), tmp_path / "log", story)
