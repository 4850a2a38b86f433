"""The newest samples of the trial that runs: the workload's own where it tells, else how busy a host is."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.model.metric import Metric
from steelyard.store.layout import RunFolder
from steelyard.store.tail import Tail, parse_object

MOST = 120
"""Seconds that are looked back."""


class LiveSeries(NamedTuple):
    """A series to draw: what it is, its unit, and its newest values, a second or so apart."""

    label: str
    unit: str
    values: list[float]


class TrialSamples:
    """What the copies of a trial told so far, read on where it was left."""

    def __init__(self, folder: RunFolder, number: int, metrics: dict[str, Metric]) -> None:
        self._folder, self._number, self._metrics = folder, number, metrics
        self._tails: dict[Path, Tail] = {}
        self._values: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._ticks: list[tuple[float, float]] = []

    def read_lines(self, most: int) -> list[LiveSeries]:
        """At most so many series, the most important metrics first."""
        self._take_samples()
        names = [name for name in self._metrics if name in self._values]
        lines = [LiveSeries(name, self._metrics[name].unit, self._sum_up(name)) for name in names[:most]]
        return lines or self._read_cpu()

    def _take_samples(self) -> None:
        for path in sorted(self._folder.trial(self._number).glob("*/*/samples.ndjson")):
            for sample in self._read_on(path):
                for name, value in dict(sample.get("values") or {}).items():
                    if isinstance(value, int | float) and math.isfinite(value):
                        self._values[name][int(sample["at"])].append(float(value))

    def _sum_up(self, name: str) -> list[float]:
        """All copies together, second by second."""
        add = math.fsum if self._metrics[name].over_copies == "sum" else max
        seconds = self._values[name]
        return [add(seconds[second]) for second in sorted(seconds)[-MOST:]]

    def _read_cpu(self) -> list[LiveSeries]:
        """How busy the first host is, by its telemetry."""
        folder = self._folder.telemetry(self._number, "x", "ndjson").parent
        path = min(folder.glob("*.ndjson"), default=None)
        for sample in self._read_on(path) if path else ():
            self._ticks.append(_parse_ticks(str(dict(sample.get("raw") or {}).get("/proc/stat", ""))))
        pairs = zip(self._ticks, self._ticks[1:], strict=False)
        shares = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in pairs if b[1] > a[1]]
        return [LiveSeries(f"CPU of {path.stem}", "%", shares[-MOST:])] if path and shares else []

    def _read_on(self, path: Path) -> Iterable[dict[str, Any]]:
        tail = self._tails.setdefault(path, Tail(path, parse_object))
        try:
            return list(tail.read_new_lines())
        except OSError:
            return []


def _parse_ticks(stat: str) -> tuple[float, float]:
    """Busy ticks and all ticks of a machine, by the first line of /proc/stat; proc(5)."""
    words = stat.partition("\n")[0].split()[1:9]
    ticks = [float(word) for word in words if word.isdigit()]
    idle = sum(ticks[3:5])
    return sum(ticks) - idle, sum(ticks)
