"""A real cluster as an engine of `use: jobs`, by a real kubectl."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from patience import until
from steelyard.provision.kubernetes.queued_job import NAME_LABEL
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("kubernetes")]
FILE = """
experiment: jobs
workload: {use: jobs, engine: pods, OPTIONS}
repeat: 1
disturbed: include
telemetry: off
"""
EATS = "head -c 200000000 /dev/zero | tail | wc -c; exit 0"  # tail keeps a line without an end, and is killed


class Bench:
    """The command, with an entry for the cluster."""

    def __init__(self, real: Any, place: Path) -> None:
        self.real, self.place = real, place
        self.env = {**os.environ, "XDG_STATE_HOME": str(place / "state")}
        requests = {"cpu": "50m", "memory": "64Mi"}
        site = {"use": "kubernetes", "image": "tools:1", "requests": requests}
        (place / "sites.yaml").write_text(json.dumps({"pods": {**site, "kubeconfig": str(real.kubeconfig)}}))

    def start(self, options: str, verb: str = "run") -> subprocess.Popen[str]:
        (self.place / "jobs.yaml").write_text(FILE.replace("OPTIONS", options))
        argv = [sys.executable, "-m", "steelyard", verb, *["jobs.yaml"] * (verb == "run")]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(argv, cwd=self.place, env=self.env, text=True, **pipes)

    def run(self, options: str) -> tuple[Any, str]:
        said, _ = self.start(options).communicate()
        (path,) = (self.place / "store").glob("runs/*")
        (result,) = RunRecord(RunFolder(path)).results
        return result, said

    def is_running(self) -> bool:
        pods = self.real.ask("GET", f"/api/v1/namespaces/bench/pods?labelSelector={NAME_LABEL}")["items"]
        return any(pod["status"]["phase"] == "Running" for pod in pods)


@pytest.fixture
def bench(real: Any, own_place: Path) -> Bench:
    if shutil.which("kubectl") is None:
        pytest.skip("not installed: kubectl")
    return Bench(real, own_place)


def test_jobs_are_measured_and_nothing_is_left(bench: Bench) -> None:
    result, said = bench.run("jobs: 4, at_once: 2, processes: 2")
    assert result.status == "ok", said
    assert result.metrics["failure_rate"] == 0
    assert result.metrics["launch_time_p50"] > 0
    assert 0 < result.metrics["wait_time_p50"] < result.metrics["turnaround_time_p50"]
    assert not bench.real.labelled(NAME_LABEL)


def test_a_running_job_is_asked_for(bench: Bench) -> None:
    result, said = bench.run("do: status, jobs: 2, queries: 3, limit: 5min")
    assert result.status == "ok", said
    assert result.metrics["status_time_p50"] > 0
    assert not bench.real.labelled(NAME_LABEL)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (f"jobs: 1, program: [sh, -c, '{EATS}']", "was ended by the engine: OOMKilled"),
        ("jobs: 1, program: [sh, -c, exit 7]", "ended with code 7"),
        ("jobs: 1, limit: 1s, program: [sleep, '300']", "was ended by the engine: DeadlineExceeded"),
    ],
)
def test_why_a_job_failed_is_told(bench: Bench, options: str, reason: str) -> None:
    result, said = bench.run(options)
    assert result.status == "failed"
    assert reason in said
    assert not bench.real.labelled(NAME_LABEL)


def test_after_kill_9_clean_deletes_the_jobs(bench: Bench) -> None:
    run = bench.start("jobs: 2, program: [sleep, '3600'], limit: 1h")
    assert until(bench.is_running)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    assert bench.real.labelled(NAME_LABEL)
    said, _ = bench.start("", "clean").communicate()
    assert "cancelled jobs sy-" in said
    assert until(lambda: not bench.real.labelled(NAME_LABEL))
