"""What part of a figure others are, or how many times: sums of metrics of one cell, trial by trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.analysis.summary import CellSummary
from steelyard.stats.estimate import Estimate
from steelyard.stats.summary import summarise


def quotient(cell: CellSummary, dividend: Sequence[str], divisor: Sequence[str]) -> Estimate | None:
    """The median over a cell's trials of one sum of metrics divided by another, with its interval.

    A name is that of a metric, or `${name}` for the level of a parameter. Every trial is divided by itself,
    since what slows one step of it down often slows the others, too. None where no trial has all of them.
    """
    over, under = _sums(cell, dividend), _sums(cell, divisor)
    values = [value / under[trial] for trial, value in over.items() if under.get(trial)]
    if not values:
        return None
    summary = summarise(values)
    return Estimate(summary.median, summary.interval, summary.interval_reason)


def _sums(cell: CellSummary, names: Sequence[str]) -> dict[int, float]:
    """By the trial's number; trials that lack one of the figures are left out."""
    columns = [_column(cell, name) for name in names]
    return {
        trial: sum(column[trial] for column in columns)
        for trial in (columns[0] if columns else ())
        if all(trial in column for column in columns)
    }


def _column(cell: CellSummary, name: str) -> Mapping[int, float]:
    if name.startswith("${"):
        level = cell.cell.parameters.get(name[2:-1])
        if not isinstance(level, int | float) or isinstance(level, bool):
            return {}
        return {trial.number: float(level) for trial in cell.trials}
    metric = cell.metrics.get(name)
    return dict(zip(metric.trials, metric.values, strict=True)) if metric and metric.summary else {}
