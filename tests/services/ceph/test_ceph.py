"""Ceph for real: whom it lets in, what it does without a host, and that nothing of it stays."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from patience import PATIENCE, until
from steelyard.errors import HostError
from steelyard.services.ceph import Ceph
from steelyard.services.kit.capabilities import Growable, HasNodes, Metered, Shrinkable

contract = loaded(Path(__file__).parents[2] / "contract" / "test_services.py")
pytestmark = pytest.mark.full  # a cluster takes half a minute to begin
QUICK = {"osd_size": "1GiB", "pg_num": 8, "settings": {"osd_recovery_sleep_hdd": 0, "osd_recovery_sleep": 0}}


def with_ceph(test: Any, hosts: int, spare: int = 0, **options: Any) -> None:
    contract.needed("ceph")

    async def run(made: Any) -> None:
        given = {"hosts": made.hosts[:hosts], "spare": made.hosts[hosts:]}
        service = made.service("ceph", {**QUICK, **options}, **given)
        async with service.deploy():
            await test(made, service)
        assert await made.is_empty()

    contract.with_bench(run, hosts=hosts + spare)


async def rados(made: Any, service: Ceph, *words: str, key: str | None = None) -> str:
    """What rados prints, its complaints too; by default as the user of the service."""
    to = service.endpoint()
    keyring, conf = made.place / "client.keyring", made.place / "client.conf"
    keyring.write_text(f"[client.steelyard]\n\tkey = {to.password if key is None else key}\n")
    monitors = ",".join(f"[v2:{where}]" for where in to.facts["servers"].split(","))
    settings = {"mon_host": monitors, "keyring": keyring, "admin_socket": "", "client_mount_timeout": 20}
    conf.write_text("[global]\n" + "".join(f"{name} = {value}\n" for name, value in settings.items()))
    argv = ("rados", "-c", str(conf), "--id", "steelyard", *words)
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    return said.decode()


async def comes_to_settle(service: Ceph) -> None:
    async with asyncio.timeout(4 * PATIENCE):
        while not await service.is_settled():
            await service.read_meters()  # which takes a while


def test_nobody_comes_in_without_the_key_and_nobody_to_another_pool():
    async def test(made: Any, service: Ceph) -> None:
        bench = ("bench", "1", "write", "-t", "2", "-b", "4096")
        assert "Total writes made" in await rados(made, service, "-p", "data", *bench)
        other = "AQAAAAAAAAAAABAA" + "x" * 21 + "A=="
        said = await rados(made, service, "-p", "data", *bench, key=other)
        assert "handle_auth_bad_method" in said
        assert "Total writes made" not in said
        assert "No such file" in await rados(made, service, "-p", "other", *bench)
        files = list(made.place.rglob("keyring*"))
        assert files
        assert {path.stat().st_mode & 0o007 for path in files} == {0}

    with_ceph(test, hosts=1)


def test_a_cluster_works_without_a_host_heals_grows_and_shrinks():
    async def test(made: Any, service: Ceph) -> None:
        assert isinstance(service, Growable)
        assert isinstance(service, Shrinkable)
        assert isinstance(service, Metered)
        assert isinstance(service, HasNodes)
        write = ("-p", "data", "bench", "2", "write", "-t", "4", "-b", "65536", "--no-cleanup")
        assert "Total writes made" in await rados(made, service, *write)
        last = service.context.hosts[-1].name
        await service.kill(last)
        assert not await service.is_settled()
        assert "Total writes made" in await rados(made, service, *write), "two copies are enough"
        await service.restart(last)
        await comes_to_settle(service)
        assert (await service.read_meters())["degraded_objects"] == 0
        await service.grow(4)
        assert [node.state for node in await service.list_nodes()] == ["up"] * 4
        await comes_to_settle(service)
        with pytest.raises(HostError, match="cannot have 5 hosts, at most 4"):
            await service.grow(5)
        await service.shrink(3)
        await comes_to_settle(service)
        assert len(await service.list_nodes()) == 3
        assert await service.is_answering(service.servers[0])
        with pytest.raises(HostError, match="cannot have 2 hosts: it has 3 copies"):
            await service.shrink(2)

    with_ceph(test, hosts=3, spare=1)


def test_what_cannot_be_is_said_before_anything_runs():
    contract.needed("ceph")

    async def run(made: Any) -> None:
        for options, changes, says in (
            ({"size": 3}, {}, "store: size is 3, which needs 3 storage daemons; there are 2"),
            ({"mons": 3}, {}, "store: mons is 3, and there are 2 hosts"),
            ({"face": "s3", "gateways": 3}, {}, "store: gateways is 3, and there are 2 hosts"),
            ({"osd_size": "1PiB"}, {}, "store needs .* MiB for storage daemons in .* MiB are free"),
            ({}, {"mount_on": made.hosts}, "store has `face: rados`, which is not a file system"),
        ):
            service = made.service("ceph", {**QUICK, **options}, **changes)
            with pytest.raises(HostError, match=says):
                async with service.deploy():
                    pytest.fail("it came up")
            assert service.servers == []

    contract.with_bench(run)


EXPERIMENT = """
experiment: killed
roles: {storage: 3, client: 1}
services:
  store: {use: ceph, on: storage, face: FACE, osd_size: 1GiB, pg_num: 8, keep: run}
workload: WORKLOAD
timeline: TIMELINE
repeat: 1
disturbed: include
"""
BENCH = "{use: rados_bench, on: client, to: store, duration: 15s, op_size: 64KiB, reads: []}"
FILES = '{use: command, on: client, directory: store, script: "echo here > file && cat file && sleep 1000"}'
needs_namespaces = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("ip"), reason="network namespaces need root"
)


def begin(own_place: Path, face: str, workload: str, timeline: str = "[]") -> subprocess.Popen[str]:
    file = own_place / "killed.yaml"
    text = EXPERIMENT.replace("FACE", face).replace("WORKLOAD", workload)
    file.write_text(text.replace("TIMELINE", timeline))
    argv = [sys.executable, "-m", "steelyard", "run", str(file), "--site", "netns:4"]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Daemons that give up root must be able to enter it; pytest's own directories are for us alone."""
    with tempfile.TemporaryDirectory(prefix="steelyard-ceph-", dir="/var/tmp") as place:
        Path(place).chmod(0o711)
        monkeypatch.setenv("STEELYARD_SCRATCH", place)
        yield Path(place)


def list_daemons(scratch: Path) -> set[str]:
    """Processes whose command line names the scratch of this test."""
    lines = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return {line for line in lines.splitlines() if line.startswith("ceph-") and str(scratch) in line}


FULL = """
experiment: full
roles: {storage: 1, client: 1}
services:
  store:
    use: ceph
    on: storage
    osd_size: 1GiB
    pg_num: 8
    settings: {mon_osd_full_ratio: 0.35, mon_osd_backfillfull_ratio: 0.33, mon_osd_nearfull_ratio: 0.31}
workload:  # one small operation at a time: 650 MiB are left when it is full, which it sees within seconds
  use: rados_bench
  on: client
  to: store
  duration: 600s
  threads: 1
  op_size: 32KiB
  reads: []
  patience: 10s
repeat: 1
"""


def test_a_pool_without_space_fails_the_trial_and_says_so(own_place: Path, scratch: Path) -> None:
    contract.needed("ceph")
    file = own_place / "full.yaml"
    file.write_text(FULL)
    argv = [sys.executable, "-m", "steelyard", "run", str(file)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert "FAILED (disk-full)" in ended.stderr
    assert "pool 'data' is full (no space)" in ended.stderr
    assert "1 trial failed: disk-full (trial 1)" in ended.stdout
    assert not list_daemons(scratch)


@needs_namespaces
def test_a_storage_daemon_that_is_killed_under_load_costs_no_operation(
    own_place: Path, scratch: Path
) -> None:
    contract.needed("ceph")
    timeline = "[{at: 3s, do: kill, service: store, node: 2}, {at: 6s, do: restart, service: store, node: 2}]"
    with begin(own_place, "rados", BENCH, timeline) as run:
        said, _ = run.communicate()
    assert run.returncode == 0, said
    (metrics,) = Path(os.environ["STEELYARD_STORE"]).glob("runs/*/trials/1/metrics.json")
    assert "write_iops" in json.dumps(json.loads(metrics.read_text()))
    assert not list_daemons(scratch)


@needs_namespaces
def test_a_controller_that_is_killed_leaves_no_daemon_no_mount_and_no_file(
    own_place: Path, scratch: Path
) -> None:
    contract.needed("ceph")
    store = Path(os.environ["STEELYARD_STORE"])
    with begin(own_place, "cephfs", FILES) as run:
        written = lambda: any(path.read_text() for path in store.glob("runs/*/trials/1/*/run/stdout"))  # noqa: E731
        assert until(lambda: written() or run.poll() is not None, 8 * PATIENCE)
        assert run.poll() is None, run.communicate()[0]
        assert any(line.startswith("ceph-fuse") for line in list_daemons(scratch))
        run.send_signal(signal.SIGKILL)
    assert until(lambda: not list_daemons(scratch))
    assert until(lambda: not list(scratch.iterdir()))
    assert str(scratch) not in Path("/proc/self/mountinfo").read_text()
