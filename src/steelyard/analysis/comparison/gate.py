"""What stands in the way of a comparison's answer: a gate must not pass by silence.

A cell that some run lacks, trials that failed, and too few of them give no figure that could be worse. So
each is an objection of its own, until somebody says that it may be.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from steelyard.analysis.comparison.compare import ComparedCell, RunComparison
from steelyard.analysis.comparison.sides import Gap
from steelyard.analysis.summary import CellSummary
from steelyard.model.trial import Cell
from steelyard.stats.comparison import Comparison
from steelyard.stats.sample import format_percent
from steelyard.stats.verdict import Verdict


class ObjectionKind(StrEnum):
    """`WORSE` and `UNDECIDED` can never be allowed; the others are words of `--allow`."""

    WORSE = "worse"
    UNDECIDED = "undecided"
    FAILED = "failed"
    MISSING = "missing"
    FEW = "few"


ALLOWABLE = (ObjectionKind.FAILED, ObjectionKind.MISSING, ObjectionKind.FEW)


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a gate does not pass, in one cell. `reason` is a sentence without its end, of a `metric` if any."""

    kind: ObjectionKind
    cell: Cell
    reason: str
    metric: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """What lets a comparison pass: kinds of objections that are allowed, and a margin (0.05 is 5 %)."""

    allowed: tuple[str, ...] = ()
    margin: float | None = None


@dataclass(frozen=True)
class GatedComparison:
    """A comparison and what its gate says of it, which is nothing where there is no gate."""

    comparison: RunComparison
    gate: Gate | None = None

    @cached_property
    def objections(self) -> tuple[Objection, ...]:
        """What is not allowed."""
        if self.gate is None:
            return ()
        return find_objections(self.comparison, self.gate.allowed, margin=self.gate.margin)

    @property
    def is_passing(self) -> bool:
        """Whether nothing speaks against it; where nothing could be compared, nothing speaks for it."""
        return self.gate is None or bool(self.comparison.compared and not self.objections)


def find_objections(
    comparison: RunComparison, allowed: Container[str] = (), *, margin: float | None = None
) -> tuple[Objection, ...]:
    """All that are not allowed: what the figures say first, then what gives no answer, by cells.

    With a `margin` (0.05 is 5 %) a cell passes when the whole interval of its change stays within it on the
    worse side, or on both where neither is better; where it does not, it is worse if the test says so, and
    undecided otherwise. All cells must pass, so no correction for their number is needed.
    """
    candidates = (*_judge_cells(comparison.compared, margin), *_list_gaps(comparison))
    return tuple(one for one in candidates if one.kind not in ALLOWABLE or one.kind not in allowed)


def _judge_cells(compared: Iterable[ComparedCell], margin: float | None) -> Iterator[Objection]:
    """Worse and undecided ones before those of which too few trials say nothing."""
    few = []
    for one in compared:
        kind = _classify(one, margin)
        if kind is ObjectionKind.FEW:
            few.append(one)
        elif kind:
            reason = f"{one.metric.name}: {_explain(one, kind, margin)}"
            yield Objection(kind, one.cell, reason, one.metric.name)
    for one in few:
        yield Objection(ObjectionKind.FEW, one.cell, f"{one.metric.name}: {one.judged.note}", one.metric.name)


def _classify(one: ComparedCell, margin: float | None) -> ObjectionKind | None:
    """What to object to a comparison; None where it passes, or all trials failed, which is said already."""
    if one.judged.comparison.median_b is None:
        return None
    if one.verdict is Verdict.TOO_FEW:
        return ObjectionKind.FEW
    if one.verdict is Verdict.UNDECIDED:
        return ObjectionKind.UNDECIDED
    if margin is None:
        return ObjectionKind.WORSE if one.verdict is Verdict.WORSE else None
    if is_within_margin(one.judged.comparison, margin):
        return None
    return ObjectionKind.WORSE if one.verdict is Verdict.WORSE else ObjectionKind.UNDECIDED


def _explain(one: ComparedCell, kind: ObjectionKind, margin: float | None) -> str:
    if kind is ObjectionKind.WORSE or margin is None or one.verdict is Verdict.UNDECIDED:
        return "; ".join(filter(None, (one.judged.note, one.disturbance)))
    note = one.judged.note or one.judged.comparison.ratio_reason
    return f"the change may exceed the margin of {format_percent(margin)}: {note}"


def is_within_margin(found: Comparison, margin: float) -> bool:
    """Whether the interval of the ratio reaches no further into the worse than `margin` (0.05 is 5 %).

    Failures that made it worse are in no interval, so where more trials failed than before it never does.
    """
    interval = found.ratio_interval
    if interval is None or found.failed_b > found.failed_a:
        return False
    rises, falls = interval.high - 1 <= margin, 1 - interval.low <= margin
    return {"lower": rises, "higher": falls, "none": rises and falls}[found.better]


def _list_gaps(comparison: RunComparison) -> Iterator[Objection]:
    of_levels = f"no matching cell with {' '.join(comparison.a)}" if comparison.parameter else ""
    yield from (
        Objection(ObjectionKind.MISSING, gap.cell, of_levels or _describe_gap(gap)) for gap in comparison.gaps
    )
    yield from (
        Objection(ObjectionKind.FAILED, cell.cell, _describe_failures(cell)) for cell in comparison.failing
    )
    crashed = {cell.cell.key for cell in comparison.failing if cell.failures == len(cell.trials)}
    for one in comparison.missing_values:
        if one.which == "a" or one.cell.key not in crashed:  # why it has none is said already
            yield Objection(ObjectionKind.MISSING, one.cell, str(one))


def _describe_gap(gap: Gap) -> str:
    if gap.whole:
        return f"only in {'b' if gap.which == 'a' else 'a'}"
    return f"not in {' and '.join(gap.runs)} of {gap.which}"


def _describe_failures(cell: CellSummary) -> str:
    reasons = "; ".join(f"{tally.what}: {', '.join(tally.reasons[:2])}" for tally in cell.failed)
    return f"{cell.failures} of {len(cell.trials)} trials failed in b: {reasons}"
