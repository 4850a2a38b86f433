"""What stands in the way of a comparison's answer: a gate must not pass by silence.

A cell that only one run has, trials that failed, and too few of them give no figure that could be worse. So
each is an objection of its own, until somebody says that it may be.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from steelyard.analysis.compare import ComparedCell, RunComparison
from steelyard.analysis.summary import CellSummary
from steelyard.model.trial import Cell
from steelyard.stats.verdict import Verdict


class Kind(StrEnum):
    """`WORSE` can never be allowed; the others are words of `--allow`."""

    WORSE = "worse"
    FAILED = "failed"
    MISSING = "missing"
    FEW = "few"


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a gate does not pass, in one cell. `reason` is a sentence without its end."""

    kind: Kind
    cell: Cell
    reason: str


def objections(comparison: RunComparison, allowed: Container[str] = ()) -> tuple[Objection, ...]:
    """All that are not allowed: what is worse first, then what gives no answer, in the order of the cells."""
    found = (*_judged(comparison.compared), *_gaps(comparison))
    return tuple(one for one in found if one.kind is Kind.WORSE or one.kind not in allowed)


def _judged(compared: Iterable[ComparedCell]) -> Iterator[Objection]:
    """Worse ones before those of which too few trials say nothing."""
    cells = list(compared)
    for kind, verdict in ((Kind.WORSE, Verdict.WORSE), (Kind.FEW, Verdict.TOO_FEW)):
        for one in cells:
            if one.verdict is verdict:
                yield Objection(kind, one.cell, f"{one.metric.name}: {one.judged.note}")


def _gaps(comparison: RunComparison) -> Iterator[Objection]:
    for which, cells in (("a", comparison.only_a), ("b", comparison.only_b)):
        yield from (Objection(Kind.MISSING, cell, f"only run {which} has it") for cell in cells)
    yield from (Objection(Kind.FAILED, cell.cell, _failed(cell)) for cell in comparison.failing)
    crashed = {cell.cell.key for cell in comparison.failing if cell.failures == len(cell.trials)}
    for one in comparison.valueless:
        if one.which == "a" or one.cell.key not in crashed:  # why it has none is said already
            yield Objection(Kind.MISSING, one.cell, str(one))


def _failed(cell: CellSummary) -> str:
    reasons = "; ".join(f"{tally.what}: {', '.join(tally.reasons[:2])}" for tally in cell.failed)
    return f"{cell.failures} of {len(cell.trials)} trials failed in run b: {reasons}"
