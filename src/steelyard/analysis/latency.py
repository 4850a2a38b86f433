"""Latency as a whole: the histograms of a cell's trials merged, and the curve of their percentiles."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple

from steelyard.analysis.summary import CellSummary
from steelyard.errors import StoreError
from steelyard.stats.histogram import Histogram
from steelyard.store.reader import RunRecord

POINTS_PER_DECADE = 12
FINEST = 1e-6
MOST_IN_A_BIN = 2**48
FIRST_SHARES = (0.01, 0.05, 0.1, 0.25)


class PercentilePoint(NamedTuple):
    """`share` of the observations (0 … 1) took at most `value`, in the metric's unit."""

    share: float
    value: float


class CellHistograms(NamedTuple):
    """Histograms by metric over a cell's poolable trials; `damaged` are trials that could not be read."""

    histograms: Mapping[str, Histogram]
    damaged: tuple[int, ...]


def merge_histograms(record: RunRecord, cell: CellSummary) -> CellHistograms:
    """Merge what a cell's poolable trials recorded. Reads one file per trial, raises nothing."""
    counters: dict[str, Counter[float]] = {}
    damaged = []
    for trial in cell.trials:
        if not trial.result.is_poolable:
            continue
        try:
            histograms = record.histograms(trial.number)
            sound = all(map(_is_sound, histograms.values()))
        except (StoreError, ValueError, TypeError, AttributeError, OverflowError):
            sound = False
        if not sound:
            damaged.append(trial.number)
            continue
        for name, bins in histograms.items():
            counters.setdefault(name, Counter()).update(bins)
    whole = {name: Histogram.of(total) for name, total in counters.items()}
    return CellHistograms(
        {name: histogram for name, histogram in whole.items() if histogram.count}, tuple(damaged)
    )


def _is_sound(bins: Mapping[float, int]) -> bool:
    """Finite values and no negative or absurd count: what `Histogram.of` asks, without building one."""
    return math.isfinite(math.fsum(bins)) and all(0 <= count <= MOST_IN_A_BIN for count in bins.values())


def percentile_curve(histogram: Histogram) -> list[PercentilePoint]:
    """The curve from the fastest observation to the tail, where it is evenly spread in 1 / (1 - share).

    It ends at the share that one observation stands for, because beyond it there is nothing, and at most
    at 99.9999 %. Raises ValueError when the histogram is empty.
    """
    if not histogram.count:
        raise ValueError("the histogram is empty: it has no percentiles")
    least = max(1 / histogram.count, FINEST)
    steps = math.floor(-math.log10(least) * POINTS_PER_DECADE)
    rests = [10 ** (-step / POINTS_PER_DECADE) for step in range(steps + 1)] + [least]
    shares = sorted({*FIRST_SHARES, *(1 - rest for rest in rests)})
    return list(map(PercentilePoint, shares, _quantiles(histogram, shares)))


def _quantiles(histogram: Histogram, shares: list[float]) -> list[float]:
    """What `Histogram.quantile` gives for each share, but summing the bins once for all of them."""
    running = list(accumulate(count for _, count in histogram.bins))
    wanted = (share * running[-1] * (1 - 1e-12) for share in shares)
    return [histogram.bins[min(bisect_left(running, count), len(running) - 1)][0] for count in wanted]
