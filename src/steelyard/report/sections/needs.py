"""The requirements: each with its verdict in every cell, the worst first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steelyard.analysis.requirements import JudgedRequirement, RequirementVerdict, Ruling
from steelyard.model.metric import Metric
from steelyard.report.numbers import show_interval
from steelyard.report.wording import format_verdicts

MOST_ROWS = 100
_ORDER = (
    RequirementVerdict.NOT_MET,
    RequirementVerdict.MISSING,
    RequirementVerdict.UNDECIDED,
    RequirementVerdict.MET,
)


class NeedRow(NamedTuple):
    """A requirement in one cell; `value` is what it was decided by, with its interval."""

    cell: str
    verdict: RequirementVerdict
    value: str
    note: str


class Need(NamedTuple):
    """A requirement. `left_out` counts the cells beyond those shown."""

    text: str
    where: str
    against: str
    over: str
    verdict: RequirementVerdict
    short: str
    rows: list[NeedRow]
    left_out: int


def needs(judged: Sequence[JudgedRequirement]) -> list[Need]:
    """All requirements in the order of the file."""
    return [_need(one) for one in judged]


def _need(one: JudgedRequirement) -> Need:
    ordered = sorted(one.rulings, key=lambda ruling: _ORDER.index(ruling.verdict))
    rows = [
        NeedRow(ruling.cell.key, ruling.verdict, format_value(ruling, one.metric), ruling.note)
        for ruling in ordered[:MOST_ROWS]
    ]
    left_out = max(0, len(ordered) - MOST_ROWS)
    conditions = (one.requirement.text, one.where, one.against)
    return Need(*conditions, one.over, one.verdict, format_verdicts(one), rows, left_out)


def format_value(ruling: Ruling, metric: Metric | None) -> str:
    """What a ruling was decided by, with its interval; empty where there is no value."""
    if ruling.value is None:
        return ""
    return " ".join(show_interval(ruling.value, ruling.interval, metric.unit if metric else "1")).rstrip()
