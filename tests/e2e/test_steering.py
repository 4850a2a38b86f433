"""Runs on this machine that are watched, suspended, continued and cancelled; one that answers nobody."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
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


class Terminal:
    """A command in a terminal of 80 columns, and what it has written there, but for what moves the cursor."""

    def __init__(self, lab: Lab, *words: str) -> None:
        env = {**os.environ, "STEELYARD_STORE": str(lab.store), "TERM": "xterm"}
        env = {name: value for name, value in env.items() if name not in ("COLUMNS", "LINES")}
        self._raw = b""
        self._pid, self._ours = pty.fork()
        if self._pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            os.chdir(lab.place)
            os.execve(sys.executable, [sys.executable, "-m", "steelyard", *words], env)
        self._code: int | None = None
        os.set_blocking(self._ours, False)

    def read(self) -> str:
        """All that was written so far."""
        with suppress(OSError):  # nothing is there now, or nobody writes any more
            while part := os.read(self._ours, 65536):
                self._raw += part
        return self.text

    @property
    def text(self) -> str:
        shown = self._raw.decode(errors="replace").replace("\r", "")
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def wait(self) -> int:
        """Its exit code; all it wrote is read, as it would wait for its reader."""
        while self._code is None:
            self.read()
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
            time.sleep(0.02)
        self.read()
        return self._code

    def close(self) -> None:
        if self._code is None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._ours)


class Scene:
    """A run of three trials, each of which waits until the gate is there."""

    def __init__(self, lab: Lab, until: Until) -> None:
        self.lab, self.until = lab, until
        self.terminals: list[Terminal] = []
        self.gate, self.diary = lab.place / "gate", lab.place / "diary"
        self.runner: Started = lab.start("run", "-q", lab.file(SLOW % (self.diary, self.gate)))
        assert until(lambda: self.begun() == 1), self.runner.said()

    def open_terminal(self, *words: str) -> Terminal:
        self.terminals.append(Terminal(self.lab, *words))
        return self.terminals[-1]

    def begun(self) -> int:
        return len(self.diary.read_text().splitlines()) if self.diary.exists() else 0

    def kinds(self) -> list[str]:
        return [str(line["kind"]) for line in self.lab.journal()]

    @property
    def controller(self) -> int:
        return self.runner.process.pid


@pytest.fixture
def scene(lab: Lab, until: Until) -> Iterator[Scene]:
    scene = Scene(lab, until)
    yield scene
    for terminal in scene.terminals:
        terminal.close()


def test_a_suspended_run_lets_another_one_measure_and_goes_on(scene: Scene, tmp_path: Path) -> None:
    lab, until = scene.lab, scene.until
    asked = lab.steelyard("suspend", "last")
    assert (asked.code, "no new trial begins" in asked.said) == (0, True), asked.said
    scene.gate.touch()
    assert until(lambda: "run-suspended" in scene.kinds())
    assert scene.begun() == 1, "the trial that was running was finished, no other one began"
    told = lab.steelyard("status", "last").said
    assert "is suspended: 1 trial done" in told
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


def test_a_run_that_goes_on_is_extended(scene: Scene) -> None:
    lab = scene.lab
    refused = lab.steelyard("extend", "last", "--repeat", "3")
    assert refused.code != 0
    assert "3 repetitions already" in refused.said
    asked = lab.steelyard("extend", "last", "--repeat", "5")
    assert (asked.code, "it acknowledged" in asked.said) == (0, True), asked.said
    scene.gate.touch()
    assert scene.runner.ended().code == 0
    assert len(lab.results()) == 5
    (extended,) = [line for line in lab.journal() if line["kind"] == "run-extended"]
    assert extended["by"]
    assert scene.kinds().count("run-ended") == 1
    assert "repeat: 5" in (lab.runs()[0] / "experiment.yaml").read_text()


def test_who_watches_sees_cells_fill_and_gets_the_results(scene: Scene) -> None:
    """In a terminal of 80 columns, as over ssh."""
    lab, terminal = scene.lab, scene.open_terminal("watch", "last")
    assert scene.until(lambda: "now  repetition 1" in terminal.read()), terminal.text
    assert lab.steelyard("suspend", "last").code == 0
    scene.gate.touch()
    assert scene.until(lambda: "suspended by" in terminal.read()), terminal.text
    assert "1 of 3 trials" in terminal.text
    assert lab.steelyard("continue", "last").code == 0
    assert terminal.wait() == 0
    assert "wall  median" in terminal.text
    assert scene.runner.ended().code == 0


def test_who_stops_watching_leaves_the_run_alone(scene: Scene) -> None:
    terminal = scene.open_terminal("watch", "last")
    assert scene.until(lambda: "now  repetition 1" in terminal.read()), terminal.text
    terminal.type("\x03")
    assert terminal.wait() == 0
    assert "goes on" in terminal.text
    assert scene.runner.process.poll() is None
    scene.gate.touch()
    assert scene.runner.ended().code == 0


def test_a_run_that_is_killed_is_not_shown_as_running(scene: Scene) -> None:
    terminal = scene.open_terminal("watch", "last")
    assert scene.until(lambda: "now  repetition 1" in terminal.read()), terminal.text
    os.kill(scene.controller, signal.SIGKILL)
    assert terminal.wait() == 0
    assert "died" in terminal.text
