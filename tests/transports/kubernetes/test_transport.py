"""Exec streams: three streams, half-closed input, exit codes, and how each is lost."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kube_cluster import KubeCluster
from patience import PATIENCE, comes
from steelyard.errors import HostLost
from steelyard.hosts.transport import Channel
from steelyard.transports.kubernetes.api import ApiServer
from steelyard.transports.kubernetes.channel import find_exit_code
from steelyard.transports.kubernetes.kubeconfig import read_access
from steelyard.transports.kubernetes.transport import PodPlace, PodTransport, enclose, receive_command

MIB = 1 << 20
SEVEN = {
    "status": "Failure",
    "reason": "NonZeroExitCode",
    "details": {"causes": [{"reason": "ExitCode", "message": "7"}]},
}
Story = Callable[[PodTransport], Awaitable[None]]


async def flood(channel: Channel) -> None:
    """Write until it fails: what is on its way is not known to be lost."""
    while True:
        await channel.send(b"x" * MIB)


def job(*command: str, image: str = "tools:1") -> dict[str, Any]:
    container = {"name": "main", "image": image, "command": list(command or ("sleep", "3600"))}
    spec = {"completions": 1, "ttlSecondsAfterFinished": 0, "activeDeadlineSeconds": 3600}
    return {"metadata": {"name": "j"}, "spec": {**spec, "template": {"spec": {"containers": [container]}}}}


@pytest.fixture
def tell(cluster: KubeCluster, tmp_path: Path) -> Callable[..., None]:
    """Tell a story on the pod of a Job."""

    @asynccontextmanager
    async def reach(document: dict[str, Any], seconds: float) -> AsyncIterator[PodTransport]:
        access = read_access(str(cluster.write_kubeconfig(tmp_path / "config")))
        async with ApiServer.open(access) as server:
            await server.create(server.path("batch/v1/jobs"), document)
            way = PodTransport("p0", server, PodPlace("j", 0), connect_within=seconds)
            try:
                yield way
            finally:
                await way.close()

    def run(story: Story, document: dict[str, Any] | None = None, seconds: float = PATIENCE) -> None:
        async def whole() -> None:
            async with reach(document or job(), seconds) as way:
                await story(way)

        asyncio.run(whole())

    return run


def test_three_streams_and_the_code(tell: Callable[..., None]) -> None:
    async def story(way: PodTransport) -> None:
        await way.open()
        channel = await way.run("cat; echo complaint >&2; exit 7")
        await channel.send(b"hello\0\n")
        await channel.end_input()
        assert await channel.stdout.read() == b"hello\0\n"
        assert await channel.stderr.read() == b"complaint\n"
        assert await channel.wait() == 7

    tell(story)


def test_what_ends_by_a_signal(tell: Callable[..., None]) -> None:
    async def story(way: PodTransport) -> None:
        await way.open()
        assert await (await way.run("kill -KILL $$")).wait() == 128 + 9
        assert await (await way.run(":")).wait() == 0

    tell(story)


def test_megabytes_both_ways_while_nobody_reads_for_a_while(tell: Callable[..., None]) -> None:
    async def story(way: PodTransport) -> None:
        await way.open()
        data = os.urandom(5 * MIB)
        channel = await way.run("cat")

        async def feed() -> None:
            for start in range(0, len(data), MIB):
                await channel.send(data[start : start + MIB])
            await channel.end_input()

        feeding = asyncio.create_task(feed())
        received = b""
        while block := await channel.stdout.read(100_000):
            received += block
        await feeding
        assert received == data
        assert await channel.wait() == 0

    tell(story)


def test_the_script_and_what_is_secret_in_it_stand_in_no_url(
    tell: Callable[..., None], cluster: KubeCluster
) -> None:
    word = secrets.token_hex(8)

    async def story(way: PodTransport) -> None:
        await way.open()
        channel = await way.run(f"printf %s '{word}'; cat # {'x' * 20_000}")
        await channel.send(b"more")
        await channel.end_input()
        assert await channel.stdout.read() == word.encode() + b"more"

    tell(story)
    assert any("/exec?" in request for request in cluster.requests)
    assert word not in "".join(cluster.requests)
    assert max(map(len, cluster.requests)) < 500


def test_a_script_whose_end_is_cut_off_does_nothing(tmp_path: Path) -> None:
    import subprocess

    whole = enclose(f"touch {tmp_path}/begun\ntrue\n")
    for length in range(len(whole) - 2):
        subprocess.run(receive_command(whole), input=whole[:length], check=False, capture_output=True)
    assert not (tmp_path / "begun").exists()
    assert subprocess.run(receive_command(whole), input=whole, check=True, capture_output=True).stdout == b""
    assert (tmp_path / "begun").exists()


def test_a_broken_stream_is_told_to_all_who_wait_and_its_input_ends(
    tell: Callable[..., None], cluster: KubeCluster, tmp_path: Path
) -> None:
    async def story(way: PodTransport) -> None:
        await way.open()
        channel = await way.run(f"echo up; cat >/dev/null; touch {tmp_path}/ended")
        assert await channel.stdout.readline() == b"up\n"
        await asyncio.to_thread(cluster.cut_streams)
        for wait in (channel.wait(), channel.stdout.read(), channel.stderr.read()):
            with pytest.raises(HostLost, match="host p0: the stream"):
                await wait
        with pytest.raises(HostLost, match="host p0"):
            await flood(channel)
        assert await comes((tmp_path / "ended").exists)
        await way.open()
        assert await (await way.run("exit 3")).wait() == 3

    tell(story)


def test_the_pod_that_takes_a_place_anew_is_found(tell: Callable[..., None], cluster: KubeCluster) -> None:
    async def story(way: PodTransport) -> None:
        await way.open()
        former = way.pod
        channel = await way.run("echo up; exec sleep 300")
        await channel.stdout.readline()
        await asyncio.to_thread(cluster.delete_pod, former)
        assert await channel.wait() == 128 + 9
        with pytest.raises(HostLost, match="HTTP status 404"):
            await way.run("true")
        cluster.do(lambda: cluster._fill("j"))
        await way.open()
        assert way.pod != former
        assert await (await way.run("true")).wait() == 0

    tell(story)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (job(image="none:1"), r"its image cannot be pulled \(ImagePullBackOff: Back-off pulling image"),
        (job("/no/such/program"), r"cannot be started; does the image have `sh`\? \(StartError"),
    ],
)
def test_a_pod_that_does_not_run_is_told_with_its_reason(
    tell: Callable[..., None], document: dict[str, Any], says: str
) -> None:
    async def story(way: PodTransport) -> None:
        with pytest.raises(HostLost, match=says):
            await way.open()

    tell(story, document, seconds=1)


def test_no_room(tell: Callable[..., None], cluster: KubeCluster) -> None:
    cluster.behaviour.room = 0

    async def story(way: PodTransport) -> None:
        with pytest.raises(HostLost, match=r"no node has room for it \(Unschedulable: 0/1 nodes"):
            await way.open()

    tell(story, seconds=0.1)


def test_an_api_server_that_is_away_for_a_moment_is_waited_for(
    tell: Callable[..., None], cluster: KubeCluster
) -> None:
    async def story(way: PodTransport) -> None:
        cluster.behaviour.is_away = True
        opening = asyncio.create_task(way.open())
        asked = len(cluster.requests)
        assert await comes(lambda: len(cluster.requests) >= asked + 2)
        cluster.behaviour.is_away = False
        await opening

    tell(story)


def test_one_that_stays_away_is_told(tell: Callable[..., None], cluster: KubeCluster) -> None:
    async def story(way: PodTransport) -> None:
        await way.open()
        cluster.behaviour.is_away = True
        with pytest.raises(HostLost, match=r"host p0: the API server .* cannot be reached"):
            await way.run("true")

    tell(story)


def test_an_older_protocol_has_no_half_closed_input(tell: Callable[..., None], cluster: KubeCluster) -> None:
    cluster.behaviour.protocols = ("v4.channel.k8s.io",)

    async def story(way: PodTransport) -> None:
        await way.open()
        with pytest.raises(HostLost, match=r"does not speak v5\.channel\.k8s\.io"):
            await way.run("true")

    tell(story)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ({"status": "Success"}, 0),
        (SEVEN, 7),
        ({"status": "Failure", "reason": "InternalError", "message": "no container"}, None),
        ({"status": "Failure", "reason": "NonZeroExitCode"}, None),
        ({"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": ["x", {}]}}, None),
        ({"status": "Failure", "reason": "NonZeroExitCode", "details": []}, None),
        ({}, None),
    ],
)
def test_the_code_that_a_status_tells(status: dict[str, Any], code: int | None) -> None:
    assert find_exit_code(status) == code
