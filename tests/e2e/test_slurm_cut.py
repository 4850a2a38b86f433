"""Runs on a real Slurm whose nodes are network namespaces: in peace, and with a node cut off."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from patience import until

pytestmark = [
    pytest.mark.full,  # most of its 2 minutes pass until Slurm takes a silent node for down
    pytest.mark.xdist_group("batch"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(not shutil.which("ip"), reason="no ip is installed"),
]
ROOT = Path(__file__).parents[2]
EXPERIMENT = """
experiment: cut
roles: {node: NODES}
workload: {use: command, script: 'echo $$; sleep "$(cat PLACE/seconds)"'}
disturbed: include
telemetry: off
repeat: 2
"""


@dataclass(frozen=True)
class Cluster:
    """A running one of four nodes, n1 to n4."""

    bridge: str

    def link(self, node: str, state: str) -> None:
        subprocess.run(["ip", "-n", f"{self.bridge}-{node}", "link", "set", "eth0", state], check=True)

    def unfinished(self) -> str:
        """The jobs that hold nodes still, or want some."""
        argv = ["squeue", "--noheader", "--states=PD,R,CG,S", "--format=%i %T %N"]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    def return_to_service(self, node: str) -> None:
        """As an operator would; a node that was down is not asked often whether it is back."""
        self.link(node, "up")
        argv = ["scontrol", "update", f"NodeName={node}", "State=RESUME"]
        assert until(lambda: not subprocess.run(argv, capture_output=True, check=False).returncode)


@pytest.fixture
def cluster(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    slurm = loaded(ROOT / "tests" / "sites" / "slurm_cluster.py")
    for conf in slurm.running_cluster(own_place / "cluster", namespaces=True):
        monkeypatch.setenv("SLURM_CONF", str(conf))
        yield Cluster(json.loads((conf.parent / "processes.json").read_text())["bridge"])


class Run:
    """One that waits on each host until it is told otherwise."""

    def __init__(self, place: Path, nodes: int) -> None:
        self.store, self._seconds, file = place / "store", place / "seconds", place / "cut.yaml"
        self._seconds.write_text("240")
        file.write_text(EXPERIMENT.replace("PLACE", str(place)).replace("NODES", str(nodes)))
        argv = [sys.executable, "-m", "steelyard", "run", str(file), "--site", "slurm"]
        self._process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._nodes, self._stopped = nodes, 0

    def await_trial(self) -> None:
        def begun() -> bool:
            printed = self.store.glob("runs/*/trials/1/*/run/stdout")
            return sum(path.stat().st_size > 0 for path in printed) == self._nodes

        assert until(begun), "the trial did not begin"

    def ended(self) -> tuple[int, str]:
        """Its code and what it said. What comes later, by `resume`, waits no more."""
        said, _ = self._process.communicate()
        self._seconds.write_text("0.1")
        return self._process.returncode, said

    def journal(self, kind: str) -> list[dict[str, Any]]:
        (path,) = self.store.glob("runs/*/journal.ndjson")
        return [line for text in path.read_text().splitlines() if (line := json.loads(text))["kind"] == kind]

    def stop_controller(self) -> None:
        (control,) = self.store.glob("runs/*/control.json")
        self._stopped = int(json.loads(control.read_text())["pid"])
        os.kill(self._stopped, signal.SIGSTOP)

    def let_controller_go_on(self) -> None:
        os.kill(self._stopped, signal.SIGCONT)
        self._stopped = 0

    def bearers(self) -> list[int]:
        """The processes that bear its token."""
        (run,) = self.store.glob("runs/*")
        token = f"STEELYARD_TOKEN={run.name}:".encode()
        found = (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())
        return [int(entry.name) for entry in found if token in content(entry / "environ")]

    def end(self) -> None:
        with self._process:
            self._process.kill()
        if self._stopped:
            os.kill(self._stopped, signal.SIGKILL)  # its minder ends the rest


@pytest.fixture
def run_on(own_place: Path, cluster: Cluster) -> Iterator[Callable[[int], Run]]:
    started: list[Run] = []

    def run(nodes: int) -> Run:
        started.append(Run(own_place, nodes))
        return started[-1]

    yield run
    for each in started:
        each.end()


def content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def steelyard(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "steelyard", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def assert_nothing_stays(run: Run, cluster: Cluster) -> None:
    assert until(lambda: not cluster.unfinished()), cluster.unfinished()
    assert until(lambda: not run.bearers()), run.bearers()
    if not until(lambda: not list(run.store.glob("scratch/*")), 5):
        # Slurm may end the agent of a lost node before that has cleared up; `clean` finds what is left.
        cleaned = steelyard("clean")
        assert cleaned.returncode == 0, cleaned.stderr
        assert not list(run.store.glob("scratch/*")), cleaned.stdout


def test_a_file_of_the_laptop_runs_on_nodes_with_networks_of_their_own(
    own_place: Path, cluster: Cluster
) -> None:
    if not shutil.which("fio"):
        pytest.skip("fio is not installed")
    file = str(ROOT / "examples" / "lockstep.yaml")
    done = steelyard("run", file, "--site", "slurm", "--repeat", "1", "--disturbed", "include")
    assert done.returncode == 0, done.stderr
    assert "site slurm: 4 hosts" in done.stdout
    (path,) = (own_place / "store").glob("runs/*/journal.ndjson")
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    trials = [line for line in lines if line["kind"] == "trial-ended"]
    assert sorted(line["parameters"]["nodes"] for line in trials) == [1, 2, 4]
    assert {line["status"] for line in trials} == {"ok"}, trials
    assert ["n1", "n2", "n3", "n4"] in [line["on"] for line in trials]


def names_lost_node(text: str) -> bool:
    """What is cut off is silent. Where Slurm is first, it ends the other nodes: one of them is named."""
    return "n3" in text or "it ended the connection" in text


def test_a_node_that_is_cut_off_is_named_and_resume_completes(
    run_on: Callable[[int], Run], cluster: Cluster
) -> None:
    run = run_on(4)
    run.await_trial()
    cluster.link("n3", "down")
    code, said = run.ended()
    assert code == 3, said
    for trial in run.journal("trial-ended"):  # none where Slurm was first: what is cut off is made again
        assert (trial["status"], trial["category"]) == ("failed", "host-failed")
        assert names_lost_node(trial["message"])
    assert run.journal("run-ended")[-1]["state"] == "failed"
    assert names_lost_node(run.journal("run-ended")[-1]["reason"])
    assert "steelyard resume" in said
    assert_nothing_stays(run, cluster)
    cluster.return_to_service("n3")
    again = steelyard("resume", "last")
    assert again.returncode == 0, again.stderr
    assert run.journal("run-ended")[-1]["state"] == "complete"
    assert [line["repetition"] for line in run.journal("trial-ended")] == [1, 2]
    assert run.journal("trial-ended")[-1]["status"] == "ok"
    assert_nothing_stays(run, cluster)


def test_the_node_of_the_controller_is_cut_off(run_on: Callable[[int], Run], cluster: Cluster) -> None:
    """Slurm tells it. Its controller is stopped, as one is that waits for a file system far away."""
    run = run_on(3)
    run.await_trial()
    cluster.link("n1", "down")
    run.stop_controller()
    code, said = run.ended()
    assert code == 3, said
    assert "has failed: a node failed (n1), but run " in said
    assert "steelyard resume" in said
    assert "has failed: a node failed (n1)" in steelyard("status", "last").stdout
    assert not cluster.unfinished(), "no node is held for a run without a controller"
    cluster.link("n1", "up")
    run.let_controller_go_on()
    assert until(lambda: "by another process" not in steelyard("resume", "last").stderr), "it does not notice"
    assert run.journal("run-ended")[-1]["state"] == "complete"
    assert run.journal("trial-ended")[-1]["status"] == "ok"
    assert_nothing_stays(run, cluster)
