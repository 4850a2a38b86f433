"""What the minder knows of a program that it started."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing typing takes 3 ms
if TYPE_CHECKING:
    from typing import Any

TICK = 1.0  # seconds that an orphan which died waits at most to be collected
GLANCE = 0.02  # seconds between looks at a tree that still has time to end by itself
LEAVE_WITHIN = 0.2  # seconds that what a program has left behind may take to end by itself
PAUSE, LONGEST_PAUSE = 0.002, 0.5  # seconds between looks at processes that were sent SIGKILL


class Child:
    """A program that was started, until nothing is left of it and its exit is reported."""

    def __init__(self, name: str, pid: int, pidfd: int, least_peak: int, started: int, clock: float) -> None:
        self.name, self.pid, self.pidfd = name, pid, pidfd
        self.least_peak = least_peak  # bytes
        self.started, self.clock = started, clock  # by the wall in ns, monotonic in seconds
        self.result = ""  # the figures of its exit, from CODE to PEAK
        self.killed = False
        self.deadline = float("inf")  # monotonic; from then on SIGKILL
        self.pause = PAUSE
        self.struck: set[int] = set()
        self.leftovers = 0

    def record_exit(self, status: int, usage: Any, now: float) -> None:
        """Keep how it ended. What it left behind has a moment left, unless a grace still runs."""
        code, peak = os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024
        way = f"{code} -" if code >= 0 else f"- {-code}"
        bound = "<" if peak <= self.least_peak else ""
        times = f"{now - self.clock:.9f} {usage.ru_utime:.6f} {usage.ru_stime:.6f}"
        self.result = f"{way} {times} {bound}{peak}"
        self.deadline = self.deadline if self.killed else now + LEAVE_WITHIN

    def describe_exit(self) -> str:
        """The event that tells of its end."""
        return f"exited {self.name} {self.result} {self.started} - {self.leftovers}"

    def next_look(self, now: float) -> float:
        """Return in how many seconds this child wants attention."""
        if now >= self.deadline:
            return self.pause
        return min(GLANCE if self.result else TICK, self.deadline - now)
