"""A way to save what is no process: an object of the kernel, which a process writes to a file."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

from steelyard.workloads.checkpoint.program.faults import CheckpointFault
from steelyard.workloads.checkpoint.program.ipc.namespace import enter_own_namespace
from steelyard.workloads.checkpoint.program.ipc.object_unit import OBJECT_ROLE, OBJECTS
from steelyard.workloads.checkpoint.program.ways.application import STATE
from steelyard.workloads.checkpoint.program.ways.unit_process import UnitProcess
from steelyard.workloads.checkpoint.program.ways.way import Way


class KernelObjectWay(Way):
    """The verifier makes the object, so that a unit knows of its content only what it has saved."""

    def __init__(self, asked: dict[str, Any], text: str) -> None:
        enter_own_namespace()  # before there is anything to remove
        self._kind = OBJECTS[asked["state"]]
        self._kind.check_limits(asked)
        self._state, self._text = asked["state"], text
        self._object, self._content = self._kind(), self._kind.draw(asked)
        self._unit = UnitProcess(text, OBJECT_ROLE)
        self.path = os.path.abspath(STATE)

    def begin(self) -> None:
        """The object with its content."""
        self._unit.ask("greet")
        with self._object.make(self._content.size) as place:
            self._content.lay_into(place)

    def save(self) -> dict[str, float]:
        """Seconds by step; `save` is all of it, as who asked for it sees it. Raises CheckpointFault."""
        began = time.perf_counter()
        took = self._unit.ask("save", path=self.path, state=self._state)["took"]
        return {**took, "save": time.perf_counter() - began}

    def kill(self) -> None:
        """It outlives the unit, so it is removed as well; the process that will make it anew waits."""
        self._unit.kill()
        self._object.remove()
        self._unit = UnitProcess(self._text, OBJECT_ROLE)
        self._unit.ask("greet")

    def restore(self) -> dict[str, float]:
        """Seconds until it is there again. Raises CheckpointFault."""
        began = time.perf_counter()
        self._unit.ask("restore", path=self.path, state=self._state)
        return {"restore": time.perf_counter() - began}

    def check(self) -> None:
        """Read it from outside, without the unit and its file. Raises CheckpointFault."""
        os.truncate(self.path, 0)
        os.unlink(self.path)
        self._unit.kill()
        try:
            with self._object.open() as content:
                self._content.check(content, self._kind)
        except FileNotFoundError:
            raise CheckpointFault(f"there is no {self._kind.noun} after the restore") from None

    def end(self) -> None:
        """Leave no process, and no object: a namespace is taken apart a while after its last process."""
        self._unit.kill()
        with contextlib.suppress(OSError):
            self._object.remove()
