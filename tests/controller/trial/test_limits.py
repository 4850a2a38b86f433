"""Limits bite, the kernel's word for them is in the record, and no control group is left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard import api
from steelyard.model.command import Command
from steelyard.model.control_groups import ControlGroups, Limits
from steelyard.spec.conditions import environment_class
from steelyard.testing.contract.environments import make_image

COUNT = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"
EAT = "x=$(head -c 100000000 /dev/zero | tr '\\0' x); echo ${#x}"


@pytest.fixture(autouse=True)
def groups() -> None:
    """Nobody but root, or who has a group delegated, may set limits."""
    trial = Limits.parse({"memory": "64MiB"}).enter(Command(("true",)), "")
    env = {**os.environ, "STEELYARD_TOKEN": "test:1:1:1"}
    code = subprocess.run(trial.argv, env=env, check=False).returncode
    subprocess.run(ControlGroups().remove_left("test:1:1:1").argv, capture_output=True, check=False)
    if code:
        pytest.skip("control groups may not be written on this machine")


def list_left(run: api.Run) -> str:
    """Groups of a run that are still there."""
    said = subprocess.run(ControlGroups().list_left().argv, capture_output=True, text=True, check=True).stdout
    return " ".join(line for line in said.splitlines() if line.startswith(run.id))


def held(run: api.Run, number: int = 1) -> dict[str, Any]:
    document = json.loads((run.record.folder.trial(number) / "trial.json").read_text())
    return document["phases"][0].get("wrap", {})


def test_a_fifth_of_a_cpu_takes_five_times_as_long(measure: Callable[..., api.Run]) -> None:
    run = measure(
        COUNT,
        options={"wrap": {"cpu_quota": "${quota}"}},
        parameters={"quota": ["20%", None]},
        disturbed="include",
    )
    walls = {trial.result.trial.cell.parameters["quota"]: trial.result.metrics for trial in run.record.trials}
    slowed, free = walls["20%"], walls[None]
    assert slowed["wall"] > 3 * (slowed["user"] + slowed["system"]), "the kernel makes it wait, busy or not"
    assert free["user"] > 0
    (asked,) = [held(run, trial.number) for trial in run.record.trials if held(run, trial.number)]
    assert asked == {"cpu_quota": {"asked": "20%", "got": "20%"}}
    assert list_left(run) == ""


def test_who_takes_more_memory_is_killed(measure: Callable[..., api.Run]) -> None:
    run = measure(EAT, options={"wrap": {"memory": "32MiB"}}, disturbed="include")
    (trial,) = run.record.trials
    assert (trial.result.status, trial.result.category) == ("failed", "crashed")
    assert "takes more memory than its limit, 32MiB" in trial.message
    assert held(run) == {"memory": {"asked": "32MiB", "got": "32MiB"}}
    assert list_left(run) == ""


def test_reading_is_held_to_a_rate(measure: Callable[..., api.Run], own_place: Path) -> None:
    run = measure(
        "dd if=/dev/zero of=f bs=1M count=8 conv=fsync 2> /dev/null; dd if=f of=/dev/null bs=1M iflag=direct",
        options={"wrap": {"io_read": "4MiB/s"}},
        disturbed="include",
    )
    (trial,) = run.record.trials
    if trial.result.status == "failed":
        pytest.skip("the scratch is on no disk that can be read directly")
    assert trial.result.metrics["wall"] > 1.5
    assert held(run) == {"io_read": {"asked": "4194304B/s", "got": "4194304B/s"}}


def test_what_cannot_be_held_is_said_before_the_trial(measure: Callable[..., api.Run]) -> None:
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        pytest.skip("control groups of version 2 hold buffered writes")
    run = measure("true", options={"wrap": {"io_write": "4MiB/s"}})
    (trial,) = run.record.trials
    assert "io_write cannot be limited here: groups of version 1 hold direct writes only" in trial.message
    assert not list(run.record.folder.trial(1).rglob("stdout"))


def test_more_cores_than_there_are_are_refused(measure: Callable[..., api.Run]) -> None:
    run = measure("true", options={"wrap": {"cores": 4000}})
    assert "cores: 4000 are asked for" in run.record.trials[0].message
    run = measure(
        "grep Cpus_allowed_list /proc/self/status", options={"wrap": {"cores": 1}}, disturbed="include"
    )
    assert held(run) == {"cores": {"asked": "1", "got": "1"}}


@pytest.mark.parametrize("name", ["bubblewrap", "podman", "uml"])
def test_limits_hold_in_a_container(measure: Callable[..., api.Run], tmp_path: Path, name: str) -> None:
    if not shutil.which(environment_class(name).needs[0].name):
        pytest.skip(f"{name} is not installed")
    image = make_image(tmp_path / "image")
    wrap = {
        "in": name,
        "image": str(image),
        "memory": "64MiB",
        "cpu_quota": "20%",
        "cores": 1,
        "cpu_policy": "batch",
    }
    run = measure(COUNT, options={"wrap": wrap}, disturbed="include")
    (trial,) = run.record.trials
    assert trial.result.status == "ok", trial.message
    got = {key: value.get("got") for key, value in held(run).items()}
    assert got["memory"] == "64MiB"
    assert got["cpu_quota"] == "20%"
    assert not [mark for mark in trial.result.marks if mark.kind == "fallback"], trial.result.marks
    spent = trial.result.metrics
    assert spent["wall"] > 2 * (spent["user"] + spent["system"]), "the kernel makes it wait"
    eaten = measure("y=x; while :; do y=$y$y; done", options={"wrap": wrap}, disturbed="include")
    assert eaten.record.trials[0].result.category == "crashed"
    assert "its limit, 64MiB" in eaten.record.trials[0].message
    assert list_left(run) == list_left(eaten) == ""
