"""Services around real trials: deployed, watched, deployed again, torn down."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard import api
from steelyard.controller.deployment.deployment import share_machines
from steelyard.services.kit.context import HostShare
from steelyard.testing import FakeHost, Said

needs_iperf3 = pytest.mark.skipif(not shutil.which("iperf3"), reason="iperf3 is not installed")
KILL = """
for p in /proc/[0-9]*; do
  if grep -qs "^iperf3$" "$p/comm" && grep -qs "STEELYARD_TOKEN=$STEELYARD_TOKEN" "$p/environ"; then
    kill -9 "${p#/proc/}"
  fi
done
sleep 20
"""


@pytest.fixture
def deployed(told: Any) -> Callable[..., api.Run]:
    """Run a shell script on a client while iperf3 serves on another host of this machine."""

    def run(script: str, keep: str = "run", **more: Any) -> api.Run:
        tree = {
            "experiment": "served",
            "roles": {"server": 1, "client": 1},
            "services": {"net": {"use": "iperf3", "open": True, "on": "server", "keep": keep}},
            "workload": {"use": "command", "on": "client", "script": script},
            "telemetry": "off",
            "disturbed": "exclude",
            **more,
        }
        return api.run(tree, site="local:2", observer=told)

    return run


def ready(run: api.Run) -> list[dict[str, Any]]:
    return [line for line in run.record.journal if line["kind"] == "service-ready"]


@needs_iperf3
@pytest.mark.parametrize(("keep", "times"), [("run", 1), ("trial", 3)])
def test_a_service_lives_as_long_as_it_is_kept(
    deployed: Callable[..., api.Run], keep: str, times: int
) -> None:
    run = deployed("sleep 0.01", keep, repeat=3)
    assert [trial.result.status for trial in run.record.trials] == ["ok"] * 3
    assert len(ready(run)) == times
    assert ready(run)[0]["address"] == "127.0.0.1"
    assert ready(run)[0]["unauthenticated"]


@needs_iperf3
def test_a_server_that_dies_fails_its_trial_and_is_there_for_the_next(
    deployed: Callable[..., api.Run], tmp_path: Path
) -> None:
    first = tmp_path / "first"
    run = deployed(f"if mkdir {first}; then {KILL}fi", repeat=2)
    failed, fine = run.record.trials
    assert failed.result.category == "service-failed", failed.message
    assert "iperf3" in failed.message
    assert "ended by signal 9" in failed.message
    assert fine.result.status == "ok", fine.message
    assert len(ready(run)) == 2
    (died,) = (line for line in run.record.journal if line["kind"] == "service-died")
    assert "iperf3" in died["text"]
    folders = sorted(path.name for path in run.record.folder.services.iterdir())
    assert folders == ["net-1", "net-2"], "the logs of the one that died are still there"


@needs_iperf3
def test_it_is_deployed_again_where_its_options_or_the_cell_change(
    deployed: Callable[..., api.Run],
) -> None:
    levels = {"parameters": {"n": [1, 2], "m": [1, 2]}, "repeat": 2}
    by_cell = deployed("true", "cell", **levels)
    assert len(ready(by_cell)) == 4
    net = {"use": "iperf3", "open": True, "on": "server", "servers": "${n}"}
    by_options = deployed("true", services={"net": net}, **levels)
    assert [line["servers"].count(":") for line in ready(by_options)] in ([1, 2], [2, 1])
    assert by_options.record.design["restricted"].startswith("2 groups of cells")


def test_what_a_service_may_use_of_a_host_is_shared_by_all_that_run_there() -> None:
    near, far = FakeHost(Said, name="near", machine="a"), FakeHost(Said, name="far", machine="b")
    found = share_machines([near, far], [near, near, far, near])
    assert found == {"near": HostShare(1, near.memory // 3), "far": HostShare(4, far.memory)}


def test_one_that_runs_elsewhere_takes_no_part_of_a_host(tmp_path: Path, told: Any) -> None:
    control, cores = tmp_path / "control.json", tmp_path / "cores"
    control.write_text(json.dumps({"service": {"address": "127.0.0.1", "port": 9042, "facts": {}}}))
    tree = {
        "experiment": "visit",
        "services": {"ring": {"use": "attached", "on": "host", "control": str(control)}},
        "workload": {"use": "command", "to": "ring", "script": f"echo $STEELYARD_CORES > {cores}"},
        "repeat": 1,
        "disturbed": "exclude",
    }
    (trial,) = api.run(tree, site="local", observer=told).record.trials
    assert trial.result.status == "ok", trial.message
    assert int(cores.read_text()) == len(os.sched_getaffinity(0))


@needs_iperf3
def test_its_load_is_not_foreign_and_its_logs_are_kept(told: Any) -> None:
    tree = {
        "experiment": "load",
        "roles": {"server": 1, "client": 1},
        "services": {"net": {"use": "iperf3", "open": True, "on": "server"}},
        "workload": {"use": "iperf3", "on": "client", "to": "net", "duration": "1s"},
        "repeat": 1,
        "disturbed": "exclude",
    }
    run = api.run(tree, site="local:2", observer=told)
    (trial,) = run.record.trials
    assert trial.result.status == "ok", trial.message
    assert trial.result.metrics["throughput"] > 0
    assert not any("iperf3" in mark.reason for mark in trial.marks)
    assert list(run.record.folder.services.rglob("*.log"))


@needs_iperf3
def test_a_service_that_does_not_come_up_fails_the_trial_with_its_reason(
    deployed: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.services.iperf3.Iperf3Server.start", lambda self: no_start())
    (trial,) = deployed("true", repeat=1).record.trials
    assert trial.result.category == "service-failed"
    assert "cannot be started today" in trial.message


async def no_start() -> None:
    from steelyard.errors import HostError

    raise HostError("service net: cannot be started today")
