"""A history on a terminal and as plain data."""

from __future__ import annotations

import dataclasses
from typing import Any

from steelyard.analysis.history.history import History, HistorySeries
from steelyard.analysis.history.levels import LevelChange
from steelyard.printable import make_one_line
from steelyard.report.columns import align
from steelyard.report.sections.history import describe_history

SCHEMA = 1
_MOST = 20  # notes


def history_lines(history: History) -> list[str]:
    """The title, a table per metric, segments, notes; the answer last."""
    said = describe_history(history)
    lines = [said.title]
    for part in said.sections:
        rows = [[make_one_line(text) for text in row] for row in (part.head, *part.rows)]
        lines += ["", make_one_line(part.heading), *align(rows)]
    lines += ["", *(f"new segment  {text}" for text in said.segments)] if said.segments else []
    lines += ["", *said.notes[:_MOST]] if said.notes else []
    lines += [f"and {len(said.notes) - _MOST} more"] if len(said.notes) > _MOST else []
    return [make_one_line(line) for line in (*lines, "", said.answer, *(f"  {text}" for text in said.alarms))]


def plain_history(history: History) -> dict[str, Any]:
    """Everything, figures in base units."""
    return {
        "schema": SCHEMA,
        "experiment": history.experiment,
        "by": history.by,
        "runs": [{"run": run.id, "started": run.started, "tags": dict(run.tags)} for run in history.runs],
        "left_out": [{"run": one.run, "reason": one.reason} for one in history.left_out],
        "segments": [
            {"runs": [run.id for run in segment.runs], "changed": list(segment.changed)}
            for segment in history.segments
        ],
        "series": [_plain_series(one) for one in history.series],
        "alarms": len(history.alarms),
    }


def _plain_series(one: HistorySeries) -> dict[str, Any]:
    return {
        "cell": dict(one.cell.parameters),
        "metric": one.metric.name,
        "unit": one.metric.unit,
        "better": one.metric.better,
        "points": [dataclasses.asdict(point) for point in one.points],
        "changes": [_plain_change(change) for change in one.changes],
    }


def _plain_change(change: LevelChange) -> dict[str, Any]:
    facts = {"verdict": str(change.verdict), "is_alarm": change.is_alarm}
    return dataclasses.asdict(change) | facts
