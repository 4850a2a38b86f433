"""HTCondor's own side: the submit description, the parsers on what a real pool printed, a real pool's run."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loading import loaded
from patience import until
from steelyard.errors import HostError, ParseFailure, UsageError
from steelyard.sites.htcondor import Htcondor, HtcondorOptions
from steelyard.sites.htcondor.description import quote_words
from steelyard.sites.kit.batch.job import JobRequest, JobState

HERE = Path(__file__).parent
DATA = HERE.parent / "data" / "batch"
REQUEST = JobRequest(
    "name",
    ("prog",),
    1,
    7200.5,
    Path("/o/a $(x) \"b\" 'c'"),
    Path("/w $HOME"),
    script_file=Path("/o/job-1.sh"),
)
parse_arguments: Any = loaded(HERE / "fakes" / "condor_arguments.py").parse_arguments


def site(**options: Any) -> Htcondor:
    return Htcondor(HtcondorOptions(**options))


def test_submit_line_and_description() -> None:
    scheduler = site(memory="1000MB").scheduler
    request = dataclasses.replace(
        REQUEST, account="physics.alice", extra_options=("-append", "requirements = X")
    )
    assert scheduler.submit_argv(request) == ("condor_submit", "-terse", "-append", "requirements = X", "-")
    lines = dict(line.split(" = ", 1) for line in scheduler.submit_input(request, "").splitlines()[:-1])
    assert lines["arguments"] == (
        '"\'-c\' \'exec ""$(DOLLAR)0"" >>""$(DOLLAR)1"" 2>&1\' \'/o/job-1.sh\''
        " '/o/a $(DOLLAR)(x) \"\"b\"\" ''c'''\""
    )
    assert lines["initialdir"] == "/w $(DOLLAR)HOME"
    assert (lines["allowed_job_duration"], lines["getenv"]) == ("7201", "PATH")
    assert (lines["request_cpus"], lines["request_memory"]) == ("TARGET.TotalCpus", "954")
    assert lines["accounting_group"] == "physics.alice"
    shared = dataclasses.replace(REQUEST, exclusive=False)
    assert "request_cpus = 3\n" in site(cores=3).scheduler.submit_input(shared, "")
    assert "request_memory" not in site().scheduler.submit_input(shared, "")


@pytest.mark.parametrize("words", [("a",), ("", "it's", '"', "''", "$(A) $$(B) $ENV(C)", "é\\ ")])
def test_arguments_are_read_back_as_they_were(words: tuple[str, ...]) -> None:
    assert tuple(parse_arguments(quote_words(words))) == words


def test_what_it_cannot_do_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="2 were requested from HTCondor"):
        site().scheduler.submit_input(dataclasses.replace(REQUEST, hosts=2), "")
    with pytest.raises(UsageError, match="control characters"):
        site().scheduler.submit_input(dataclasses.replace(REQUEST, output=Path("/a\nqueue 9")), "")
    with pytest.raises(ValidationError, match="one host here, not 4"):
        site(nodes=4)
    for name in ("queue", "qos", "reservation"):
        with pytest.raises(ValidationError, match=f"leave `{name}` out"):
            site(**{name: "x"})
    with pytest.raises(HostError, match=r"n2 is not the host of HTCondor's job 7\.0"):
        site().scheduler.transport("7.0", "n2", "n2")
    assert site().size() == 1


def test_recorded_queue() -> None:
    jobs = site().scheduler.parse_status((DATA / "condor_q-23.9.6.json").read_text(), 0.0)
    assert {identity: job.sentence for identity, job in jobs.items() if identity != "25.0"} == {
        "21.0": "job 21.0 is running on localhost",
        "22.0": "job 22.0 is suspended",
        "23.0": "job 23.0 waits in the queue: waits for a free host that has what it asks for (no match"
        " found)",
        "24.0": "job 24.0 waits in the queue: is held; `steelyard continue` releases it",
        "26.0": "job 26.0 is running on localhost: it is ending",
    }
    assert "HTCondor holds it: Error from slot1_3@localhost: Failed to execute" in jobs["25.0"].sentence
    assert jobs["21.0"].limit == 600
    assert jobs["21.0"].start_time
    scheduler = site().scheduler
    assert scheduler.suspend_argv(jobs["21.0"]) == ("condor_suspend", "21.0")
    assert scheduler.resume_argv(jobs["22.0"]) == ("condor_continue", "22.0")
    assert scheduler.suspend_argv(jobs["23.0"]) == ("condor_hold", "23.0")
    assert scheduler.resume_argv(jobs["24.0"]) == ("condor_release", "24.0")


def test_recorded_history() -> None:
    jobs = site().scheduler.parse_history((DATA / "condor_history-23.9.6.json").read_text())
    assert {identity: job.sentence for identity, job in jobs.items()} == {
        "14.0": "job 14.0 has finished",
        "15.0": "job 15.0 has failed: exit code 7",
        "16.0": "job 16.0 has failed: ended by signal 9",
        "17.0": "job 17.0 reached its time limit of 0:03",
        "18.0": "job 18.0 has failed: it lost its host",
        "19.0": "job 19.0 was cancelled",
        "20.0": "job 20.0 was cancelled",
    }


@pytest.mark.parametrize(
    "text",
    ["{}x", "[1]", "null", '[{"ClusterId": 1}]', '[{"ClusterId": 1, "ProcId": 0, "JobStatus": 9}]',
     '[{"ClusterId": 1, "ProcId": 0, "JobStatus": 4, "ExitBySignal": true}]', "\0"],
)  # fmt: skip
def test_nonsense(text: str) -> None:
    with pytest.raises(ParseFailure):
        site().scheduler.parse_status(text, 0.0)


@pytest.mark.parametrize("text", ["", "[\n]\n", "[]"])
def test_no_job_at_all(text: str) -> None:
    assert site().scheduler.parse_status(text, 0.0) == {}


@pytest.mark.parametrize("said", ["", "1.0 - 1.9", "Submitting job(s).", "17.0"])
def test_what_is_no_job_id(said: str) -> None:
    with pytest.raises(ParseFailure):
        site().scheduler.parse_job_id(said)


def test_the_host_of_a_job() -> None:
    scheduler = site().scheduler
    content = 'Cpus = 4\nMachine = "n1.cluster.example"\nMachineResources = "Cpus Memory"\n'
    assert scheduler.parse_hosts({}, content) == ("n1",)
    assert scheduler.own_host({}, ("n1",)) == "n1"
    with pytest.raises(ParseFailure):
        scheduler.parse_hosts({}, "")


FILE = """
experiment: jobs
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
Steelyard = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def steelyard(htcondor_pool: Path, own_place: Path) -> Steelyard:
    """The command, where it reaches the pool."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [str(htcondor_pool / "inside"), sys.executable, "-m", "steelyard", *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    return run


def written(place: Path, seconds: str) -> str:
    file = place / "jobs.yaml"
    file.write_text(FILE.replace("SECONDS", seconds))
    return str(file)


def sleepers(seconds: str) -> list[int]:
    """Processes of this machine that sleep for so long."""
    found = subprocess.run(["pgrep", "-f", f"^sleep {seconds}"], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


@pytest.mark.full
@pytest.mark.xdist_group("batch")
def test_a_run_in_a_job_of_a_real_pool(steelyard: Steelyard, own_place: Path) -> None:
    done = steelyard("run", written(own_place, "0.05"), "--site", "htcondor")
    assert done.returncode == 0, done.stderr
    assert "site htcondor: 1 host" in done.stdout
    assert done.stdout.rstrip().endswith("report.html")
    (journal,) = Path(os.environ["STEELYARD_STORE"]).glob("runs/*/journal.ndjson")
    lines = list(map(json.loads, journal.read_text().splitlines()))
    assert [line["site"] for line in lines if line["kind"] == "run-submitted"] == ["htcondor"]
    assert [line["status"] for line in lines if line["kind"] == "trial-ended"] == ["ok"] * 4


@pytest.mark.full
@pytest.mark.xdist_group("batch")
def test_a_detached_run_in_a_real_pool_is_steered_and_killed(steelyard: Steelyard, own_place: Path) -> None:
    assert steelyard("run", written(own_place, "3600.5"), "--site", "htcondor", "--detach").returncode == 0
    assert until(lambda: sleepers("3600.5"))
    assert steelyard("suspend", "last").returncode == 0
    assert until(lambda: "is suspended" in steelyard("status", "last").stdout)
    assert steelyard("continue", "last").returncode == 0
    assert until(lambda: "is running" in steelyard("status", "last").stdout)
    (run,) = Path(os.environ["STEELYARD_STORE"]).glob("runs/*")
    asked = ["pgrep", "-f", f"steelyard resume {run.name}"]
    controller = int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()[0])
    os.kill(controller, signal.SIGKILL)
    assert until(lambda: not sleepers("3600.5"))
    assert until(lambda: "has failed: ended by signal 9" in steelyard("status", "last").stdout)
    assert steelyard("resume", "last", "--detach").returncode == 0
    assert until(lambda: sleepers("3600.5"))
    assert steelyard("cancel", "last").returncode == 0
    assert until(lambda: not sleepers("3600.5"))
    assert until(lambda: "was cancelled" in steelyard("status", "last").stdout)


@pytest.mark.full
@pytest.mark.xdist_group("batch")
def test_jobs_of_a_real_pool_are_measured(
    steelyard: Steelyard, own_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_STATE_HOME", str(own_place / "state"))
    file = own_place / "measured.yaml"
    file.write_text(
        "experiment: measured\nworkload: {use: jobs, engine: htcondor, jobs: 4, at_once: 2, processes: 2}\n"
        "repeat: 1\ndisturbed: include\ntelemetry: off\n"
    )
    done = steelyard("run", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    (journal,) = Path(os.environ["STEELYARD_STORE"]).glob("runs/*/journal.ndjson")
    lines = list(map(json.loads, journal.read_text().splitlines()))
    (metrics,) = [line["metrics"] for line in lines if line["kind"] == "trial-ended"]
    assert metrics["failure_rate"] == 0
    assert 0 < metrics["wait_time_p50"] < metrics["turnaround_time_p50"]
    assert not list(own_place.glob("state/steelyard/leases/*"))


def test_a_name_that_is_an_expression_is_refused() -> None:
    with pytest.raises(UsageError, match="not the name of a job"):
        site().scheduler.cancel_named_argv('x" || true || "')


def test_states_are_over_or_not() -> None:
    """A job that HTCondor holds is not over: it can be released."""
    jobs = site().scheduler.parse_status((DATA / "condor_q-23.9.6.json").read_text(), 0.0)
    assert not any(job.state.is_over for job in jobs.values())
    assert jobs["25.0"].state is JobState.QUEUED
