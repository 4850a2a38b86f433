"""Runs in jobs of a real HyperQueue: followed, cancelled, killed; what it cannot do is said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from patience import until
from steelyard.hosts.minder.processes import list_pids, read_proc

pytestmark = pytest.mark.xdist_group("batch")
FILE = """
experiment: jobs
roles: {node: HOSTS}
parameters: {n: [3, 5]}
workload:
  use: command
  script: |
    setsid sleep SECONDS &
    wait $!
    echo "value: $((n * 7))"
  metrics: {value: {regex: 'value: (\\d+)'}}
disturbed: include
telemetry: off
repeat: 2
"""
server = loaded(Path(__file__).parents[1] / "sites" / "hyperqueue_server.py")
Steelyard = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from server.running_hyperqueue(tmp_path_factory.mktemp("hyperqueue"))


@pytest.fixture
def steelyard(running: Any, own_place: Path, monkeypatch: pytest.MonkeyPatch) -> Steelyard:
    """The command, where it reaches the server."""
    monkeypatch.setenv("HQ_SERVER_DIR", str(running.directory))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [*running.enter, sys.executable, "-m", "steelyard", *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    return run


def written(place: Path, seconds: str = "0.05", hosts: int = 1) -> str:
    file = place / "jobs.yaml"
    file.write_text(FILE.replace("SECONDS", seconds).replace("HOSTS", str(hosts)))
    return str(file)


def journal(kind: str) -> list[dict[str, Any]]:
    (path,) = Path(os.environ["STEELYARD_STORE"]).glob("runs/*/journal.ndjson")
    return [line for text in path.read_text().splitlines() if (line := json.loads(text))["kind"] == kind]


def processes(text: str) -> list[int]:
    """Those on whose command line this stands."""
    words = text.encode()
    return [pid for pid in list_pids() if words in read_proc(f"/proc/{pid}/cmdline").replace(b"\0", b" ")]


def test_a_run_in_a_job_is_followed_to_its_table(steelyard: Steelyard, own_place: Path) -> None:
    done = steelyard("run", written(own_place), "--site", "hyperqueue")
    assert done.returncode == 0, done.stderr
    assert "site hyperqueue: 1 host" in done.stdout
    assert done.stdout.rstrip().endswith("report.html")
    trials = journal("trial-ended")
    assert [line["status"] for line in trials] == ["ok"] * 4, trials
    assert [line["site"] for line in journal("run-submitted")] == ["hyperqueue"]


def test_a_detached_run_cannot_be_suspended_but_cancelled(steelyard: Steelyard, own_place: Path) -> None:
    assert steelyard("run", written(own_place, "3600.25"), "--site", "hyperqueue", "--detach").returncode == 0
    assert until(lambda: journal("trial-started"))
    assert "is running on localhost" in steelyard("status", "last").stdout
    for verb in ("suspend", "continue"):
        refused = steelyard(verb, "last")
        assert refused.returncode == 2
        assert "HyperQueue can neither suspend nor hold jobs" in refused.stderr
        assert "steelyard cancel" in refused.stderr
        assert "Traceback" not in refused.stderr
    cancelled = steelyard("cancel", "last")
    assert cancelled.returncode == 0, cancelled.stderr
    assert until(lambda: journal("run-ended"))
    assert journal("run-ended")[-1]["state"] == "cancelled"
    assert until(lambda: not processes("3600.25"))
    assert until(lambda: "was cancelled" in steelyard("status", "last").stdout)


def test_a_killed_controller_leaves_nothing_and_resumes(steelyard: Steelyard, own_place: Path) -> None:
    assert steelyard("run", written(own_place, "3600.75"), "--site", "hyperqueue", "--detach").returncode == 0
    assert until(lambda: processes("sleep 3600.75"))
    (run,) = Path(os.environ["STEELYARD_STORE"]).glob("runs/*")
    (controller,) = processes(f"-m steelyard resume {run.name}")
    os.kill(controller, signal.SIGKILL)
    assert until(lambda: not processes("3600.75"))
    assert until(lambda: "has failed: exit code 137" in steelyard("status", "last").stdout)
    assert steelyard("resume", "last", "--detach").returncode == 0
    assert until(lambda: processes("sleep 3600.75"))
    assert steelyard("cancel", "last").returncode == 0
    assert until(lambda: not processes("3600.75"))


def test_a_killed_worker_leaves_nothing(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of its own, as it dies with its worker."""
    place = own_place / "dying"
    place.mkdir()
    for dying in server.running_hyperqueue(place):
        monkeypatch.setenv("HQ_SERVER_DIR", str(dying.directory))
        argv = [*dying.enter, sys.executable, "-m", "steelyard", "run", written(own_place, "3600.5")]
        subprocess.run([*argv, "--site", "hyperqueue", "--detach"], capture_output=True, check=True)
        assert until(lambda: processes("sleep 3600.5"))
        (holder,) = processes(f"hyperqueue_up.py {dying.directory}")
        os.kill(holder, signal.SIGKILL)
        assert until(lambda: not processes("3600.5"))


def test_several_hosts_are_refused_before_anything_is_submitted(
    steelyard: Steelyard, own_place: Path
) -> None:
    refused = steelyard("run", written(own_place, hosts=2), "--site", "hyperqueue")
    assert refused.returncode == 2, refused.stderr
    assert "2 hosts" in refused.stderr
    named = steelyard("run", written(own_place), "--site", "hyperqueue:2")
    assert named.returncode == 2
    assert "a job of HyperQueue has one host" in named.stderr
