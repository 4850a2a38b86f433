"""Phrases that several reports use alike."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.requirements import Judged, Verdict
from steelyard.analysis.summary import CellMetric, CellSummary, Tally
from steelyard.model.trial import Cell, show_level


def listed(items: Sequence[object], most: int = 3) -> str:
    """Some of them, and how many more: `a, b, c and 4 more`."""
    shown = ", ".join(map(str, items[:most]))
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def counted(count: int, noun: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def levels_of(cell: Cell) -> list[str]:
    """The parts of a cell's key: `outstanding=8`, `files=1`."""
    return [f"{name}={show_level(level)}" for name, level in cell.parameters.items()] or ["-"]


def marks_of(cell: CellSummary) -> list[str]:
    """What does not count in a cell: `1 disturbed: foreign CPU load`, `2 failed: crashed`."""
    found = [f"{len(tally.trials)} {tally.what}: {gist(tally)}" for tally in cell.marked]
    return found + [f"{len(tally.trials)} failed: {tally.what}" for tally in cell.failed]


def gist(tally: Tally) -> str:
    """The reasons without their figures, each once: `foreign CPU load`."""
    return ", ".join(tally.gists)


def all_counted(one: CellMetric) -> str:
    """What stands below a figure of all trials: `all 12 trials, under steal, median 12 %`."""
    return f"all {one.shown.n_total} trials, {one.under}" if one.shown and one.under else ""


def in_short(judged: Judged) -> str:
    """How a requirement fared: `met in 4 of 4 cells`, `not met in 1 of 4 cells (a=1), undecided in 2`."""
    if not judged.rulings:
        return "missing: its `where` picks no cell"
    of_all = f" of {counted(len(judged.rulings), 'cell')}"
    parts: list[str] = []
    for verdict in (Verdict.NOT_MET, Verdict.MISSING, Verdict.UNDECIDED, Verdict.MET):
        rulings = judged.having(verdict)
        if rulings:
            cells = "" if verdict is Verdict.MET else f" ({listed([ruling.cell.key for ruling in rulings])})"
            parts.append(f"{verdict} in {len(rulings)}{'' if parts else of_all}{cells}")
    return ", ".join(parts)
