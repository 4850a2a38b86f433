"""Runs on this machine that are suspended, continued and cancelled, and one that answers nobody."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Lab, Started

    Until = Callable[[Callable[[], Any]], bool]

SLOW = """
experiment: slow
workload:
  use: command
  script: echo began >> $DIARY; while [ ! -e $GATE ]; do sleep 0.05; done
  env: {DIARY: '%s', GATE: '%s'}
repeat: 3
disturbed: include
"""


class Scene:
    """A run of three trials, each of which waits until the gate is there."""

    def __init__(self, lab: Lab, until: Until) -> None:
        self.lab, self.until = lab, until
        self.gate, self.diary = lab.place / "gate", lab.place / "diary"
        self.runner: Started = lab.start("run", "-q", lab.file(SLOW % (self.diary, self.gate)))
        assert until(lambda: self.begun() == 1), self.runner.said()

    def begun(self) -> int:
        return len(self.diary.read_text().splitlines()) if self.diary.exists() else 0

    def kinds(self) -> list[str]:
        return [str(line["kind"]) for line in self.lab.journal()]

    @property
    def controller(self) -> int:
        return self.runner.process.pid


@pytest.fixture
def scene(lab: Lab, until: Until) -> Scene:
    return Scene(lab, until)


def test_a_suspended_run_lets_another_one_measure_and_goes_on(scene: Scene, tmp_path: Path) -> None:
    lab, until = scene.lab, scene.until
    asked = lab.steelyard("suspend", "last")
    assert (asked.code, "no new trial begins" in asked.said) == (0, True), asked.said
    scene.gate.touch()
    assert until(lambda: "run-suspended" in scene.kinds())
    assert scene.begun() == 1, "the trial that was running was finished, no other one began"
    told = lab.steelyard("status", "last").said
    assert "is suspended: 1 trials done" in told
    assert "suspended it" in told
    assert "this machine's turn was given back" in told
    again = lab.steelyard("suspend", "last")
    assert again.code != 0
    assert "suspended it already" in again.said
    other = lab.nest("other").steelyard("run", "-q", "--repeat", "1", "--undecided", "pass", "--", "true")
    assert other.code == 0, other.said
    assert lab.steelyard("continue", "last").code == 0
    assert scene.runner.ended().code == 0
    acknowledged = [line for line in lab.journal() if line["kind"] == "action-acknowledged"]
    assert [line["action"] for line in acknowledged] == ["suspend", "continue"]
    assert all(line["by"] and line["asked"] <= line["wall"] for line in acknowledged)
    assert len(lab.results()) == 3


def test_a_cancelled_run_says_who_cancelled_it_and_is_resumed(scene: Scene) -> None:
    lab = scene.lab
    asked = lab.steelyard("cancel", "last")
    assert (asked.code, "acknowledged" in asked.said) == (0, True), asked.said
    assert scene.runner.ended().code == 130
    (ended,) = [line for line in lab.journal() if line["kind"] == "run-ended"]
    (acknowledged,) = [line for line in lab.journal() if line["kind"] == "action-acknowledged"]
    assert (ended["state"], ended["reason"]) == ("cancelled", f"{acknowledged['by']} cancelled it")
    late = lab.steelyard("cancel", "last")
    assert late.code == 2
    assert "is not in progress: it is cancelled" in late.said
    scene.gate.touch()
    assert lab.steelyard("resume", "-q", "last").code == 0
    assert len(lab.results()) == 3


def test_a_controller_that_answers_nobody_can_be_ended_by_force(scene: Scene) -> None:
    lab = scene.lab
    os.kill(scene.controller, signal.SIGSTOP)
    asked = lab.steelyard("suspend", "last")
    assert asked.code != 0
    assert "did not acknowledge" in asked.said
    assert "cancel --force" in asked.said
    forced = lab.steelyard("cancel", "--force", "last")
    assert (forced.code, "its controller was killed" in forced.said) == (0, True), forced.said
    assert scene.runner.ended().code == -signal.SIGKILL
    assert scene.until(lambda: not lab.bearers(lab.runs()[0].name)), "what it started is gone, too"
    assert "is cancelled" in lab.steelyard("status", "last").said
    scene.gate.touch()
    assert lab.steelyard("resume", "-q", "last").code == 0
    assert len(lab.results()) == 3
