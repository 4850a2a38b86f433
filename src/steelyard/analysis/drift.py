"""Whether a run drifted as a whole: its short cells asked together, in the order of measurement."""

from __future__ import annotations

import math

from steelyard.analysis.summary import RunSummary
from steelyard.model.metric import Metric
from steelyard.stats.autocorrelation import Independence, independence

MOST_VALUES = 400
"""The trend test compares each value with each later one; more values are averaged in groups first."""


def drift(summary: RunSummary, metric: Metric) -> Independence | None:
    """How the trials of all cells together depend on each other; None when there is nothing to ask.

    Each value is divided by the median of its cell, so that cells of different size can follow one
    another. Cells with one value, or a median that is not above zero, stay out.
    """
    found = [cell.metrics[metric.name] for cell in summary.cells if metric.name in cell.metrics]
    shares = [
        (number, value / one.summary.median)
        for one in found
        if one.summary and one.summary.n_total > 1 and one.summary.median > 0
        for number, value in zip(one.trials, one.values, strict=True)
    ]
    if not shares:
        return None
    return independence(_thinned([share for _, share in sorted(shares)]))


def _thinned(values: list[float]) -> list[float]:
    size = math.ceil(len(values) / MOST_VALUES)
    groups = [values[start : start + size] for start in range(0, len(values), size)]
    return [math.fsum(group) / len(group) for group in groups]
