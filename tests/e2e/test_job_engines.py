"""`use: jobs` with real engines: one report of both, and nothing in a queue however a run ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from patience import until
from steelyard.hosts.minder.processes import list_pids, read_proc
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord

pytestmark = pytest.mark.xdist_group("batch")
engines_file = loaded(Path(__file__).parents[1] / "sites" / "job_engines.py")
FILE = """
experiment: jobs
parameters: {engine: [slurm, hyperqueue]}
workload: {use: jobs, engine: "${engine}", OPTIONS}
repeat: 1
disturbed: include
telemetry: off
"""
SITES = """
held: {use: slurm, options: [--hold]}
refusing: {use: slurm, partition: no-such}
"""


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from engines_file.running_engines(tmp_path_factory.mktemp("engines"))


class Bench:
    """The command, where it reaches both engines."""

    def __init__(self, engines: Any, place: Path) -> None:
        self.engines, self.place = engines, place
        self.env = {**os.environ, **engines.variables, "XDG_STATE_HOME": str(place / "state")}
        (place / "sites.yaml").write_text(SITES)

    def argv(self, *words: str) -> list[str]:
        return [*self.engines.enter, sys.executable, "-m", "steelyard", *words]

    def steelyard(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.argv(*words), capture_output=True, text=True, check=False, env=self.env)

    def file(self, options: str) -> str:
        path = self.place / "jobs.yaml"
        path.write_text(FILE.replace("OPTIONS", options))
        return str(path)

    def record(self) -> RunRecord:
        (path,) = Path(os.environ["STEELYARD_STORE"]).glob("runs/*")
        return RunRecord(RunFolder(path))

    def queued(self) -> list[str]:
        """The names of jobs that Slurm has not seen to their end."""
        return self.engines.ask("squeue", "--noheader", "--format=%j").split()

    def leases(self) -> list[Path]:
        return list(self.place.glob("state/steelyard/leases/*.queue"))

    def started(self, *words: str) -> subprocess.Popen[bytes]:
        """A run that goes on beside the test."""
        return subprocess.Popen(
            self.argv("run", *words), env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def controller(self) -> int:
        """The process that drives it: `started` may be what enters the namespace."""
        control = self.record().folder.path / "control.json"
        return int(json.loads(control.read_text())["pid"])


@pytest.fixture
def bench(engines: Any, own_place: Path) -> Bench:
    return Bench(engines, own_place)


def lasting(text: str) -> list[int]:
    """Processes on whose command line this stands."""
    words = f"sleep\0{text}\0".encode()
    return [pid for pid in list_pids() if read_proc(f"/proc/{pid}/cmdline") == words]


def test_both_engines_are_in_one_report(bench: Bench) -> None:
    done = bench.steelyard("run", bench.file("jobs: 6, at_once: 3, processes: 2, retries: 1"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "engine=slurm" in done.stdout
    assert "engine=hyperqueue" in done.stdout
    results = bench.record().results
    assert [result.status for result in results] == ["ok", "ok"]
    for result in results:
        metrics = result.metrics
        assert metrics["failure_rate"] == metrics["failure_rate_retried"] == 0
        assert metrics["submissions"] == 6
        assert 0 < metrics["wait_time_p50"] < metrics["turnaround_time_p50"]
        assert 0 < metrics["launch_time_p50"] < metrics["turnaround_time_p50"]
    assert not bench.queued()
    assert not bench.leases()


@pytest.mark.full
def test_the_example_compares_both_engines(bench: Bench) -> None:
    file = Path(__file__).parents[2] / "examples" / "jobs.yaml"
    done = bench.steelyard("run", str(file), "--repeat", "1", "--undecided", "pass")
    # A busy Slurm may fail a job, and then the requirement is not met: that is its figure, and not our fault.
    unmet = "queue_failure_rate.max == 0  not met" in done.stdout
    assert done.returncode == (1 if unmet else 0), done.stdout + done.stderr
    record = bench.record()
    assert {result.status for result in record.results} == {"ok"}
    page = (record.folder.path / "derived" / "report.html").read_text()
    assert "engine=hyperqueue" in page
    headers = [line for line in done.stdout.splitlines() if line.startswith("cell ")]
    assert headers
    assert not any("queue_wait_time_p99" in line for line in headers), "40 jobs are too few for it"
    assert not bench.queued()


def test_a_running_job_is_asked_for_beside_others(bench: Bench) -> None:
    done = bench.steelyard("run", bench.file("do: status, jobs: 5, processes: 2, queries: 4"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(result.metrics["status_time_p50"] > 0 for result in bench.record().results)
    assert not bench.queued()


def test_a_container_surrounds_the_jobs_and_not_their_submission(bench: Bench) -> None:
    program = "[sh, -c, '[ $$ -lt 9 ]']"  # process ids are small where they are the container's own
    options = f"jobs: 2, program: {program}, wrap: {{in: bubblewrap}}"
    done = bench.steelyard("run", bench.file(options), "-p", "engine=slurm")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [result.metrics["failure_rate"] for result in bench.record().results] == [0]


def test_jobs_that_fail_are_counted_and_submitted_again(bench: Bench) -> None:
    program = f"[sh, -c, 'mkdir {bench.place}/first 2>/dev/null && exit 3; exit 0']"
    done = bench.steelyard(
        "run", bench.file(f"jobs: 3, at_once: 1, retries: 2, program: {program}"), "-p", "engine=slurm"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (result,) = bench.record().results
    assert result.metrics["failure_rate"] == pytest.approx(1 / 3)
    assert result.metrics["failure_rate_retried"] == 0
    assert result.metrics["submissions"] == 4


@pytest.mark.parametrize(
    ("engine", "options", "said"),
    [
        ("refusing", "jobs: 2", "all 2 jobs failed; the first: refused: .*[Ii]nvalid partition"),
        ("held", "jobs: 2, start_within: 1s", "did not start within 1 s .*JobHeldUser"),
        ("slurm", "jobs: 2, program: [sh, -c, exit 9]", "all 2 jobs failed; the first: ended with code 9"),
    ],
)
def test_when_all_fail_the_trial_says_why(bench: Bench, engine: str, options: str, said: str) -> None:
    done = bench.steelyard("run", bench.file(options), "-p", f"engine={engine}")
    (result,) = bench.record().results
    assert result.status == "failed"
    assert re.search(said, done.stdout), done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert not bench.queued()


@pytest.mark.parametrize("engine", ["slurm", "hyperqueue"])
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_job(bench: Bench, engine: str, end: signal.Signals) -> None:
    seconds = f"36{end:02d}.{len(engine)}"
    file = bench.file(f"jobs: 6, program: [sleep, '{seconds}'], limit: 1d")
    run = bench.started(file, "-p", f"engine={engine}")
    assert until(lambda: lasting(seconds)), "no job has started"
    os.kill(bench.controller(), end)
    run.wait()
    assert until(lambda: not lasting(seconds))
    assert until(lambda: not bench.queued()), bench.queued()
    cleaned = bench.steelyard("clean")
    assert cleaned.returncode == 0, cleaned.stderr
    assert not bench.leases()
    assert not list(Path(os.environ["STEELYARD_STORE"]).glob("scratch/*"))


def test_clean_cancels_what_waits_in_the_queue_of_a_dead_run(bench: Bench) -> None:
    run = bench.started(bench.file("jobs: 3"), "-p", "engine=held")
    assert until(lambda: len(bench.queued()) == 3)
    os.kill(bench.controller(), signal.SIGKILL)
    run.wait()
    assert len(bench.queued()) == 3, "nobody has started them, and so they cannot end"
    cleaned = bench.steelyard("clean")
    assert cleaned.returncode == 0, cleaned.stderr
    assert "cancelled jobs sy-" in cleaned.stdout
    assert until(lambda: not bench.queued())
    assert not bench.leases()


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("slrum", "unknown site 'slrum'; did you mean 'slurm'"),
        ("local", "local is no batch scheduler"),
        ("lsf", "Steelyard does not find its jobs by name"),
    ],
)
def test_a_wrong_engine_is_told_at_its_place(bench: Bench, engine: str, said: str) -> None:
    file = Path(bench.file("jobs: 3"))
    file.write_text(file.read_text().replace("[slurm, hyperqueue]", f"[{engine}]"))
    planned = bench.steelyard("plan", str(file))
    assert planned.returncode == 2
    assert "jobs.yaml:4:" in planned.stderr + planned.stdout
    assert said in planned.stderr + planned.stdout
