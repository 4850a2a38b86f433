"""`use: jobs`: the script of a job, run by the shell of this machine as an engine would."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import PurePosixPath

import pytest

from patience import until
from steelyard.model.command import Command
from steelyard.workloads.jobs import script
from steelyard.workloads.jobs.script import stamp_program, write_script


@pytest.fixture
def start(tmp_path):
    """Start the script of a job in a scratch of its own."""
    scratch = tmp_path / "it's scratch"
    (scratch / "stamps").mkdir(parents=True)
    started = []

    def begin(command, processes=1):
        text = write_script(PurePosixPath(scratch), processes, command)
        (scratch / "job.sh").write_text(text)
        words = ["sh", str(scratch / "job.sh"), "3.0"]
        started.append(subprocess.Popen(words, cwd="/", start_new_session=True))
        return started[-1], scratch

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def stamps(scratch):
    lines = [line.split() for line in (scratch / "stamps" / "3.0").read_text().splitlines()]
    return lines, [float(word) for line in lines for word in line if word.replace(".", "").isdigit()]


def test_it_stamps_itself_and_each_process(start):
    job, scratch = start(stamp_program(("sh", "-c", 'echo "$0"', "a  b;c")), processes=3)
    assert job.wait() == 0
    lines, _ = stamps(scratch)
    assert [line[0] for line in lines] == ["began", "host", "process", "process", "process", "ended"]
    assert lines[-1][2] == "0"
    began, ended = float(lines[0][1]), float(lines[-1][1])
    assert all(began < float(first) <= float(last) < ended for _, first, last in lines[2:-1])
    assert (scratch / "output").read_text().splitlines() == ["a  b;c"] * 3


@pytest.mark.parametrize("processes", [1, 2])
def test_a_process_that_fails_fails_the_job(start, processes):
    job, scratch = start(stamp_program(("sh", "-c", "exit 7")), processes)
    assert job.wait() == 7
    assert stamps(scratch)[0][-1][2] == "7"


def test_a_program_that_is_not_there_fails_the_job(start):
    job, scratch = start(stamp_program(("no-such-program",)))
    assert job.wait() == 127
    assert "no-such-program" in (scratch / "output").read_text()


def test_variables_and_a_directory_reach_the_process(start):
    command = Command(("sh", "-c", 'echo "$A|$PWD" >&2'), env={"A": "b c'"}, cwd=PurePosixPath("/tmp"))
    job, scratch = start(command)
    assert job.wait() == 0
    assert (scratch / "output").read_text() == "b c'|/tmp\n"


def test_a_warning_of_the_limit_does_not_end_it(start, tmp_path):
    waiting = f"until [ -e '{tmp_path}/go' ]; do sleep 0.05; done; exit 5"
    job, scratch = start(stamp_program(("sh", "-c", waiting)))
    stamp = scratch / "stamps" / "3.0.0"
    assert until(lambda: stamp.exists() and stamp.read_text())
    for _ in range(3):
        job.send_signal(signal.SIGUSR1)
    (tmp_path / "go").touch()
    assert job.wait() == 5


@pytest.mark.parametrize("how", ["terminated", "stamps/3.0.began", "job.sh"])
def test_all_of_it_ends_when_it_is_terminated_or_misses_a_file(start, how):
    seconds = f"300.{os.getpid()}"  # tests beside this one look for their own
    job, scratch = start(stamp_program(("sleep", seconds)), processes=2)
    assert until(lambda: len(find_sleeping(seconds)) == 2)
    if how == "terminated":
        job.terminate()
    else:
        (scratch / how).unlink()  # the others may have come while all was being removed
    assert job.wait() != 0
    assert until(lambda: not find_sleeping(seconds))


def test_a_program_that_loses_a_signal_is_asked_again(start, tmp_path):
    seconds = f"301.{os.getpid()}"
    steps = (
        'trap ": >lost" TERM',
        ": >ready",
        "until [ -e lost ]; do sleep 0.05; done",
        f"exec sleep {seconds}",
    )
    job, scratch = start(stamp_program(("sh", "-c", f"cd {tmp_path}; {'; '.join(steps)}")))
    assert until((tmp_path / "ready").exists)
    (scratch / "job.sh").unlink()
    assert job.wait() == 143
    assert (tmp_path / "lost").exists()
    assert not find_sleeping(seconds)


@pytest.mark.full
def test_a_job_ends_beside_a_program_that_does_not_listen(start, tmp_path):
    deaf = f"trap '' TERM; : >{tmp_path}/ready; while :; do sleep 1; done"
    job, scratch = start(stamp_program(("sh", "-c", deaf)))
    assert until((tmp_path / "ready").exists)
    (scratch / "job.sh").unlink()
    try:
        assert job.wait() == -signal.SIGKILL
    finally:
        os.killpg(job.pid, signal.SIGKILL)


def test_its_watch_ends_with_it_although_it_was_not_told(start, monkeypatch):
    monkeypatch.setattr(script, "_KEEP", script._KEEP.replace("kill $watch\n", ""))
    job, scratch = start(stamp_program(("true",)))
    assert job.wait() == 0
    assert until(lambda: not find_running(str(scratch)))


def test_one_whose_run_has_ended_does_nothing(start, tmp_path):
    (tmp_path / "it's scratch" / "stamps").rmdir()
    job, _ = start(stamp_program(("touch", str(tmp_path / "ran"))))
    assert job.wait() == 0
    assert not (tmp_path / "ran").exists()


def find_running(text):
    words = ("pgrep", "-f", text)
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.split()


def find_sleeping(seconds):
    words = ("pgrep", "-fx", f"sleep {seconds}")
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.split()
