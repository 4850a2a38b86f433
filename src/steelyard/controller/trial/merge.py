"""How the figures of simultaneous copies become those of a trial."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from steelyard.controller.trial.window import Window, is_shared
from steelyard.model.metric import Mark, Metric, OverCopies, Reading
from steelyard.stats.histogram import Histogram

OVER: Mapping[OverCopies, Callable[[Sequence[float]], float]] = {
    "sum": sum,
    "median": statistics.median,
    "mean": statistics.fmean,
    "min": min,
    "max": max,
}


def merge_readings(
    metrics: Iterable[Metric], readings: Mapping[str, Reading], window: Window | None = None
) -> Reading:
    """One reading from those of all copies, which are named.

    Each scalar becomes one as its metric says; one that a copy lacks is left out: a sum of some is no sum.
    Rates that add up are those of the `window` in which all copies worked, where that is known.
    Histograms are added up, and quantiles taken from the sum: an average of percentiles would be none. A copy
    without its histogram among others that have one marks the trial.
    """
    if len(readings) == 1:
        return next(iter(readings.values()))
    declared = list(metrics)
    bins = {m.name: _sum_bins(m.name, readings) for m in declared if _copies_with(m.name, readings)}
    values = {
        m.name: value for m in declared if (value := _merge_value(m, readings, bins, window)) is not None
    }
    facts = {name: dict(reading.facts) for name, reading in readings.items() if reading.facts}
    marks = (*_merge_marks(readings), *_mark_missing(bins, readings))
    bounds = frozenset[str]().union(*(reading.bounds for reading in readings.values()))
    return drop_short(declared, Reading(values, bins, marks, facts, bounds=bounds))


def drop_short(metrics: Iterable[Metric], reading: Reading) -> Reading:
    """The reading without quantiles that rest on too few observations: `short` has those.

    What is left out here is a figure nowhere: not in tables, requirements, searches, stop rules, comparisons
    or exports. A quantile whose tool tells no histogram stays, as nobody knows on how many it rests.
    """
    counts = {name: sum(bins.values()) for name, bins in reading.histograms.items()}
    short = {
        metric.name: counts[metric.histogram]
        for metric in metrics
        if metric.name in reading.values
        and metric.histogram in counts
        and counts[metric.histogram] < metric.samples
    }
    values = {name: value for name, value in reading.values.items() if name not in short}
    return dataclasses.replace(reading, values=values, short=short)


def _merge_value(
    metric: Metric,
    readings: Mapping[str, Reading],
    bins: Mapping[str, Mapping[float, int]],
    window: Window | None,
) -> float | None:
    if metric.kind != "scalar":
        return None
    if metric.quantile is not None and (histogram := bins.get(metric.histogram or "")):
        return Histogram.of(histogram).quantile(metric.quantile)
    values = {name: reading.values.get(metric.name) for name, reading in readings.items()}
    known = {name: value for name, value in values.items() if value is not None}
    if len(known) < len(values):
        return None
    if window and is_shared(metric):
        return sum(value * window.factor(name, metric.name) for name, value in known.items())
    return OVER[metric.over_copies](list(known.values()))


def _copies_with(name: str, readings: Mapping[str, Reading]) -> list[str]:
    return [copy for copy, reading in readings.items() if name in reading.histograms]


def _mark_missing(bins: Iterable[str], readings: Mapping[str, Reading]) -> Iterator[Mark]:
    for name in bins:
        having = _copies_with(name, readings)
        if lacking := [copy for copy in readings if copy not in having]:
            who = ", ".join(lacking)
            yield Mark("incomplete", f"percentiles of {name} leave out {who}, which has no histogram of it")


def _sum_bins(name: str, readings: Mapping[str, Reading]) -> dict[float, int]:
    total: dict[float, int] = {}
    for reading in readings.values():
        for value, count in reading.histograms.get(name, {}).items():
            total[value] = total.get(value, 0) + count
    return dict(sorted(total.items()))


def _merge_marks(readings: Mapping[str, Reading]) -> tuple[Mark, ...]:
    """Each reason once, with how many copies it holds for."""
    by_mark: dict[Mark, list[str]] = {}
    for name, reading in readings.items():
        for mark in reading.marks:
            by_mark.setdefault(mark, []).append(name)
    return tuple(
        Mark(mark.kind, f"{_format_copies(names, readings)}: {mark.reason}")
        for mark, names in by_mark.items()
    )


def _format_copies(names: Sequence[str], readings: Mapping[str, Any]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{len(names)} of {len(readings)} copies" if len(names) < len(readings) else "all copies"
