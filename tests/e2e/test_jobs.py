"""Runs in jobs of a real Slurm: the same file, followed, steered, chained over time limits, split by size."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from patience import until

pytestmark = pytest.mark.xdist_group("batch")
FILE = """
experiment: jobs
roles: {node: 4}
parameters: {nodes: [1, 4]}
workload: {use: command, on: "node[:${nodes}]", run: [sleep, SECONDS]}
disturbed: include
telemetry: off
repeat: REPEAT
"""
cluster = loaded(Path(__file__).parents[1] / "sites" / "slurm_cluster.py")


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from cluster.running_cluster(tmp_path_factory.mktemp("cluster"))


@pytest.fixture(autouse=True)
def slurm(conf: Path, own_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", str(conf))


def steelyard(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "steelyard", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def written(place: Path, seconds: str = "0.05", repeat: int = 2) -> str:
    file = place / "jobs.yaml"
    file.write_text(FILE.replace("SECONDS", f'"{seconds}"').replace("REPEAT", str(repeat)))
    return str(file)


def journal(kind: str) -> list[dict[str, Any]]:
    (path,) = Path(os.environ["STEELYARD_STORE"]).glob("runs/*/journal.ndjson")
    return [line for text in path.read_text().splitlines() if (line := json.loads(text))["kind"] == kind]


def test_a_run_in_a_job_is_followed_to_the_same_table(own_place: Path) -> None:
    done = steelyard("run", written(own_place), "--site", "slurm")
    assert done.returncode == 0, done.stderr
    assert "site slurm: 4 hosts" in done.stdout
    assert "is running on n1, n2, n3, n4" in done.stderr
    assert done.stdout.rstrip().endswith("report.html")
    trials = journal("trial-ended")
    assert [line["status"] for line in trials] == ["ok"] * 4, trials
    assert {tuple(line["on"]) for line in trials} == {("n1",), ("n1", "n2", "n3", "n4")}
    assert [line["hosts"] for line in journal("run-submitted")] == [4]


@pytest.mark.skipif(not shutil.which("linux.uml"), reason="user-mode-linux is not installed")
def test_a_program_runs_in_a_guest_in_a_job(own_place: Path) -> None:
    workload = "workload: {use: command, run: [cat, /proc/sys/kernel/osrelease], wrap: {in: guest}}"
    (own_place / "guest.yaml").write_text(f"experiment: guest\nrepeat: 1\ndisturbed: include\n{workload}\n")
    done = steelyard("run", "guest.yaml", "--site", "slurm:1")
    assert done.returncode == 0, done.stderr
    (said,) = Path(os.environ["STEELYARD_STORE"]).glob("runs/*/trials/1/*/*/stdout")
    assert said.read_text().strip() not in ("", os.uname().release)


def test_with_split_each_size_has_a_job_of_its_own(own_place: Path) -> None:
    done = steelyard("run", written(own_place), "--site", "slurm", "--split")
    assert done.returncode == 0, done.stderr
    assert [line["hosts"] for line in journal("run-submitted")] == [1, 4]
    assert [line["parameters"]["nodes"] for line in journal("trial-ended")] == [1, 1, 4, 4]


def test_a_detached_run_can_be_looked_at_suspended_and_cancelled(own_place: Path) -> None:
    assert steelyard("run", written(own_place, "3600"), "--site", "slurm", "--detach").returncode == 0
    assert until(lambda: journal("trial-started"))
    assert "is running" in steelyard("status", "last").stdout
    assert "is suspended" in steelyard("suspend", "last").stdout
    assert "is running" in steelyard("continue", "last").stdout
    cancelled = steelyard("cancel", "last")
    assert cancelled.returncode == 0, cancelled.stderr
    assert until(lambda: journal("run-ended"))
    assert journal("run-ended")[-1]["reason"].endswith(" cancelled it")
    assert journal("run-ended")[-1]["state"] == "cancelled"
    failures = [line.get("message") for line in journal("trial-ended")]
    assert not failures, "what was cut off is no failed trial; resume makes it again"
    assert "is cancelled: 0 trials done" in steelyard("status", "last").stdout


def test_what_the_scheduler_refuses_is_told_in_its_words(own_place: Path) -> None:
    done = steelyard("run", written(own_place), "--site", "slurm", "--", "--partition=nowhere")
    assert done.returncode == 3
    assert "Slurm rejected the job" in done.stderr
    assert "nowhere" in done.stderr or "partition" in done.stderr
    assert journal("run-ended")[-1]["state"] == "failed"


@pytest.mark.full
def test_a_chain_of_jobs_completes_what_one_has_no_time_for(own_place: Path) -> None:
    """The partition gives two minutes to a job; four trials of 32 s do not fit."""
    Path("sites.yaml").write_text("short: {use: slurm, time: 2min, queue: short}\n")
    file = written(own_place, "32", 2)
    done = steelyard("run", file, "--site", "short", "--chain")
    assert done.returncode == 0, done.stderr
    assert len(journal("run-submitted")) > 1
    assert journal("run-ended")[0]["next"]
    assert journal("run-ended")[-1]["state"] == "complete"
    keys = [(line["parameters"]["nodes"], line["repetition"]) for line in journal("trial-ended")]
    assert sorted(keys) == [(1, 1), (1, 2), (4, 1), (4, 2)]
