"""The clocks of a machine, read at one moment: what a step or a suspend leaves its trace in."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import NamedTuple, Self

UPTIME = "/proc/uptime"
SUSPENDS = "/sys/power/suspend_stats/success"
FILES = (UPTIME, SUSPENDS)
_GRAIN = 0.01  # seconds: the last digit of /proc/uptime
_LOOKS = 3


class Clocks(NamedTuple):
    """Clocks in seconds: `wall` belongs to the moment `boot`, give or take `uncertainty`.

    `boot` is CLOCK_BOOTTIME, which goes on while the machine is suspended; `awake` is CLOCK_MONOTONIC, which
    does not. `suspends` counts how often the machine was suspended. None where the host does not tell.
    """

    wall: float
    boot: float
    uncertainty: float = 0.0
    awake: float | None = None
    suspends: int | None = None

    @classmethod
    def from_files(cls, files: Mapping[str, str], earliest: float, latest: float) -> Self | None:
        """Clocks from `FILES`, read between two looks at the wall clock; None where they do not tell."""
        boot = re.match(r"([0-9]+\.[0-9]+) ", files.get(UPTIME, ""))
        suspends = re.fullmatch(r"([0-9]+)\n?", files.get(SUSPENDS, ""))
        if boot is None:
            return None
        wall, within = (earliest + latest) / 2, abs(latest - earliest) / 2 + _GRAIN
        return cls(wall, float(boot[1]), within, suspends=int(suspends[1]) if suspends else None)


def read_own_clocks() -> Clocks:
    """Those of this machine: the best of a few looks, as any of them may be interrupted."""
    return min((_read_once() for _ in range(_LOOKS)), key=lambda clocks: clocks.uncertainty)


def _read_once() -> Clocks:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    wall, awake = time.time(), time.monotonic()
    after = time.clock_gettime(time.CLOCK_BOOTTIME)
    return Clocks(wall, (before + after) / 2, (after - before) / 2, awake)
