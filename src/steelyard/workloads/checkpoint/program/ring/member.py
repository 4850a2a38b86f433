"""One copy of the workload: a unit of the ring, and who has it saved together with the others."""

from __future__ import annotations

import os
import time
from typing import Any

from steelyard.workloads.checkpoint.program.cold import make_cold
from steelyard.workloads.checkpoint.program.faults import CheckpointFault
from steelyard.workloads.checkpoint.program.ring.logs import RECEIVED, SENT, check_channel, read_runs
from steelyard.workloads.checkpoint.program.ring.meeting import Meeting, keep_table
from steelyard.workloads.checkpoint.program.ways.unit_process import UnitProcess, Witness

ROLE = "ring-unit"
STATE_FILE = "state"


class Member:
    """Its steps in their order; between two of them all copies wait for each other."""

    def __init__(self, asked: dict[str, Any], text: str) -> None:
        if asked["copies"] < 2:
            raise CheckpointFault("a ring needs at least two copies: give the workload `copies: 2`")
        self._asked, self._text, self._ring = asked, text, asked["ring"]
        self._path = os.path.abspath(STATE_FILE)
        self._witness = Witness(asked["content"], asked["memory"], asked["steps"])
        self._is_reopened = self._ring["sockets"] == "reopened"
        self.unit = UnitProcess(text, ROLE)

    def run(self) -> dict[str, Any]:
        """Save at one moment, and go on; seconds by step. Raises CheckpointFault, OSError."""
        self._begin()
        began = time.perf_counter()
        drained, pre = self._measure("drain", close=self._is_reopened)
        saved, save = self._measure("save", path=self._path)
        size = os.stat(self._path).st_size
        cache, took = self._restore() if self._is_reopened else ({}, {})
        post = self._go_on()
        took |= {**saved["took"], "pre": pre, "save": save, "post": post}
        took["pause"] = time.perf_counter() - began
        self._work()
        counts = {"drained": drained["drained"], "messages": self._finish()}
        return {"took": took, "size": size, "cache": cache, **counts}

    def end(self) -> None:
        """Leave no process."""
        self.unit.kill()

    def _begin(self) -> None:
        """Messages go around."""
        self._witness.fill(self.unit)
        if not self._asked["copy"]:
            keep_table(self._asked)
        self._meeting = Meeting(self._asked)
        self._join()
        self._flow()
        self._work()

    def _go_on(self) -> float:
        """Messages go around again; the seconds that this took once all were ready for it."""
        self._meeting.gather("go on")
        began = time.perf_counter()
        if self._is_reopened:
            self._join()
        self._flow()
        return time.perf_counter() - began

    def _join(self) -> None:
        """Connect to both neighbours."""
        port = self.unit.ask("listen", address=self._asked["address"])["port"]
        ring = self._meeting.gather({"address": self._asked["address"], "port": port})
        right = ring[(self._meeting.copy + 1) % self._meeting.copies]
        self.unit.ask("join", own=self._asked["address"], secret=self._meeting.secret, **right)

    def _flow(self) -> None:
        self._meeting.gather("ready")
        self.unit.ask("flow", message=self._ring["message"], interval=self._ring["interval"])

    def _work(self) -> None:
        """Have messages come; then all are at the same step."""
        self.unit.ask("receive", count=self._ring["messages"])
        self._meeting.gather("at work")

    def _measure(self, do: str, **order: Any) -> tuple[dict[str, Any], float]:
        """An order to the unit, at the moment at which all copies give it."""
        self._meeting.gather(do)
        began = time.perf_counter()
        return self.unit.ask(do, **order), time.perf_counter() - began

    def _restore(self) -> tuple[dict[str, object], dict[str, float]]:
        """End the unit when all are saved; another process goes on."""
        self._meeting.gather("saved")
        self.unit.kill()
        self.unit = UnitProcess(self._text, ROLE)
        self.unit.ask("greet")
        is_cold = self._asked["cache"] == "cold"
        cache: dict[str, object] = make_cold(self._path) if is_cold else {"how": "left warm"}
        return cache, {"restore": self._measure("restore", path=self._path)[1]}

    def _finish(self) -> int:
        """Compare the memory, and the logs of the channel from the left; how many messages it carried."""
        self._measure("drain", close=True)
        self._witness.check(self.unit, self._path)
        logs = self._meeting.gather({"sent": read_runs(SENT), "received": read_runs(RECEIVED)})
        left = (self._meeting.copy - 1) % self._meeting.copies
        name = f"from copy {left} to copy {self._meeting.copy}"
        messages = check_channel(logs[left]["sent"], logs[self._meeting.copy]["received"], name)
        self._meeting.gather("checked")
        self._meeting.leave()
        return messages
