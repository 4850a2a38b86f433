"""How a trial's metrics went over time, over all copies of its workload."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from steelyard.analysis.over_time.telemetry import Column
from steelyard.model.metric import Metric, SeriesSample
from steelyard.store.reader import RunRecord

_Bins: TypeAlias = Mapping[int, Mapping[str, list[float]]]


@dataclass(frozen=True, slots=True)
class TrialSeries:
    """`seconds` are the ends of intervals since `began` (seconds since 1970); columns may have gaps."""

    began: float
    seconds: list[float]
    columns: Mapping[str, Column]


def load_series(record: RunRecord, number: int) -> TrialSeries | None:
    """The series of a trial; None when it has none. Raises StoreError.

    Copies report at moments of their own: what ends in the same interval is put together, added up where the
    metric adds up over copies. Quantiles do not add up: shown is that of the copy that was worst off.
    """
    every = [sample for copy in record.series(number) for sample in copy]
    if not every:
        return None
    step = statistics.median(sample.length for sample in every)
    began = min(sample.at - sample.length for sample in every)
    return TrialSeries(began, *_table(_bin_samples(every, began, step), step, record.metrics))


def _bin_samples(samples: Sequence[SeriesSample], began: float, step: float) -> _Bins:
    """The values of all copies by metric, in the interval of the grid that they end in."""
    bins: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for sample in samples:
        for name, value in sample.values.items():
            bins[max(0, round((sample.at - began) / step) - 1)][name].append(value)
    return bins


def _table(bins: _Bins, step: float, metrics: Mapping[str, Metric]) -> tuple[list[float], dict[str, Column]]:
    order = range(min(bins), max(bins) + 1)
    names = dict.fromkeys(name for values in bins.values() for name in values)
    columns: dict[str, Column] = {
        name: [_merge_copies(bins[at].get(name, ()) if at in bins else (), metrics.get(name)) for at in order]
        for name in names
    }
    return [(at + 1) * step for at in order], columns


def _merge_copies(values: Sequence[float], metric: Metric | None) -> float | None:
    if not values:
        return None
    if metric is not None and metric.over_copies == "sum" and not metric.histogram:
        return math.fsum(values)
    return max(values)


def group_by_unit(metrics: Mapping[str, Metric], names: Sequence[str]) -> dict[str, list[str]]:
    """The names by their unit; those of no declared metric are left out."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        if name in metrics:
            groups[metrics[name].unit].append(name)
    return dict(groups)
