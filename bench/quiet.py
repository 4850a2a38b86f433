"""What the counters behind a mark say when nothing disturbs: each allowance beside what quiet windows show.

A figure above its allowance in a quiet window would be a false mark. Run it on a machine that has nothing
else to do; the share that others took stands beside the name. Sources: proc_stat(5), getrusage(2), and
the kernel's Documentation/admin-guide/cgroup-v2.rst (cpu.stat).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from typing import NamedTuple

from bench.row import Row, Unit
from bench.setting import Setting
from steelyard.evidence.disturbance import (
    QUICK,
    Allowance,
    HostCounters,
    judge,
    parse_counters,
    quota_files,
)
from steelyard.hosts.base import Host
from steelyard.hosts.local import LocalHost
from steelyard.hosts.token import Token

WINDOWS = (0.1, 0.5, 2.0)
CGROUP = "/proc/self/cgroup"


class Window(NamedTuple):
    """Seconds it took, and what was counted: each in the unit of its allowance; `marks` are false ones."""

    wall: float
    foreign: float
    steal: float
    swapped: float
    capped: float
    marks: int


def rows(setting: Setting) -> Iterator[Row]:
    """For each length of a window, half of them busy: the median, and the worst, of every counter."""
    for length in WINDOWS:
        yield from _of_length(length, asyncio.run(_windows(setting, length)))


def _of_length(length: float, windows: list[Window]) -> Iterator[Row]:
    allowed = Allowance()
    foreign = max(allowed.min_user_time, allowed.share * length)
    name = f"in windows of {length:g} s"
    marks = sum(window.marks > 0 for window in windows)
    yield Row(
        "quiet", f"windows of {length:g} s that would be marked, of {len(windows)}", "1", (float(marks),)
    )
    counters: dict[str, tuple[str, Unit, float]] = {
        "foreign user time": ("foreign", "s", foreign),
        "steal": ("steal", "%", allowed.steal),
        "pages swapped a second": ("swapped", "1", allowed.swapped),
        "held up by a quota": ("capped", "%", allowed.capped),
    }
    for words, (counter, unit, most) in counters.items():
        seen = _all(windows, counter)
        allowance = (most,) * len(seen)
        yield Row("quiet", f"{words} {name}", unit, seen, "what is allowed", allowance, most=1.0)


def _all(windows: list[Window], counter: str) -> tuple[float, ...]:
    return tuple(getattr(window, counter) for window in windows)


async def _windows(setting: Setting, length: float) -> list[Window]:
    folder = setting.folder("quiet")
    async with LocalHost.open(Token.of("bench"), folder / "minder.log") as host:
        quota = quota_files((await host.read([CGROUP])).get(CGROUP, ""))
        files = (*QUICK, *await host.read(quota))
        return [await _window(host, files, length, busy=bool(turn % 2)) for turn in range(2 * setting.turns)]


async def _window(host: Host, files: tuple[str, ...], length: float, *, busy: bool) -> Window:
    ours = host.own_user_time()
    began, before = time.monotonic(), parse_counters(await host.read(files))
    while busy and time.monotonic() < began + length:
        pass
    await asyncio.sleep(max(0.0, began + length - time.monotonic()))
    after, wall = parse_counters(await host.read(files)), time.monotonic() - began
    ours = host.own_user_time() - ours
    marks = judge(before, after, wall=wall, ours=ours, own=(os.getpid(),))
    wanted = _between(before, after, "wanted")
    return Window(
        wall,
        _between(before, after, "user") - ours,
        _between(before, after, "steal") / wanted if wanted else 0.0,
        _between(before, after, "swapped") / wall,
        _between(before, after, "capped") / wall,
        len(marks),
    )


def _between(before: HostCounters, after: HostCounters, counter: str) -> float:
    return float((getattr(after, counter) or 0.0) - (getattr(before, counter) or 0.0))
