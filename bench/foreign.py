"""How much of the machine others used meanwhile. Source of the figures: proc_stat(5), times(2)."""

from __future__ import annotations

import os
import time
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


class Foreign:
    """The share of all cores, 0 to 1, that neither we nor our children took since it was made."""

    def __init__(self) -> None:
        self._busy, self._ours, self._began = _busy(), _ours(), time.monotonic()

    def share(self) -> float:
        """The share until now."""
        seconds = (time.monotonic() - self._began) * (os.cpu_count() or 1)
        others = (_busy() - self._busy) - (_ours() - self._ours)
        return min(1.0, max(0.0, others / seconds)) if seconds > 0 else 0.0


def _busy() -> float:
    """CPU seconds since boot that were neither idle nor waiting for I/O."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = busy_fields(Path("/proc/stat").read_text())
    return (user + nice + system + irq + softirq + steal) / _TICK


def busy_fields(text: str) -> list[int]:
    """The first eight figures of the line of all cores, in ticks."""
    return [int(field) for field in text.splitlines()[0].split()[1:9]]


def _ours() -> float:
    """CPU seconds of this process and of the children that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
