"""From what memaslap printed to a reading. Its latencies are microseconds, in bins of a power of two.

`Log2 Dist` has four bins a line, after the number of the first: bin n counts latencies of n binary digits,
from 2^(n-1) to 2^n - 1 µs. Its megabytes are 2^20 bytes.
"""

from __future__ import annotations

import re

from steelyard.plugin import (
    QUANTILES,
    Metric,
    NothingMeasured,
    Output,
    ParseFailure,
    Reading,
    latency_metrics,
)
from steelyard.plugin.workload import Histogram

_PART = re.compile(r"^(Get|Set|Total) Statistics \((\d+) events\)\n(.*?)\n\n", re.MULTILINE | re.DOTALL)
_FIGURE = re.compile(r"^ +(Min|Max|Avg|Geo|Std): +(\d+(?:\.\d+)?)$", re.MULTILINE)
_BINS = re.compile(r"^ +(\d+):((?: +\d+){1,4})$", re.MULTILINE)
_COUNT = re.compile(r"^(cmd_get|cmd_set|get_misses|written_bytes|read_bytes): (\d+)$", re.MULTILINE)
_END = re.compile(r"^Run time: \d+\.\d+s Ops: (\d+) TPS: (\d+) Net_rate: \d+\.\d+M/s$", re.MULTILINE)
_COUNTS = {"cmd_get", "cmd_set", "get_misses", "written_bytes", "read_bytes"}


def metrics(*, gets: bool, sets: bool) -> tuple[Metric, ...]:
    """What is known of a run with gets, sets or both."""
    kinds = [name for name, there in (("get", gets), ("set", sets)) if there]
    means = (
        Metric(f"{kind}_latency_mean", "s", "lower", f"mean time of a {kind}", over_copies="mean")
        for kind in kinds
    )
    return (
        Metric("rate", "1/s", "higher", "operations per second"),
        Metric("net_rate", "B/s", "higher", "bytes sent and received per second"),
        *latency_metrics("latency", "time of an operation"),
        Metric("latency_mean", "s", "lower", "arithmetic mean of the time", over_copies="mean"),
        Metric("latency_stddev", "s", "lower", "standard deviation of the time", over_copies="mean"),
        Metric("latency_max", "s", "lower", "longest time", over_copies="max"),
        *means,
        *((Metric("misses", "%", "lower", "share of gets that found nothing", over_copies="mean"),) * gets),
    )


def parse_output(output: Output, *, gets: bool, sets: bool) -> Reading:
    """One run. Raises ParseFailure, also when a connection broke, which memaslap itself only mentions."""
    if "Failed to" in output.stderr:
        raise ParseFailure(f"memaslap lost its server: {output.stderr.strip().splitlines()[-1]}")
    counts = {name: int(value) for name, value in _COUNT.findall(output.stdout)}
    asked = {kind for kind, there in (("get", gets), ("set", sets)) if there}
    if idle := sorted(kind for kind in asked if counts.get(f"cmd_{kind}") == 0):
        raise NothingMeasured(f"no {idle[0]} was completed")
    end = _END.search(output.stdout)
    if not end or not int(end[1]) or not int(end[2]):
        raise ParseFailure(f"memaslap's output lacks its last line: {output.stdout.strip()[-60:]!r}")
    parts = {kind.lower(): (int(events), text) for kind, events, text in _PART.findall(output.stdout)}
    wanted = {"total"} | asked
    if not wanted <= set(parts) or set(counts) != _COUNTS:
        raise ParseFailure("memaslap's output lacks some of its statistics or counts")
    return _make_reading(parts, counts, int(end[1]), int(end[2]), wanted)


def _make_reading(
    parts: dict[str, tuple[int, str]], counts: dict[str, int], operations: int, rate: int, wanted: set[str]
) -> Reading:
    seconds = operations / rate
    figures, histogram = _parse_figures("total", parts["total"][1]), _parse_histogram(*parts["total"])
    moved = counts["written_bytes"] + counts["read_bytes"]
    values = {"rate": float(rate), "net_rate": moved / seconds}
    values |= {f"latency_{name}": histogram.quantile(share) for name, share in QUANTILES.items()}
    values |= {f"latency_{name}": figures[key] / 1e6 for name, key in _NAMES.items()}
    for kind in sorted(wanted - {"total"}):
        values[f"{kind}_latency_mean"] = _parse_figures(kind, parts[kind][1])["Avg"] / 1e6
    if "get" in wanted:
        values["misses"] = counts["get_misses"] / max(1, counts["cmd_get"])
    return Reading(values, {"latency": dict(histogram.bins)}, facts=counts)


_NAMES = {"mean": "Avg", "stddev": "Std", "max": "Max"}


def _parse_figures(kind: str, text: str) -> dict[str, float]:
    figures = {name: float(value) for name, value in _FIGURE.findall(text)}
    if len(figures) != 5:
        raise ParseFailure(f"memaslap's statistics of {kind} lack some of Min, Max, Avg, Geo, Std")
    return figures


def _parse_histogram(events: int, text: str) -> Histogram:
    """A bin is known by its largest latency."""
    bins: dict[float, int] = {}
    for first, counts in _BINS.findall(text):
        for digits, count in enumerate(counts.split(), int(first)):
            if digits > 60:
                raise ParseFailure(f"memaslap's distribution has a bin of {digits} binary digits")
            bins[float(2**digits - 1)] = int(count)
    histogram = Histogram.of(bins, divisor=1e6)
    if not events or histogram.count != events:
        raise ParseFailure(
            f"memaslap reports {events} operations, but its distribution has {histogram.count}"
        )
    return histogram
