"""Tables for charts: plain lists of rows, figures in base units, nothing about looks."""

from __future__ import annotations

from typing import Any

from steelyard.analysis.summary import RunSummary
from steelyard.model.trial import show_level
from steelyard.stats.sample import LARGEST
from steelyard.store.reader import TrialRecord

Row = dict[str, Any]
STATES = ("counted", "set aside", "fallback", "disturbed", "incomplete")


def trial_rows(summary: RunSummary, metric: str) -> list[Row]:
    """A row per trial that has the metric: `cell`, `trial`, `repetition`, `value`, `state`, `why`.

    `state` is one of `STATES`: counted; set aside by the outlier policy; or marked, and then `why` says why.
    """
    rows = []
    for cell in summary.cells:
        dropped = set(cell.metrics[metric].outlier_trials)
        rows += [
            {
                "cell": cell.cell.key,
                "trial": trial.number,
                "repetition": trial.result.trial.repetition,
                "value": trial.result.metrics[metric],
                "state": _state(trial, dropped),
                "why": "; ".join(mark.reason for mark in trial.marks),
            }
            for trial in cell.trials
            if _is_figure(trial.result.metrics.get(metric))
        ]
    return rows


def cell_rows(summary: RunSummary, metric: str) -> list[Row]:
    """A row per cell with a median: `cell`, `levels` by parameter, `n`, `median`, `low`, `high`,
    `note`, `under`.

    `low` and `high` are None where there is no interval, and then `note` says why. `under` says what
    disturbed the trials where all are shown, as too few count.
    """
    rows = []
    for cell in summary.cells:
        one = cell.metrics[metric].shown_summary
        if one is None:
            continue
        rows.append(
            {
                "cell": cell.cell.key,
                "levels": {name: show_level(level) for name, level in cell.cell.parameters.items()},
                "n": one.n,
                "median": one.median,
                "low": one.interval.low if one.interval else None,
                "high": one.interval.high if one.interval else None,
                "note": one.interval_reason,
                "under": cell.metrics[metric].disturbance,
            }
        )
    return rows


def _state(trial: TrialRecord, dropped: set[int]) -> str:
    if trial.marks and not trial.result.is_poolable:
        return trial.marks[0].kind
    return "set aside" if trial.number in dropped else "counted"


def _is_figure(value: object) -> bool:
    """What the statistics would take, too: a chart must not break where they did not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST
