"""Host telemetry from /proc: CPU, memory, disks, network, pressure.

While a trial runs the sampler keeps raw text (`reduce_sample`); `rows` parses it after the trial, so that the
measured program shares the machine with as little of us as possible. A column that exists once per device
is named `family:device` (`disk_read:vda`); `steelyard.model.telemetry.COLUMNS` describes them all.

Sources: proc(5); the kernel's Documentation/admin-guide/iostats.rst (fields of diskstats) and
Documentation/accounting/psi.rst (pressure).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from steelyard.collectors.base import Collector
from steelyard.model.telemetry import COLUMNS

TICK = 0.01  # seconds; /proc speaks in USER_HZ, which is 100 on every Linux whatever CONFIG_HZ says
_SECTOR = 512  # bytes; diskstats counts in these whatever the device's own sector is

_NO_DISK = ("loop", "ram", "zram", "sr", "fd")
_STACKED_DISK = ("dm-", "md", "drbd", "bcache")
_VIRTUAL_INTERFACE = ("bond", "br-", "br0", "cali", "cni", "docker", "dummy", "flannel", "ifb")
_TUNNEL_INTERFACE = ("tap", "team", "tun", "veth", "virbr", "wg")
_NOT_ADDED = (
    *_STACKED_DISK,
    *_VIRTUAL_INTERFACE,
    *_TUNNEL_INTERFACE,
)  # what they carry is counted below them
_MEMORY = {
    "MemTotal": "memory_total",
    "MemAvailable": "memory_available",
    "Cached": "memory_cached",
    "Dirty": "memory_dirty",
    "Writeback": "memory_writeback",
    "SwapTotal": "swap_total",
    "SwapFree": "swap_free",
}
_MEMORY_LINES = tuple(f"{name}:" for name in _MEMORY)


_CPU = ("cpu_user", "cpu_system", "cpu_idle", "cpu_iowait", "cpu_steal")
_GAUGES = (
    "runnable",
    "blocked",
    "memory_available",
    "memory_cached",
    "memory_dirty",
    "memory_writeback",
)
_SHARES = ("disk_busy", "pressure_")  # counters of seconds, whose rate is a share
_OVER_DEVICES: Mapping[str, Callable[[Iterable[float]], float]] = {
    "disk_read": sum,
    "disk_write": sum,
    "disk_read_iops": sum,
    "disk_write_iops": sum,
    "disk_busy": max,
    "network_received": sum,
    "network_sent": sum,
}


class TelemetryCollector(Collector):
    """CPU, memory, disks, network and pressure of a host."""

    files = (
        "/proc/stat",
        "/proc/meminfo",
        "/proc/diskstats",
        "/proc/net/dev",
        "/proc/pressure/cpu",
        "/proc/pressure/memory",
        "/proc/pressure/io",
    )

    def parse(self, raw: Mapping[str, str]) -> dict[str, Any]:
        """Counters and gauges of one sample: seconds, bytes and operations since boot; bytes of memory."""
        figures: dict[str, Any] = {}
        unreadable = []
        for path, read in _READERS.items():
            try:
                figures |= read(raw[path]) if path in raw else {}
            except (ValueError, LookupError, ArithmeticError):
                unreadable.append(path)
        return {**figures, "unreadable": unreadable} if unreadable else figures


def reduce_sample(raw: Mapping[str, str]) -> dict[str, str]:
    """What is worth keeping of a sample: without the interrupt counters, which fill most of /proc/stat."""
    return {path: _REDUCERS[path](text) if path in _REDUCERS else text for path, text in raw.items()}


def rows(samples: Iterable[tuple[float, float, Mapping[str, str]]]) -> Iterator[dict[str, float]]:
    """A row for every interval between two samples (wall clock, monotonic clock, raw text)."""
    collector = TelemetryCollector()
    before: tuple[float, Mapping[str, Any]] | None = None
    for wall, mono, raw in samples:
        figures = collector.parse(raw)
        if before is not None and mono > before[0]:
            yield {"t": wall, "m": mono, **rates(before[1], figures, mono - before[0])}
        before = (mono, figures)


def rates(previous: Mapping[str, Any], current: Mapping[str, Any], seconds: float) -> dict[str, float]:
    """A row of `COLUMNS` from two parsed samples `seconds` apart; `t` and `m` are the caller's.

    A counter that went back (reset, wrapped, device replaced) has no rate in this row, and a device that
    is new has one from the next row on: a gap is better than a guess.
    """
    if not seconds > 0:
        return {}
    row = {name: current[name] for name in _GAUGES if name in current}
    row |= _cpu_shares(previous, current)
    row |= _memory_use(current)
    row |= _counter_rates(previous, current, seconds)
    return row | _aggregate_devices(row)


def _cpu_shares(previous: Mapping[str, Any], current: Mapping[str, Any]) -> dict[str, float]:
    if not all(name in figures for figures in (previous, current) for name in _CPU):
        return {}
    # The iowait counter may go back by itself (proc(5)), the others only when the host was replaced.
    spent = {name: max(0.0, current[name] - previous[name]) for name in _CPU}
    total = sum(spent.values())
    if total <= 0:
        return {}
    shares = {name: value / total for name, value in spent.items() if name != "cpu_idle"}
    return {"cpu_busy": shares["cpu_user"] + shares["cpu_system"], **shares}


def _memory_use(current: Mapping[str, Any]) -> dict[str, float]:
    used = {}
    if "memory_total" in current and "memory_available" in current:
        used["memory_used"] = current["memory_total"] - current["memory_available"]
    if "swap_total" in current and "swap_free" in current:
        used["swap_used"] = current["swap_total"] - current["swap_free"]
    return used


def _counter_rates(
    previous: Mapping[str, Any], current: Mapping[str, Any], seconds: float
) -> dict[str, float]:
    row = {}
    for name, value in current.items():
        if not name.startswith(_COUNTERS) or value < previous.get(name, float("inf")):
            continue
        rate = (value - previous[name]) / seconds
        row[name] = min(1.0, rate) if name.startswith(_SHARES) else rate
    return row


def _aggregate_devices(row: Mapping[str, float]) -> dict[str, float]:
    devices: dict[str, list[float]] = {}
    for name, value in row.items():
        family, _, device = name.partition(":")
        if device and not device.startswith(_NOT_ADDED) and "." not in device:
            devices.setdefault(family, []).append(value)
    return {family: _OVER_DEVICES[family](values) for family, values in devices.items()}


def _stat(text: str) -> dict[str, float]:
    figures: dict[str, float] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "cpu":
            user, nice, system, idle, iowait, irq, softirq, steal = map(int, rest.split()[:8])
            spent = (user + nice, system + irq + softirq, idle, iowait, steal)
            figures |= {column: ticks * TICK for column, ticks in zip(_CPU, spent, strict=True)}
        elif name in ("procs_running", "procs_blocked"):
            figures["runnable" if name == "procs_running" else "blocked"] = float(int(rest))
    return figures


def _meminfo(text: str) -> dict[str, float]:
    figures = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name in _MEMORY:
            figures[_MEMORY[name]] = int(rest.split()[0]) * 1024.0
    return figures


def _diskstats(text: str) -> dict[str, float]:
    table = {fields[2]: fields[3:] for fields in map(str.split, text.splitlines()) if len(fields) >= 14}
    figures = {}
    for device, fields in table.items():
        if device.startswith(_NO_DISK) or _is_partition(device, table):
            continue
        figures[f"disk_read_iops:{device}"] = float(int(fields[0]))
        figures[f"disk_read:{device}"] = float(int(fields[2]) * _SECTOR)
        figures[f"disk_write_iops:{device}"] = float(int(fields[4]))
        figures[f"disk_write:{device}"] = float(int(fields[6]) * _SECTOR)
        figures[f"disk_busy:{device}"] = int(fields[9]) / 1000
    return figures


def _is_partition(device: str, table: Mapping[str, Any]) -> bool:
    """`sda1` is a partition when there is `sda`; `nvme0n1p1` when there is `nvme0n1`."""
    disk = device.rstrip("0123456789")
    return disk != device and (disk in table or (disk[-2:-1].isdigit() and disk.removesuffix("p") in table))


def _network(text: str) -> dict[str, float]:
    figures = {}
    for line in text.splitlines()[2:]:
        name, _, rest = line.rpartition(":")
        fields, device = rest.split(), name.strip()
        if device == "lo":
            figures["loopback"] = float(int(fields[8]))
        else:
            figures[f"network_received:{device}"] = float(int(fields[0]))
            figures[f"network_sent:{device}"] = float(int(fields[8]))
    return figures


def _pressure_reader(resource: str) -> Callable[[str], dict[str, float]]:
    def read(text: str) -> dict[str, float]:
        matches = re.findall(r"^(some|full) .*\btotal=(\d+)$", text, re.MULTILINE)
        figures = {f"pressure_{resource}_{kind}": int(total) / 1e6 for kind, total in matches}
        return {name: value for name, value in figures.items() if name in COLUMNS}

    return read


def _shorten_stat(text: str) -> str:
    # Cut, not parsed: the line of interrupt counters alone may have tens of thousands of characters.
    end, tail = text.find("\n") + 1, text.rfind("\nprocs_running")
    rest = text[tail + 1 :].partition("softirq")[0] if tail >= 0 else ""
    return text[:end] + rest


def _line_filter(keep: Callable[[str], bool]) -> Callable[[str], str]:
    return lambda text: "".join(filter(keep, text.splitlines(keepends=True)))


_COUNTERS = (*(f"{family}:" for family in _OVER_DEVICES), "loopback", "pressure_")
_READERS: Mapping[str, Callable[[str], dict[str, float]]] = {
    "/proc/stat": _stat,
    "/proc/meminfo": _meminfo,
    "/proc/diskstats": _diskstats,
    "/proc/net/dev": _network,
    **{f"/proc/pressure/{name}": _pressure_reader(name) for name in ("cpu", "memory", "io")},
}
_REDUCERS: Mapping[str, Callable[[str], str]] = {
    "/proc/stat": _shorten_stat,
    "/proc/meminfo": _line_filter(lambda line: line.startswith(_MEMORY_LINES)),
    "/proc/diskstats": _line_filter(lambda line: " loop" not in line and " ram" not in line),
}
