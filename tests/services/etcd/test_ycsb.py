"""The binding for YCSB with real clusters: what is written is read again, also while a member is away."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from loading import loaded
from loopback import free_port
from patience import PATIENCE
from steelyard.model.command import Endpoint, Exit, Output, Place
from steelyard.model.metric import Reading
from steelyard.tools.find import find_missing
from steelyard.workloads.ycsb import Ycsb

contract = loaded(Path(__file__).parents[2] / "contract" / "test_services.py")
EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
MIX = {"read": 4, "update": 2, "scan": 1, "insert": 1, "read_modify_write": 1}


@pytest.fixture(autouse=True)
def installed():
    for tool in find_missing(Ycsb.needs):
        pytest.skip(f"{tool.name} is not installed: steelyard install {tool.name}")


def made(**options: Any) -> Ycsb:
    content = {
        "do": "both",
        "records": 200,
        "operations": 600,
        "threads": 3,
        "fields": 3,
        "verify": True,
        "timeout": f"{PATIENCE:g}s",  # a busy machine may take longer than the usual ten to accept
        **options,
    }
    return Ycsb(Ycsb.Options.model_validate(content))


def run(workload: Ycsb, name: str, to: Endpoint, base: Path) -> tuple[int, Output]:
    raw = base / name
    shutil.rmtree(raw, ignore_errors=True)
    raw.mkdir()
    place = Place(PurePosixPath(base), PurePosixPath(raw), 2, 2**30, 1, to=to)
    command = next(one.command for one in workload.phases(place) if one.name == name)
    env = {**os.environ, **command.variables}
    done = subprocess.run(command.argv, env=env, cwd=base, capture_output=True, text=True, check=False)
    return done.returncode, Output(
        EXIT, done.stdout, done.stderr, {path.name: path for path in raw.iterdir()}
    )


async def measure(workload: Ycsb, name: str, to: Endpoint, base: Path) -> Reading:
    code, output = await asyncio.to_thread(run, workload, name, to, base)
    assert code == 0, output.stderr
    return workload.parse(name, output) if name == workload.options.measured_stage else Reading()


@pytest.mark.parametrize("members", [1, pytest.param(3, marks=pytest.mark.full)])
def test_what_was_written_is_read_and_an_empty_table_is_empty(members, tmp_path):
    contract.needed("etcd")

    async def test(bench: Any) -> None:
        async with bench.service("etcd", {"fsync": False}).deploy() as to:
            workload = made(mix=MIX, scan_length=10)
            for name in ("create", "load"):
                await measure(workload, name, to, tmp_path)
            values = (await measure(workload, "run", to, tmp_path)).values
            assert values["verify_failures"] == values["failed_share"] == 0
            for operation in ("read", "update", "scan", "insert", "read_modify_write"):
                assert values[f"{operation}_count"] > 0
            await measure(workload, "create", to, tmp_path)
            code, output = await asyncio.to_thread(run, made(do="run", mix="c"), "run", to, tmp_path)
            assert code == 0
            assert re.search(r"^\[READ\], Return=NOT_FOUND, 600$", output.stdout, re.MULTILINE)

    contract.with_bench(test, hosts=members)


@pytest.mark.full
def test_a_member_that_is_killed_fails_no_operation(tmp_path):
    """Threads that used it go on with another."""
    contract.needed("etcd")

    async def test(bench: Any) -> None:
        service = bench.service("etcd", {"fsync": False})
        async with service.deploy() as to:
            for name in ("create", "load"):
                await measure(made(mix="b"), name, to, tmp_path)
            await service.kill(service.context.hosts[1].name)
            async with asyncio.timeout(PATIENCE):
                while not await service.is_answering(service.servers[0]):
                    pass  # it takes its time
            values = (await measure(made(mix="b"), "run", to, tmp_path)).values
            assert values["verify_failures"] == values["failed_share"] == 0

    contract.with_bench(test, hosts=3)


def test_who_is_not_let_in_says_so_and_shows_no_password(tmp_path):
    contract.needed("etcd")

    async def test(bench: Any) -> None:
        async with bench.service("etcd", {"fsync": False}).deploy() as to:
            wrong = Endpoint(to.address, to.port, to.facts, "not-this-one", to.authority)
            code, output = await asyncio.to_thread(run, made(mix="c"), "load", wrong, tmp_path)
            assert code == 1
            assert "cannot use" in output.stderr
            assert "authentication failed" in output.stderr
            assert "not-this-one" not in output.stderr + output.stdout
            stranger = Endpoint(to.address, to.port, to.facts, to.password)
            assert (await asyncio.to_thread(run, made(mix="c"), "load", stranger, tmp_path))[0] == 1

    contract.with_bench(test, hosts=1)


def test_a_server_that_is_not_there_fails_the_command(tmp_path):
    gone = Endpoint("127.0.0.1", free_port(), {"protocol": "etcd"})
    code, output = run(made(mix="c"), "create", gone, tmp_path)
    assert code == 1
    assert "cannot use" in output.stderr
