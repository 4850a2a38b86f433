"""NFS-Ganesha for real: whom it serves, and files that come and go by the programs of libnfs."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from loading import loaded
from patience import PATIENCE
from steelyard import api
from steelyard.errors import HostError
from steelyard.services.nfs import Nfs
from steelyard.services.nfs.config import server_config

contract = loaded(Path(__file__).parents[2] / "contract" / "test_services.py")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts it")


def test_it_serves_the_hosts_of_the_experiment_alone():
    files, state = PurePosixPath("/s/files"), PurePosixPath("/s/state")
    text = server_config("10.0.0.1", (2049, 2050), files, state, ["10.0.0.8", "10.0.0.9"])
    assert "Bind_addr = 10.0.0.1;" in text
    assert "CLIENT { Clients = 10.0.0.8, 10.0.0.9; Access_Type = RW;" in text
    assert "Access_Type = None;" in text
    assert "PrivilegedPort = true;" in text


@needs_root
def test_strangers_are_refused_and_files_outlive_a_crash():
    async def test(made: Any) -> None:
        first, stranger = made.hosts
        service = made.service("nfs", {}, hosts=(first,), clients=(first.address,))
        assert isinstance(service, Nfs)
        async with service.deploy() as endpoint:
            query = f"?version=3&nfsport={endpoint.port}&mountport={endpoint.facts['mount_port']}"
            url = f"nfs://{endpoint.address}/files"
            (made.place / "sent").write_bytes(os.urandom(3_000_000))
            sent, got = str(made.place / "sent"), made.place / "got"
            copied = await first.capture(("nfs-cp", sent, f"{url}/a{query}"), seconds=PATIENCE)
            assert copied == "copied 3000000 bytes\n"
            assert await stranger.capture(("nfs-ls", url + query), seconds=PATIENCE) is None
            await service.kill(first.name)
            await service.restart(first.name)
            await first.capture(("nfs-cp", f"{url}/a{query}", str(got)), seconds=PATIENCE)
            assert got.read_bytes() == (made.place / "sent").read_bytes()
            meters = await service.read_meters()
            assert meters["total_bytes"] > meters["free_bytes"] > 0
        assert await made.is_empty()

    contract.needed("nfs")
    contract.with_bench(test, hosts=2, network=True)


@needs_root
@pytest.mark.skipif("nfs4" in Path("/proc/filesystems").read_text(), reason="this kernel has an NFS client")
def test_where_the_kernel_cannot_mount_it_that_is_said_with_the_next_step():
    async def test(made: Any) -> None:
        service = made.service("nfs", {}, mount_on=made.hosts)
        with pytest.raises(HostError, match="has no NFS client to mount it") as raised:
            async with service.deploy():
                pytest.fail("it was mounted")
        assert "use: transfer" in (raised.value.hint or "")

    contract.needed("nfs")
    contract.with_bench(test, hosts=1)


@needs_root
@pytest.mark.parametrize("direction", ["upload", "download"])
def test_transfer_moves_files(own_place: Path, direction: str):
    contract.needed("nfs")
    workload = {"use": "transfer", "to": "store", "files": 3, "file_size": "1MiB", "direction": direction}
    services = {"store": {"use": "nfs"}}
    tree = {"experiment": "nfs", "workload": workload, "services": services, "disturbed": "include"}
    run = api.run({**tree, "repeat": 1})
    (trial,) = run.record.trials
    assert trial.result.status == "ok", trial.message
    assert trial.result.metrics["failure_rate"] == 0
