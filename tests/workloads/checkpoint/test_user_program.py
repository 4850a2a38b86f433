"""A program of the user's in place of ours: asked to save by a signal, a file or a command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loading import loaded
from steelyard.hosts.minder.processes import list_pids
from steelyard.model.command import Output

checks = loaded(Path(__file__).with_name("test_checkpoint.py"))
SAVER = [sys.executable, str(Path(__file__).with_name("saver.py"))]
HOOKS: dict[str, Any] = {
    "run": SAVER,
    "ready": "ready",
    "save": {"signal": "USR1"},
    "state_file": "state.bin",
    "restore": [*SAVER, "--resume"],
    "state": ["cat", "number"],
}


@pytest.mark.parametrize(
    "save", [{"signal": "USR1"}, {"file": "please"}, {"command": ["sh", "-c", "cp number state.bin"]}]
)
def test_it_is_saved_killed_and_restored(tmp_path: Path, save: dict[str, Any]) -> None:
    ended = checks.run_program(tmp_path, program={**HOOKS, "save": save})
    assert ended.returncode == 0, ended.stderr
    workload = checks.made(program={**HOOKS, "save": save})
    reading = workload.parse("run", Output(checks.EXIT, ended.stdout, ended.stderr))
    assert set(reading.values) == {metric.name for metric in workload.metrics()}
    assert reading.values["state_size"] in (2, 3)
    assert not who_runs_in(tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"restore": [*SAVER, "--resume", "--forget"]}, "`state` printed '42' before, and '43' after the"),
        (
            {"restore": [*SAVER, "--resume", "--never-ready"]},
            "ended with 5 before the file of `ready`",
        ),
        ({"run": [*SAVER, "--never-ready"]}, "ended with 5 before the file of `ready` was there"),
        ({"run": ["./nothing"]}, "cannot start ./nothing: No such file or directory"),
        ({"save": {"signal": "HUP"}}, "ended with -1 before the file of `state_file`"),
        ({"save": {"command": ["sh", "-c", "echo no >&2; exit 3"]}}, "sh ended with 3; no"),
        ({"save": {"command": ["true"]}}, "state.bin: No such file or directory"),
        ({"state": ["./nothing"]}, "cannot start ./nothing"),
    ],
)
def test_what_goes_wrong_is_said_and_nothing_runs_on(tmp_path: Path, change: Any, said: str) -> None:
    ended = checks.run_program(tmp_path, program={**HOOKS, **change})
    assert ended.returncode == 1
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not who_runs_in(tmp_path)


def who_runs_in(folder: Path) -> list[int]:
    """Processes whose directory it is."""
    processes = []
    for pid in list_pids():
        try:
            if Path(f"/proc/{pid}/cwd").readlink() == folder:
                processes.append(pid)
        except OSError:
            continue
    return processes


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"program": {**HOOKS, "save": {}}}, "give one of 'signal', 'file' and 'command'"),
        ({"program": {**HOOKS, "save": {"signal": "USR1", "file": "x"}}}, "give one of"),
        ({"program": {**HOOKS, "save": {"signal": "KILL"}}}, "USR1"),
        ({"program": HOOKS, "memory": "5MB"}, "memory: remove it; `program` has its own"),
        ({"program": {**HOOKS, "run": []}}, "at least 1 item"),
    ],
)
def test_hooks_that_do_not_fit_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        checks.made(**options)


def test_how_long_it_takes_nobody_knows() -> None:
    assert checks.made(program=HOOKS).seconds() is None
