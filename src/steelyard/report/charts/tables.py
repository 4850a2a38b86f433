"""The data that charts of metrics draw: frames with figures in the chart's unit and texts for tooltips."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.axes import ParameterAxis
from steelyard.analysis.frames import Row
from steelyard.report.charts.base import Datum, scale_value
from steelyard.report.numbers import Scale

# Where a trial's dot stands in its row, from 0 at the top to 4: neighbours in time lie apart.
_LANES = (0, 3, 1, 4, 2)


def trial_data(rows: Sequence[Row], scale: Scale, unit: str) -> list[Datum]:
    """A datum per trial, from `frames.trial_rows`."""
    return [
        {
            "cell": row["cell"],
            "trial": row["trial"],
            "repetition": row["repetition"],
            "x": scale_value(row["value"], scale),
            "value": scale.exact_text(row["value"], unit),
            "state": row["state"],
            "why": row["why"],
            "lane": _LANES[row["repetition"] % len(_LANES)],
        }
        for row in rows
    ]


def cell_data(rows: Sequence[Row], scale: Scale, unit: str, axes: Sequence[ParameterAxis]) -> list[Datum]:
    """A datum per cell, from `frames.cell_rows`; `place<i>` and `level<i>` are those of parameter i."""
    return [
        {
            "cell": row["cell"],
            "middle": scale_value(row["median"], scale),
            "low": scale_value(row["low"], scale),
            "high": scale_value(row["high"], scale),
            "median": scale.exact_text(row["median"], unit),
            "interval": _interval(row, scale),
            "trials": row["n"],
            **_levels(row, axes),
        }
        for row in rows
    ]


def _interval(row: Row, scale: Scale) -> str:
    low, high = row["low"], row["high"]
    text = str(row["note"]) if low is None else f"{scale.text(low, 5)} to {scale.text(high, 5)}"
    return f"{text}, {row['under']}" if row["under"] else text


def _levels(row: Row, axes: Sequence[ParameterAxis]) -> Datum:
    datum: Datum = {}
    for number, axis in enumerate(axes):
        level = row["levels"][axis.name]
        datum[f"place{number}"] = axis.place(level)
        datum[f"level{number}"] = level
    return datum
