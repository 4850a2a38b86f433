"""The newest samples of the trial that runs: the workload's own where it tells, else how busy a host is."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.collectors.telemetry import rates
from steelyard.collectors.telemetry.proc import parse
from steelyard.model.metric import Metric
from steelyard.store.journal import parse_object
from steelyard.store.layout import RunFolder
from steelyard.store.tail import Tail

MOST = 120
"""Seconds that are looked back."""


class LiveSeries(NamedTuple):
    """A series to draw: what it is, its unit, its newest values, and when each was (seconds since 1970)."""

    label: str
    unit: str
    values: list[float]
    times: list[float]


class TrialSamples:
    """What the copies of a trial told so far, read on where it was left."""

    def __init__(self, folder: RunFolder, number: int, metrics: dict[str, Metric]) -> None:
        self._folder, self.number, self._metrics = folder, number, metrics
        self._tails: dict[Path, Tail] = {}
        self._values: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._host: deque[tuple[float, dict[str, Any]]] = deque(maxlen=MOST)

    def read_lines(self, most: int) -> list[LiveSeries]:
        """At most so many series, the most important metrics first."""
        self._take_samples()
        names = [name for name in self._metrics if name in self._values]
        return [self._sum_up(name) for name in names[:most]] or self._read_cpu()

    def _take_samples(self) -> None:
        for path in self._folder.list_samples(self.number):
            for sample in self._read_on(path):
                for name, value in dict(sample.get("values") or {}).items():
                    if isinstance(value, int | float) and math.isfinite(value):
                        self._values[name][int(sample["at"])].append(float(value))

    def _sum_up(self, name: str) -> LiveSeries:
        """All copies together, second by second."""
        metric = self._metrics[name]
        add = math.fsum if metric.over_copies == "sum" else max
        seconds = self._values[name]
        newest = sorted(seconds)[-MOST:]
        values = [add(seconds[second]) for second in newest]
        return LiveSeries(name, metric.unit, values, [float(second) for second in newest])

    def _read_cpu(self) -> list[LiveSeries]:
        """How busy the first host is, by its telemetry."""
        folder = self._folder.telemetry(self.number, "x", "ndjson").parent
        path = min(folder.glob("*.ndjson"), default=None)
        for sample in self._read_on(path) if path else ():
            stat = str(dict(sample.get("raw") or {}).get("/proc/stat"))
            self._host.append((float(sample.get("t") or 0.0), parse({"/proc/stat": stat})))
        rows = [(at, rates(before, after, 1.0)) for (_, before), (at, after) in pairwise(self._host)]
        known = [(at, row["cpu_busy"]) for at, row in rows if "cpu_busy" in row]
        times, shares = [at for at, _ in known], [share for _, share in known]
        return [LiveSeries(f"CPU of {path.stem}", "%", shares, times)] if path and shares else []

    def _read_on(self, path: Path) -> Iterable[dict[str, Any]]:
        tail = self._tails.setdefault(path, Tail(path, parse_object))
        try:
            return list(tail.read_new_lines())
        except OSError:
            return []
