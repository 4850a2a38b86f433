"""The way `application`: the program writes its state to a file by itself, and reads it again."""

from __future__ import annotations

import os
import time
from typing import Any

from steelyard.workloads.checkpoint.program.ways.unit_process import UnitProcess, Witness
from steelyard.workloads.checkpoint.program.ways.way import Way

STATE = "state"


class ApplicationWay(Way):
    """One unit, which is killed after it was saved; another process goes on with its state."""

    def __init__(self, asked: dict[str, Any], text: str) -> None:
        self._text = text
        self._witness = Witness(asked["content"], asked["memory"], asked["steps"])
        self._unit = UnitProcess(text)
        self.path = os.path.abspath(STATE)

    def begin(self) -> None:
        """A unit with its content, at work."""
        self._witness.fill(self._unit)

    def save(self) -> dict[str, float]:
        """Seconds by step; `save` is all of it, as who asked for it sees it. Raises CheckpointFault."""
        began = time.perf_counter()
        took = self._unit.ask("save", path=self.path)["took"]
        return {**took, "save": time.perf_counter() - began}

    def kill(self) -> None:
        """Only the file is left; the process that will go on waits, so that its start does not count."""
        self._unit.kill()
        self._unit = UnitProcess(self._text)
        self._unit.ask("greet")

    def restore(self) -> dict[str, float]:
        """Seconds until the new process has the state. Raises CheckpointFault."""
        began = time.perf_counter()
        self._unit.ask("restore", path=self.path)
        return {"restore": time.perf_counter() - began}

    def check(self) -> None:
        """The state is that of before, and in memory. Raises CheckpointFault."""
        self._witness.check(self._unit, self.path)

    def end(self) -> None:
        """Leave no process."""
        self._unit.kill()
