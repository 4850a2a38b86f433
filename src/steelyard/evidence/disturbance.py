"""Was a trial disturbed by something beside the workload?

Two snapshots, taken right before and right after a trial, are judged with the CPU time that our own
processes used in between. Evidence of foreign load is, in this order of trust:

- user time of the whole machine less ours. System time is no evidence: the kernel writes back, completes
  I/O and serves interrupts on the workload's behalf without charging the workload.
- a table of processes, where a trial is long enough to pay for it: user and system time of those that are
  neither ours nor the kernel's. It names the culprit, and sees one that lives in the kernel.

What neither sees: processes that start and end within the trial and spend their time in the kernel.

Sources: proc(5); the kernel's Documentation/admin-guide/cgroup-v2.rst (cpu.stat); for the accuracy of tick
accounting, kernel/sched/cputime.c: /proc/stat counts ticks, rusage the scheduler's exact time split by ticks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from steelyard.evidence.base import Evidence
from steelyard.evidence.cgroup import folders
from steelyard.model.metric import Mark
from steelyard.printable import make_one_line

QUICK = ("/proc/stat", "/proc/vmstat")
THOROUGH = (
    *QUICK,
    "/proc/*/stat",
    "/sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_total_time_ms",
    "/sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_total_time_ms",
)

_TICK = 0.01  # seconds: USER_HZ, in which /proc speaks
_SAMPLING = 0.004  # seconds: the tick by which the kernel samples, at CONFIG_HZ=250
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD in include/linux/sched.h
_PROCESS = re.compile(r"/proc/(\d+)/stat")
_PAGES = re.compile(r"^pswp(?:in|out) (\d+)$", re.MULTILINE)
_HELD_UP = re.compile(r"^throttled_(usec|time) (\d+)$", re.MULTILINE)
_PER_SECOND = {"usec": 1e6, "time": 1e9}  # cgroup v2 and v1


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is not yet a disturbance: rates of the trial's time, to judge long and short trials alike.

    - `share`: foreign CPU load in cores. One `stress-ng` beside fio showed as 0.62 to 1.02 cores, so that a
      tenth also finds what is busy for a sixth of the time.
    - `steal`: of the time that the CPUs had work. What the hypervisor takes is missing from the figure, so
      2 % is less than half of the 5 % within which a figure is usually wanted.
    - `capped` and `hot`: of the trial's time, in which a quota held our control group up, or the CPU that was
      hottest ran slower; lost time as with `steal`, hence as much.
    - `swapped`: pages a second. Where one takes 0.1 ms, as from an SSD, 256 a second are 2.6 % of the time.

    What a counter cannot resolve is no evidence: `min_user_time` seconds of user time, about twice the most
    by which it was wrong, and none at all in a window shorter than `min_window`; `steal_resolution` seconds
    of steal, as /proc/stat counts it in whole ticks, each reading of which may be off by almost one.

    Measured on 2 quiet cores (CONFIG_HZ=250, tick accounting) in some 90 windows of 1, 3 and 10 s, with fio
    in seven ways, short sleeps, and part-time CPU load: user time of /proc/stat less that of rusage was
    -81 to +23 ms, system time -330 to +460 ms. `python -m bench quiet` sets every figure beside its
    allowance, in quiet windows of 0.1, 0.5 and 2 s: user time -0.9 to +13 ms, steal up to 0.5 %, nothing
    else, and no window marked. Not measured, for want of such machines: what heat and swapping cost.
    """

    share: float = 0.1
    min_user_time: float = 0.05
    min_window: float = 0.1
    steal: float = 0.02
    steal_resolution: float = 0.01
    swapped: float = 256.0
    capped: float = 0.02
    hot: float = 0.02


class ProcessUsage(NamedTuple):
    """A process: start time in ticks since boot (with its id, its identity), parent, name, CPU seconds.

    `user` is the part of `cpu` in user mode.
    """

    started: int
    parent: int
    name: str
    cpu: float
    kernel: bool
    user: float = 0.0


@dataclass(frozen=True, slots=True)
class HostCounters:
    """Counters of a host since boot; None where the host does not tell.

    `user`, `wanted` (all time in which a CPU had work, steal included) and `steal` in seconds, `swapped` in
    pages, `hot` seconds that a CPU was slowed for its heat, by file (none before Linux 5.6), `capped` seconds
    that a CPU quota held up what wanted to run, on all CPUs together.
    """

    user: float | None = None
    wanted: float | None = None
    steal: float | None = None
    swapped: int | None = None
    hot: Mapping[str, float] | None = None
    capped: float | None = None
    processes: Mapping[int, ProcessUsage] | None = None


class Disturbance(Evidence):
    """Foreign CPU load, steal, swapping, throttling."""

    files = THOROUGH

    def parse(self, raw: Mapping[str, str]) -> dict[str, Any]:
        """The figures of a snapshot, without the processes and without what the host does not tell."""
        figures = asdict(parse_counters(raw))
        return {name: value for name, value in figures.items() if name != "processes" and value is not None}


def parse_counters(raw: Mapping[str, str]) -> HostCounters:
    """Read a snapshot from the files of `QUICK` or `THOROUGH` and of `quota_files`. Odd content is None."""
    user, wanted, steal = _parse_cpu(raw.get("/proc/stat", ""))
    return HostCounters(
        user=user,
        wanted=wanted,
        steal=steal,
        swapped=_total(_PAGES.findall(raw.get("/proc/vmstat", ""))),
        hot=_parse_slowdowns(raw),
        capped=_sum_quota_waits([text for path, text in raw.items() if path.endswith("/cpu.stat")]),
        processes=_parse_processes(raw),
    )


def quota_files(self_cgroup: str) -> tuple[str, ...]:
    """The `cpu.stat` of our control group and of its parents, from the content of /proc/self/cgroup."""
    return tuple(f"{folder}/cpu.stat" for folder in folders(self_cgroup))


def judge(
    before: HostCounters,
    after: HostCounters,
    *,
    wall: float,
    ours: float,
    own: Collection[int] = (),
    allowance: Allowance = Allowance(),
) -> tuple[Mark, ...]:
    """What disturbed the `wall` seconds between two snapshots; nothing when nothing did.

    `ours`: seconds of *user* time that our own processes used in between: controller, minder and every
    process that ended, by its rusage. `own`: ids of our long-lived processes (the controller's is enough);
    they and all below them are not foreign in the table of processes, and what lives below them (services)
    needs not be in `ours`.
    """
    foreign = (
        _find_foreign_load(before, after, wall, ours, own, allowance) if wall >= allowance.min_window else ()
    )
    return (
        *foreign,
        *_find_steal(before, after, allowance),
        *_find_throttling(before, after, wall, allowance),
    )


def _find_foreign_load(
    before: HostCounters,
    after: HostCounters,
    wall: float,
    ours: float,
    own: Collection[int],
    allowance: Allowance,
) -> Iterator[Mark]:
    by_name = _sum_foreign_cpu(before.processes, after.processes, own)
    seen = sum(by_name.values())
    user = (
        _increase(before.user, after.user) - ours - _sum_service_time(before.processes, after.processes, own)
    )
    least = max(allowance.min_user_time, allowance.share * wall)
    # Ticks sample: of n ticks that hit our processes about the square root of n may be charged amiss.
    unsure = max(least, 2 * math.sqrt(_SAMPLING * max(ours, 0.0)))
    if seen > least or user > unsure:
        load = max(seen, user)
        worst = sorted(by_name, key=by_name.__getitem__, reverse=True)[:3]
        names = ", ".join(name for name in worst if by_name[name] >= 0.2 * load)
        reason = f"foreign CPU load {load / wall:.2f} cores" + (f" ({names})" if names else "")
        yield Mark("disturbed", reason, "foreign CPU load", load / wall, "cores")


def _find_steal(before: HostCounters, after: HostCounters, allowance: Allowance) -> Iterator[Mark]:
    steal, wanted = _increase(before.steal, after.steal), _increase(before.wanted, after.wanted)
    if steal - allowance.steal_resolution > allowance.steal * wanted and wanted > 0:
        reason = f"steal: the hypervisor took {100 * steal / wanted:.1f} % of the CPU time"
        yield Mark("disturbed", reason, "steal", steal / wanted, "%")


def _find_throttling(
    before: HostCounters, after: HostCounters, wall: float, allowance: Allowance
) -> Iterator[Mark]:
    pages = _increase(before.swapped, after.swapped) / wall
    if pages > allowance.swapped:
        yield Mark("disturbed", f"swapping: {pages:.0f} pages per second", "swapping", pages, "pages/s")
    hot = _longest_slowdown(before.hot, after.hot) / wall
    if hot > allowance.hot:
        reason = f"throttling: heat slowed a CPU down for {100 * hot:.1f} % of the time"
        yield Mark("disturbed", reason, "heat", hot, "%")
    capped = _increase(before.capped, after.capped) / wall
    if capped > allowance.capped:
        reason = f"throttling: the control group's CPU quota limited it for {100 * capped:.1f} % of the time"
        yield Mark("disturbed", reason, "CPU quota", capped, "%")


def _longest_slowdown(before: Mapping[str, float] | None, after: Mapping[str, float] | None) -> float:
    """Seconds of the CPU that was slowed for the longest."""
    before, after = before or {}, after or {}
    return max((now - before[path] for path, now in after.items() if path in before), default=0.0)


def _increase(before: float | None, after: float | None) -> float:
    return 0.0 if before is None or after is None else after - before


def _sum_foreign_cpu(
    before: Mapping[int, ProcessUsage] | None, after: Mapping[int, ProcessUsage] | None, own: Collection[int]
) -> dict[str, float]:
    """CPU seconds between two tables by name, of what lives at the end and is not ours."""
    seconds: dict[str, float] = {}
    if before is None or after is None:
        return seconds
    ours = _descendants(after, own)
    for pid, process in after.items():
        earlier = before.get(pid)
        used = process.cpu - (earlier.cpu if earlier and earlier.started == process.started else 0.0)
        if not process.kernel and pid not in ours:
            seconds[process.name] = seconds.get(process.name, 0.0) + used
    return seconds


def _sum_service_time(
    before: Mapping[int, ProcessUsage] | None, after: Mapping[int, ProcessUsage] | None, own: Collection[int]
) -> float:
    """Seconds of user time of what lives below our own processes: services that the workload talks to."""
    if before is None or after is None:
        return 0.0
    below = _descendants(after, own) - set(own)
    lived = [(before.get(pid), after[pid]) for pid in below if pid in after]
    return sum(now.user - (then.user if then and then.started == now.started else 0.0) for then, now in lived)


def _descendants(table: Mapping[int, ProcessUsage], roots: Collection[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, process in table.items():
        children.setdefault(process.parent, []).append(pid)
    members: set[int] = set()
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in members:
            members.add(pid)
            waiting += children.get(pid, [])
    return members


def _parse_cpu(text: str) -> tuple[float | None, float | None, float | None]:
    try:
        name, *ticks = text[: text.index("\n")].split()[:9]
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, ticks)
    except ValueError:
        return None, None, None
    if name != "cpu":
        return None, None, None
    wanted = user + nice + system + irq + softirq + steal
    return (user + nice) * _TICK, wanted * _TICK, steal * _TICK


def _total(texts: Collection[str]) -> int | None:
    try:
        return sum(map(int, texts)) if texts else None
    except ValueError:
        return None


def _parse_slowdowns(raw: Mapping[str, str]) -> dict[str, float] | None:
    try:
        return {path: int(raw[path]) / 1e3 for path in raw if path.endswith("_total_time_ms")} or None
    except ValueError:
        return None


def _sum_quota_waits(texts: Collection[str]) -> float | None:
    try:
        seconds = [
            int(figure) / _PER_SECOND[unit] for text in texts for unit, figure in _HELD_UP.findall(text)
        ]
    except ValueError:
        return None
    return math.fsum(seconds) if seconds else None


def _parse_processes(raw: Mapping[str, str]) -> dict[int, ProcessUsage] | None:
    matches = ((_PROCESS.fullmatch(path), text) for path, text in raw.items())
    table = {int(match[1]): _parse_process(text) for match, text in matches if match}
    return {pid: process for pid, process in table.items() if process} or None


def _parse_process(text: str) -> ProcessUsage | None:
    """A line of /proc/[pid]/stat. The name stands in brackets and may itself hold any character."""
    start, end = text.find("("), text.rfind(")")
    fields = text[end + 2 :].split()
    try:
        user = int(fields[11]) * _TICK
        cpu = user + int(fields[12]) * _TICK
        kernel = bool(int(fields[6]) & _KERNEL_THREAD)
        return ProcessUsage(
            int(fields[19]), int(fields[1]), make_one_line(text[start + 1 : end]), cpu, kernel, user
        )
    except (ValueError, IndexError):
        return None
