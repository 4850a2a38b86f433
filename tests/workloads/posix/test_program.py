"""The conformance program, run for real: on the directory of the test, and with cases that misbehave."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path, PurePosixPath

import pytest

from patience import PATIENCE
from steelyard.model.command import Exit, Output, Place
from steelyard.workloads.posix import Posix, PosixOptions
from steelyard.workloads.posix.groups import GROUPS
from steelyard.workloads.posix.program.harness import (
    Actor,
    Mismatch,
    NotApplicable,
    PosixCase,
    Unsupported,
    call_in_child,
    expect_equal,
    expect_error,
    expect_true,
)
from steelyard.workloads.posix.program.main import find_identities
from steelyard.workloads.posix.program.runner import GIVE_UP, run_cases

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def run_workload(folder: Path, **options):
    workload = Posix(PosixOptions.model_validate({"case_timeout": "5min", **options}))
    place = Place(PurePosixPath(folder), PurePosixPath("/r"), 2, 2**30, seed=7)
    command = workload.command(place)
    argv = [sys.executable, *command.argv[1:]]
    done = subprocess.run(argv, input=command.stdin, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return workload.parse("run", Output(EXIT, done.stdout, done.stderr))


def ran(folder: Path, monkeypatch, *bodies, seconds: float = PATIENCE, optional: bool = False):
    """How cases end that consist of these functions."""
    monkeypatch.chdir(folder)
    who = find_identities()["user"]
    cases = [
        PosixCase("group", f"case{number}", "", body, "any", optional) for number, body in enumerate(bodies)
    ]
    return run_cases(cases, who, seconds)


def outcomes(answers) -> list[str]:
    return [answer["outcome"] for answer in answers]


def fine(who: Actor) -> None:
    Path("file").write_text("x")


def wrong(who: Actor) -> None:
    expect_equal("content", "a", "b")


def refused(who: Actor) -> None:
    raise OSError(errno.EOPNOTSUPP, "no")


def fatal(who: Actor) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def endless(who: Actor) -> None:
    time.sleep(10_000)


def test_a_local_directory_conforms_and_is_left_empty(tmp_path):
    reading = run_workload(tmp_path, groups=["open", "mkdir", "rename", "permission", "lock"])
    assert reading.facts["failures"] == []
    assert reading.values["passed"] == reading.values["tests"] > 50
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_all_groups_pass_on_a_local_directory(tmp_path):
    reading = run_workload(tmp_path)
    assert reading.facts["failures"] == []
    assert set(reading.facts["table"]) == set(GROUPS)
    assert list(tmp_path.iterdir()) == []


@NEEDS_ROOT
@pytest.mark.full
def test_a_file_system_that_keeps_no_owners_is_found_out(tmp_path):
    if not shutil.which("bindfs") or not Path("/dev/fuse").exists():
        pytest.skip("bindfs is not installed; `apt-get install bindfs` brings it")
    lower, mounted = tmp_path / "lower", tmp_path / "mounted"
    lower.mkdir()
    mounted.mkdir()
    subprocess.run(["bindfs", "--chown-ignore", "--xattr-none", lower, mounted], check=True)
    try:
        reading = run_workload(mounted, groups=["chown", "xattr"], **{"as": "root"})
    finally:
        subprocess.run(["umount", mounted], check=True)
    names = {failure["case"] for failure in reading.facts["failures"]}
    assert "chown.change_owner" in names
    assert {each["case"] for each in reading.facts["unsupported_cases"]} >= {"xattr.set_attribute"}


def test_without_root_its_cases_are_not_applicable(tmp_path):
    code = "import os, sys; os.setgid(64000); os.setuid(64000); os.execvp(sys.argv[1], sys.argv[1:])"
    command = Posix(PosixOptions.model_validate({"groups": ["permission"]})).command(
        Place(PurePosixPath(tmp_path), PurePosixPath("/r"), 2, 2**30, seed=7)
    )
    argv = ["/usr/bin/env", "python3", *command.argv[1:]]
    if os.geteuid() == 0:
        os.chown(tmp_path, 64000, 64000)
        argv = [sys.executable, "-c", code, *argv]
    done = subprocess.run(
        argv, input=command.stdin, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    said = json.loads(done.stdout.splitlines()[-1])
    assert {each["outcome"] for each in said["results"] if each["as"] == "root"} == {"not_applicable"}
    assert {each["outcome"] for each in said["results"] if each["as"] == "user"} == {"passed"}
    assert said["obstacles"] == {"root": "the program does not run as root"}


def test_a_failure_says_what_was_expected(tmp_path, monkeypatch):
    answers = ran(tmp_path, monkeypatch, fine, wrong, fine)
    assert outcomes(answers) == ["passed", "failed", "passed"]
    assert answers[1] == {"outcome": "failed", "expected": "content: 'b'", "got": "'a'"}
    assert list(tmp_path.iterdir()) == []


def test_a_crash_fails_its_case_alone(tmp_path, monkeypatch):
    answers = ran(tmp_path, monkeypatch, fine, fatal, fine)
    assert outcomes(answers) == ["passed", "failed", "passed"]
    assert answers[1]["got"] == "the process ended with status 9"


def test_a_hang_is_ended(tmp_path, monkeypatch):
    answers = ran(tmp_path, monkeypatch, endless, seconds=0.5)
    assert outcomes(answers) == ["timed_out"]
    assert answers[0]["got"] == "none in 0.5 s"
    assert list(tmp_path.iterdir()) == []


def test_after_several_hangs_the_rest_is_not_tried(tmp_path, monkeypatch):
    answers = ran(tmp_path, monkeypatch, *[endless] * (GIVE_UP + 2), fine, seconds=0.2)
    assert outcomes(answers) == ["timed_out"] * (GIVE_UP + 3)
    assert answers[-1]["got"].startswith("not tried")


@pytest.mark.parametrize(("optional", "outcome"), [(True, "unsupported"), (False, "failed")])
def test_only_an_optional_feature_may_be_refused(tmp_path, monkeypatch, optional, outcome):
    assert outcomes(ran(tmp_path, monkeypatch, refused, optional=optional)) == [outcome]


def test_what_a_case_says_of_itself_counts(tmp_path, monkeypatch):
    def lacks(who: Actor) -> None:
        raise Unsupported("no holes")

    def cannot(who: Actor) -> None:
        raise NotApplicable("a container")

    def stray(who: Actor) -> None:
        raise RuntimeError("oops")

    assert outcomes(ran(tmp_path, monkeypatch, lacks, cannot, stray)) == [
        "unsupported",
        "not_applicable",
        "failed",
    ]


def test_locked_directories_are_removed(tmp_path, monkeypatch):
    def lock_up(who: Actor) -> None:
        Path("dir/sub").mkdir(parents=True)
        Path("dir/sub").chmod(0)
        Path("dir").chmod(0)

    assert outcomes(ran(tmp_path, monkeypatch, lock_up)) == ["passed"]
    assert list(tmp_path.iterdir()) == []


def test_expectations_tell_errors_apart(tmp_path):
    expect_error(errno.ENOENT, os.stat, str(tmp_path / "nothing"))
    with pytest.raises(Mismatch) as wrong_error:
        expect_error((errno.EACCES, errno.EPERM), os.stat, str(tmp_path / "nothing"))
    assert (wrong_error.value.expected, wrong_error.value.got) == ("EACCES or EPERM", "ENOENT")
    with pytest.raises(Mismatch, match="success"):
        expect_error(errno.ENOENT, os.stat, str(tmp_path))
    with pytest.raises(Mismatch):
        expect_true("anything", False)


def test_a_child_hands_over_what_it_gives_and_raises():
    assert call_in_child(lambda: [1, "a"]) == [1, "a"]
    with pytest.raises(FileNotFoundError):
        call_in_child(lambda: Path("/nothing/here").stat())
    with pytest.raises(Mismatch, match="content"):
        call_in_child(lambda: expect_equal("content", 1, 2))
    with pytest.raises(Mismatch, match="an answer"):
        call_in_child(lambda: os.kill(os.getpid(), signal.SIGKILL))
