"""What the kernel tells of a host in /proc: kept short while a workload runs, parsed afterwards.

Sources: proc(5); the kernel's Documentation/admin-guide/iostats.rst (fields of diskstats) and
Documentation/accounting/psi.rst (pressure).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from steelyard.collectors.telemetry.columns import COLUMNS

FILES = (
    "/proc/stat",
    "/proc/meminfo",
    "/proc/diskstats",
    "/proc/net/dev",
    "/proc/pressure/cpu",
    "/proc/pressure/memory",
    "/proc/pressure/io",
)

CPU_TIMES = ("cpu_user", "cpu_system", "cpu_idle", "cpu_iowait", "cpu_steal")
TICK = 0.01  # seconds; /proc speaks in USER_HZ, which is 100 on every Linux whatever CONFIG_HZ says
_SECTOR = 512  # bytes; diskstats counts in these whatever the device's own sector is

_NO_DISK = ("loop", "ram", "zram", "sr", "fd")
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


def reduce_sample(raw: Mapping[str, str]) -> dict[str, str]:
    """What is worth keeping of a sample: without the interrupt counters, which fill most of /proc/stat."""
    return {path: _REDUCERS[path](text) if path in _REDUCERS else text for path, text in raw.items()}


def parse(raw: Mapping[str, str]) -> dict[str, Any]:
    """Counters and gauges of one sample: seconds, bytes and operations since boot; bytes of memory.

    Odd content of a file costs what it says alone: that file is named under `unreadable`.
    """
    figures: dict[str, Any] = {}
    unreadable = []
    for path, read in _READERS.items():
        try:
            figures |= read(raw[path]) if path in raw else {}
        except (ValueError, LookupError, ArithmeticError):
            unreadable.append(path)
    return {**figures, "unreadable": unreadable} if unreadable else figures


def _stat(text: str) -> dict[str, float]:
    figures: dict[str, float] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "cpu":
            user, nice, system, idle, iowait, irq, softirq, steal = map(int, rest.split()[:8])
            spent = (user + nice, system + irq + softirq, idle, iowait, steal)
            figures |= {column: ticks * TICK for column, ticks in zip(CPU_TIMES, spent, strict=True)}
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
