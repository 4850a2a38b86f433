"""`steelyard cluster` on a real Slurm: databases in jobs, asked and steered from outside."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from steelyard.services.cassandra.home import CASSANDRA
from steelyard.tools.find import install_directory

pytestmark = pytest.mark.xdist_group("batch")
HERE = Path(__file__).parent
clusters = loaded(HERE / "clusters.py")
slurm = loaded(HERE.parent / "sites" / "slurm_cluster.py")


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from slurm.running_cluster(tmp_path_factory.mktemp("slurm"))


@pytest.fixture
def bench(conf: Path) -> Iterator[Any]:
    with clusters.bench(SLURM_CONF=str(conf)) as found:
        yield found
        for job in jobs(found).split():
            subprocess.run(["scancel", job], env=found.env, check=False)


def jobs(bench: Any, form: str = "%i") -> str:
    argv = ["squeue", "--noheader", "--states=PD,R,CG,S", f"--format={form}"]
    return subprocess.run(argv, env=bench.env, capture_output=True, text=True, check=True).stdout


def test_a_database_in_a_job_is_used_asked_joined_and_stopped(bench: Any) -> None:
    app = "sh -c 'echo at $STEELYARD_SERVICE_PORT; pwd; exit 7'"
    common = ("--site", "slurm", "--database", "redis")
    done = bench.cluster("run", *common, "-j", "brain", "-nC", "2", "-nA", "1", "-d", "-t", "0:10", "-a", app)
    assert done.returncode == 7, (done.stdout, done.stderr, bench.log())
    assert done.stdout.startswith("at "), "the application's output comes as it is"
    assert done.stdout.endswith(f"{bench.place}\n"), "it runs where it was submitted"
    assert "brain" in jobs(bench, "%j"), "it stays up when its application has ended"
    assert jobs(bench, "%D").strip() == "3"
    found = bench.comes_to("holding")
    assert [node["state"] for node in found["nodes"]["ring"]] == ["up", "up"]
    assert 300 < found["left"] < 600
    assert "running" in found["job"]
    joined = bench.cluster("attach", "brain", "--site", "slurm", "-t", "0:10", "-a", "sh -c 'exit 3'")
    assert joined.returncode == 3, joined.stderr
    stopped = bench.cluster("stop")
    assert stopped.returncode == 0, stopped.stderr
    assert clusters.until(lambda: not jobs(bench)), bench.log()
    assert [bench.ending(run)["state"] for run in bench.runs()] == ["complete", "complete"]
    assert bench.status() == []
    assert not bench.bearers()
    assert not bench.left()


def test_one_that_waits_in_the_queue_is_told_of_and_killed(bench: Any) -> None:
    common = ("run", "--site", "slurm", "--database", "redis", "--detach", "-t", "0:10", "-nT")
    first = bench.cluster(*common, "4", "-j", "all")
    assert first.returncode == 0, first.stderr
    bench.comes_to("holding", "all")
    second = bench.cluster(*common, "1", "-j", "late")
    assert second.returncode == 0, second.stderr
    found = bench.status("late")
    assert found["doing"] == "waiting for its job"
    assert "waits in the queue" in found["job"]
    refused = bench.cluster("stop", "late")
    assert refused.returncode == 2
    assert "cluster kill late" in refused.stderr
    assert bench.cluster("status").stdout.count("\n") == 2, "a line for each"
    ambiguous = bench.cluster("stop")
    assert ambiguous.returncode == 2
    assert "all" in ambiguous.stderr
    assert "late" in ambiguous.stderr
    for name in ("late", "all"):
        assert bench.cluster("kill", name).returncode == 0
    assert clusters.until(lambda: not jobs(bench)), bench.log()
    assert clusters.until(lambda: not bench.bearers())
    assert bench.status() == []


@pytest.mark.full
def test_a_time_limit_in_the_middle_of_a_snapshot_leaves_none(bench: Any) -> None:
    flag, seen = bench.stalls()
    common = ("--site", "slurm", "--database", "redis", "-nT", "1", "-t", "0:01")
    app = f"sh -c 'echo used; touch {flag}'"
    done = bench.cluster("run", *common, "--snapshot", "--finish", "--appl", app)
    assert done.returncode == 130, (done.stderr, bench.log())
    assert done.stdout == "used\n"
    assert seen.exists(), "the snapshot had begun"
    assert bench.journal("snapshot-begun")
    assert not bench.journal("snapshot-taken")
    flag.unlink()
    assert json.loads(bench.cluster("snapshots", "--json").stdout) == []
    assert clusters.until(lambda: not jobs(bench)), bench.log()
    assert clusters.until(lambda: not bench.bearers())
    assert not bench.left()


needs_cassandra = pytest.mark.skipif(
    not install_directory(CASSANDRA).is_dir(),
    reason="Cassandra is not installed (steelyard install cassandra)",
)


@pytest.mark.full
@needs_cassandra
def test_a_ring_is_kept_and_recovered_into_another_number_of_nodes(bench: Any) -> None:
    common = ("--site", "slurm", *clusters.SMALL, "-t", "0:20", "--snapshot")
    flag = bench.place / "go"
    wait = f"{clusters.CELLS} load 500; until [ -e {flag} ]; do sleep 0.1; done"
    app = f"sh -c {shlex.quote(wait)}"
    running = bench.starts("run", *common, "-nC", "2", "-nA", "2", "-d", "--finish", "--appl", app)
    found = bench.comes_to("running the application")
    assert [node["state"] for node in found["nodes"]["ring"]] == ["up", "up"]
    assert all(node["load"] and node["tokens"] for node in found["nodes"]["ring"])
    flag.touch()
    said, complaints = running.communicate()
    assert running.returncode == 0, (complaints, bench.log())
    assert said == "500\n"
    listed = bench.cluster("recover")
    assert listed.returncode == 2
    assert "500" in listed.stdout
    counted = bench.cluster(
        *("recover", "--latest", "-nC", "3", "--finish", "-t", "0:20", *clusters.SMALL),
        *("--appl", f"{clusters.CELLS} count"),
    )
    assert counted.stdout == "500\n", (counted.stderr, bench.log())
    assert counted.returncode == 0
    (recovered,) = bench.journal("snapshot-recovered")
    assert recovered["hosts"] == 3
    assert clusters.until(lambda: not jobs(bench))
    assert not bench.bearers()


@pytest.mark.full
@needs_cassandra
def test_stop_takes_the_snapshot_that_is_planned(bench: Any) -> None:
    common = ("--site", "slurm", "-t", "0:20")
    started = bench.cluster("run", *common, "-nT", "2", *clusters.SMALL, "--snapshot", "--detach")
    assert started.returncode == 0, started.stderr
    bench.comes_to("holding")
    loaded = bench.cluster("attach", *common, "--appl", f"{clusters.CELLS} load 50")
    assert loaded.stdout == "50\n", (loaded.stderr, bench.log())
    assert bench.cluster("stop").returncode == 0
    assert clusters.until(lambda: not jobs(bench)), bench.log()
    assert bench.journal("snapshot-taken", bench.runs()[0])[0]["rows"] == 50
    assert bench.cluster("snapshots").stdout.count("\n") == 2
