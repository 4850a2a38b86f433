"""Phrases that several reports use alike."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.cell_metric import CellMetric
from steelyard.analysis.requirements import JudgedRequirement, RequirementVerdict, Ruling
from steelyard.analysis.summary import CellSummary
from steelyard.model.trial import Cell, show_level
from steelyard.units import format_count

_OPEN = (RequirementVerdict.MISSING, RequirementVerdict.UNDECIDED)
_WORST_FIRST = (RequirementVerdict.NOT_MET, *_OPEN, RequirementVerdict.MET)
_DECIDED_FIRST = (RequirementVerdict.NOT_MET, RequirementVerdict.MET, *_OPEN)


def format_list(items: Sequence[object], most: int = 3) -> str:
    """Some of them, and how many more: `a, b, c and 4 more`."""
    shown = ", ".join(map(str, items[:most]))
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def format_levels(cell: Cell) -> list[str]:
    """The parts of a cell's key: `outstanding=8`, `files=1`."""
    return [f"{name}={show_level(level)}" for name, level in cell.parameters.items()] or ["-"]


def format_marks(cell: CellSummary) -> list[str]:
    """What does not count in a cell: `1 disturbed: foreign CPU load`, `2 failed: crashed`."""
    notes = [f"{len(tally.trials)} {tally.what}: {', '.join(tally.gists)}" for tally in cell.marked]
    return notes + [f"{len(tally.trials)} failed: {tally.what}" for tally in cell.failed]


def describe_all_counted(one: CellMetric) -> str:
    """What stands below a figure of all trials: `all 12 trials, under steal, median 12 %`."""
    if not (one.shown_summary and one.disturbance):
        return ""
    n = one.shown_summary.n_total
    return f"{'the only trial' if n == 1 else f'all {n} trials'}, {one.disturbance}"


def format_verdicts(judged: JudgedRequirement) -> str:
    """How a requirement fared: `met in 4 of 6 cells; undecided in 2: a=1, a=2`; what most are, first."""
    if not judged.rulings:
        return "missing: its `where` matches no cell"
    decided = judged.select_rulings(RequirementVerdict.NOT_MET, RequirementVerdict.MET)
    order = _DECIDED_FIRST if 2 * len(decided) >= len(judged.rulings) else _WORST_FIRST
    text = ""
    for verdict in order:
        if rulings := judged.select_rulings(verdict):
            of_all = "" if text else f" of {format_count(len(judged.rulings), 'cell')}"
            after_decided = bool(text) and order is _DECIDED_FIRST and verdict in _OPEN
            text += "; " if after_decided else ", " if text else ""
            text += f"{verdict} in {len(rulings)}{of_all}{_format_cells(verdict, rulings, after_decided)}"
    return text


def _format_cells(verdict: RequirementVerdict, rulings: Sequence[Ruling], listing: bool) -> str:
    """The cells, unless they are fine; and how many of them hang on disturbed trials."""
    cells = format_list([ruling.cell.key for ruling in rulings])
    shown = "" if verdict is RequirementVerdict.MET else f": {cells}" if listing else f" ({cells})"
    said = {
        "depending on disturbed trials": sum(ruling.is_disturbance_sensitive for ruling in rulings),
        "by all trials, disturbed ones too": sum(bool(ruling.disturbance) for ruling in rulings),
    }
    notes = [f"{count} {what}" for what, count in said.items() if count]
    return shown + (f" ({', '.join(notes)})" if notes else "")
