"""HyperQueue's own side: the builders, the parser on what its server and our program said, the task."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from patience import until
from steelyard.errors import HostError, ParseFailure, UsageError
from steelyard.sites.hyperqueue import _PROGRAM, Hyperqueue, HyperqueueOptions
from steelyard.sites.hyperqueue.program.notes import Notes
from steelyard.sites.kit.batch.job import JobRequest, JobState

DATA = Path(__file__).parents[1] / "data" / "batch" / "hyperqueue-0.27.0.json"
REQUEST = JobRequest("name", ("prog",), 1, 7201, Path("/o/100%.txt"), Path("/w"))


def site(**options: Any) -> Hyperqueue:
    return Hyperqueue(HyperqueueOptions(**options))


def test_submit_line() -> None:
    request = dataclasses.replace(REQUEST, extra_options=("--priority=3",))
    made = site(server_directory="/s", setup=("module load x",), python="/py", cores=3)
    assert made.scheduler.submit_argv(request) == (
        sys.executable, _PROGRAM, "--server-dir", "/s", "submit", "--name", "name", "--directory", "/w",
        "--output", "/o/100%.txt", "--python", "/py", "--seconds", "7201", "--warning", "60", "--cpus", "all",
        "--priority=3", "--", "/bin/bash", "-l",
    )  # fmt: skip
    argv = made.scheduler.submit_argv(dataclasses.replace(request, exclusive=False))
    assert argv[argv.index("--cpus") + 1] == "3"


def test_what_it_cannot_do_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="one host, but 2 were requested"):
        site().scheduler.submit_argv(dataclasses.replace(REQUEST, hosts=2))
    with pytest.raises(ValidationError, match="one host, not 4"):
        site(nodes=4)
    for name in ("queue", "account", "qos", "reservation"):
        with pytest.raises(ValidationError, match=f"leave `{name}` out"):
            site(**{name: "x"})
    with pytest.raises(HostError, match="n2 is not the host of HyperQueue's job 7"):
        site().scheduler.transport("7", "n2", "n2")
    assert site().size() == 1


def test_recorded_status() -> None:
    jobs = site().scheduler.parse_status(DATA.read_text(), 0.0)
    assert {identity: job.sentence for identity, job in jobs.items()} == {
        "1": "job 1 has finished",
        "2": "job 2 has failed: exit code 7",
        "3": "job 3 was cancelled",
        "4": "job 4 reached its time limit of 0:02",
        "5": "job 5 is running on localhost",
        "6": "job 6 waits in the queue: waits for a free worker that lives long enough",
        "7": "job 7 was cancelled",
    }
    assert jobs["5"].limit == 600
    assert jobs["5"].start_time == pytest.approx(1795636000, abs=1e7)


@pytest.mark.parametrize("worker", ["worker", "cancelled"])
def test_a_job_that_its_worker_ended(worker: str) -> None:
    facts = json.loads(DATA.read_text())[4] | {"failed": 1, "completed": True, "cause": worker}
    job = site().scheduler.parse_status(json.dumps([facts]), 0.0)["5"]
    assert job.state is (JobState.FAILED if worker == "worker" else JobState.CANCELLED)


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", "null", '[{"id": 1}]', '[{"id": "x", "completed": true}]', "\0"]
)
def test_nonsense(text: str) -> None:
    if text == "{}":
        assert site().scheduler.parse_status(text, 0.0) == {}
        return
    with pytest.raises(ParseFailure):
        site().scheduler.parse_status(text, 0.0)


@pytest.mark.parametrize("said", ["", "job 17", "17 18", "-1", "٣"])
def test_what_is_no_job_id(said: str) -> None:
    with pytest.raises(ParseFailure):
        site().scheduler.parse_job_id(said)


def test_only_a_job_of_ours_is_our_job() -> None:
    scheduler = site().scheduler
    assert scheduler.own_job({"HQ_JOB_ID": "7"}) is None, "another program of the user's started us"
    inside = {"HQ_JOB_ID": "7", "STEELYARD_HYPERQUEUE_HOST": "n1.cluster.example"}
    assert scheduler.own_job(inside) == "7"
    assert scheduler.parse_hosts(inside, "") == ("n1",)


def task_argv(place: Path, seconds: str) -> list[str]:
    program = [sys.executable, "-I", "-S", _PROGRAM, "task", "--notes", str(place / "notes")]
    return [*program, "--output", str(place / "out"), "--seconds", seconds, "--warning", "1", "--", "/bin/sh"]


def task(place: Path, script: str) -> subprocess.Popen[str]:
    """A task as a worker starts it: in a session of its own."""
    environment = {**os.environ, "HQ_JOB_ID": "7"}
    started = subprocess.Popen(
        task_argv(place, "300"), stdin=subprocess.PIPE, env=environment, text=True, start_new_session=True
    )
    assert started.stdin
    with suppress(BrokenPipeError), started.stdin:  # one that is cancelled reads nothing
        started.stdin.write(script)
    return started


def test_a_task_ends_all_that_it_started_when_it_is_cancelled(tmp_path: Path) -> None:
    started = task(tmp_path, "trap 'sleep 0.1' TERM; echo ready; sleep 300 & wait; echo over\n")
    notes = Notes(tmp_path / "notes", "7")
    assert until(lambda: "ready" in ((tmp_path / "out").read_text() if (tmp_path / "out").exists() else ""))
    notes.ask_to_cancel()
    assert started.wait() == -signal.SIGKILL
    assert notes.read()["cause"] == "cancelled"
    assert (tmp_path / "out").read_text().splitlines()[-1] == "over"
    assert until(lambda: not group_exists(started.pid))


def test_a_task_that_is_cancelled_before_it_starts_runs_nothing(tmp_path: Path) -> None:
    notes = Notes(tmp_path / "notes", "7")
    notes.ask_to_cancel()
    assert task(tmp_path, "echo ran\n").wait() == 125
    assert (tmp_path / "out").read_text() == ""
    assert notes.read() == {}
    assert (tmp_path / "notes").stat().st_mode & 0o077 == 0


WORKER = """
import os, subprocess, sys, time
task = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, start_new_session=True)
task.stdin.write(b"sleep 300\\n")
task.stdin.close()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
print(task.pid)
"""


def test_a_task_whose_worker_dies_ends_its_script(tmp_path: Path) -> None:
    """The kernel tells it by SIGTERM, as HyperQueue has asked it to; here, we do."""
    noted = str(tmp_path / "notes" / "7.json")
    worker = subprocess.run(
        [sys.executable, "-c", WORKER, noted, *task_argv(tmp_path, "300")], check=True, capture_output=True,
        text=True, env={**os.environ, "HQ_JOB_ID": "7"},
    )  # fmt: skip
    os.kill(int(worker.stdout), signal.SIGTERM)
    assert until(lambda: Notes(tmp_path / "notes", "7").read()["cause"] == "worker")
    assert until(lambda: not group_exists(int(worker.stdout)))


def group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
