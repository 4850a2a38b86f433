"""Whether the figures of a run drifted: in each cell, and in all together in the order of measurement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.analysis.summary import RunSummary
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell
from steelyard.stats.over_time.autocorrelation import SMALLEST_SAMPLE, Alarm, find_alarms
from steelyard.units import show

MOST_VALUES = 400
"""The trend test compares each value with each later one; more values are averaged in groups first."""


@dataclass(frozen=True, slots=True)
class Drift:
    """An alarm of a metric in a cell, or with `cell` None in all cells together."""

    metric: Metric
    cell: Cell | None
    alarm: Alarm

    def __str__(self) -> str:
        """`the figures fell by 4.2 % over the run, which makes intervals too narrow`; without its end."""
        size = self.alarm.size
        if self.alarm.kind == "neighbours":
            wider = (
                "too narrow" if size is None else f"too narrow: they should be {1 + size:.1f} times as wide"
            )
            return f"successive trials are correlated, which makes intervals {wider}"
        moved = (
            "drift"
            if size is None
            else f"{'rose' if size > 0 else 'fell'} by {show(abs(size), '%', digits=2)}"
        )
        return f"the figures {moved} during the run, which makes intervals too narrow"


def detect_drifts(summary: RunSummary, metrics: Sequence[Metric]) -> tuple[Drift, ...]:
    """What drifts in these metrics; asked all at once, so that a steady run raises any alarm in 5 % of cases.

    Cells with fewer than 6 values are asked only together with the others.
    """
    asked = [one for metric in metrics for one in _series(summary, metric)]
    results = find_alarms([values for _, _, values in asked])
    return tuple(
        Drift(metric, cell, alarm)
        for (metric, cell, _), alarm in zip(asked, results, strict=True)
        if alarm is not None
    )


def _series(summary: RunSummary, metric: Metric) -> Iterator[tuple[Metric, Cell | None, Sequence[float]]]:
    if len(summary.cells) > 1 and (values := relative_values(summary, metric)):
        yield metric, None, values
    for cell in summary.cells:
        one = cell.metrics.get(metric.name)
        if one and len(one.values) >= SMALLEST_SAMPLE and one.summary:
            yield metric, cell.cell, one.values


def relative_values(summary: RunSummary, metric: Metric) -> list[float]:
    """The trials of all cells in the order of measurement, as shares of the medians of their cells.

    So cells of different size can follow one another. Cells with one value, or a median that is not above
    zero, stay out.
    """
    columns = [cell.metrics[metric.name] for cell in summary.cells if metric.name in cell.metrics]
    shares = [
        (number, value / one.summary.median)
        for one in columns
        if one.summary and one.summary.n_total > 1 and one.summary.median > 0
        for number, value in zip(one.trials, one.values, strict=True)
    ]
    return _thin([share for _, share in sorted(shares)])


def _thin(values: list[float]) -> list[float]:
    size = math.ceil(len(values) / MOST_VALUES) or 1
    groups = [values[start : start + size] for start in range(0, len(values), size)]
    return [math.fsum(group) / len(group) for group in groups]
