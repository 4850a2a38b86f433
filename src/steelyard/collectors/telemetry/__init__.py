"""Host telemetry from /proc: CPU, memory, disks, network, pressure.

While a trial runs the sampler keeps raw text (`reduce`); `rows` parses it after the trial, so that the
measured program shares the machine with as little of us as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from steelyard.collectors.kit.intervals import iter_intervals, rate_of
from steelyard.collectors.telemetry.columns import COLUMNS
from steelyard.collectors.telemetry.proc import CPU_TIMES, FILES, parse, reduce_sample
from steelyard.plugin.collector import Collector, CollectorOptions, Column, Sample

__all__ = ["COLUMNS", "FILES", "TelemetryCollector", "parse", "rates"]

_STACKED_DISK = ("dm-", "md", "drbd", "bcache")
_VIRTUAL_INTERFACE = ("bond", "br-", "br0", "cali", "cni", "docker", "dummy", "flannel", "ifb")
_TUNNEL_INTERFACE = ("tap", "team", "tun", "veth", "virbr", "wg")
_NOT_ADDED = (
    *_STACKED_DISK,
    *_VIRTUAL_INTERFACE,
    *_TUNNEL_INTERFACE,
)  # what they carry is counted below them
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


class TelemetryCollector(Collector[CollectorOptions]):
    """CPU, memory, disks, network and pressure of a host.

    On by default; `telemetry: {every: 1s}` is its short form in a file, and `telemetry: off` disables it.
    Read a share of the CPUs against their number, and a sum over disks with `disk_busy` of the busiest.
    Source: proc(5), and the kernel's documents on iostats and pressure.
    """

    Options = CollectorOptions
    examples = ({"every": "1s"},)

    def files(self) -> tuple[str, ...]:
        """Counters and gauges of the kernel."""
        return FILES

    def reduce(self, raw: Mapping[str, str]) -> dict[str, str]:
        """Without what nobody asks for."""
        return reduce_sample(raw)

    def columns(self, samples: Iterable[Sample] = ()) -> Mapping[str, Column]:
        """The same on every host."""
        return COLUMNS

    def rows(self, samples: Iterable[Sample]) -> Iterator[dict[str, float]]:
        """A row for every interval between two samples."""
        return iter_intervals(samples, parse, rates)


def rates(previous: Mapping[str, Any], current: Mapping[str, Any], seconds: float) -> dict[str, float]:
    """A row of `COLUMNS` from two parsed samples `seconds` apart; `t` and `m` are the caller's.

    A counter that went back has no rate in this row, and a device that is new has one from the next on.
    """
    if not seconds > 0:
        return {}
    row = {name: current[name] for name in _GAUGES if name in current}
    row |= _cpu_shares(previous, current)
    row |= _memory_use(current)
    row |= _counter_rates(previous, current, seconds)
    return row | _aggregate_devices(row)


def _cpu_shares(previous: Mapping[str, Any], current: Mapping[str, Any]) -> dict[str, float]:
    if not all(name in figures for figures in (previous, current) for name in CPU_TIMES):
        return {}
    # The iowait counter may go back by itself (proc(5)), the others only when the host was replaced.
    spent = {name: max(0.0, current[name] - previous[name]) for name in CPU_TIMES}
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
    for name in filter(lambda name: name.startswith(_COUNTERS), current):
        rate = rate_of(previous, current, name, seconds)
        if rate is not None:
            row[name] = min(1.0, rate) if name.startswith(_SHARES) else rate
    return row


def _aggregate_devices(row: Mapping[str, float]) -> dict[str, float]:
    devices: dict[str, list[float]] = {}
    for name, value in row.items():
        family, _, device = name.partition(":")
        if device and not device.startswith(_NOT_ADDED) and "." not in device:
            devices.setdefault(family, []).append(value)
    return {family: _OVER_DEVICES[family](values) for family, values in devices.items()}


_COUNTERS = (*(f"{family}:" for family in _OVER_DEVICES), "loopback", "pressure_")
