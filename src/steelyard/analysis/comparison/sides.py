"""The two sides of a comparison, each of one run or several: which cells and metrics they have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from steelyard.analysis.summary import CellSummary, RunSummary
from steelyard.errors import UsageError
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell, show_level
from steelyard.store.reader import RunRecord

Which = Literal["a", "b"]
_Levels = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Pair:
    """A cell that both sides have; `a` and `b` are its summaries, one for each run that has it.

    `in_blocks`: both are cells of one run in blocks, so their trials may have been made side by side.
    """

    cell: Cell
    a: tuple[CellSummary, ...]
    b: tuple[CellSummary, ...]
    in_blocks: bool = False

    @property
    def has_several_runs(self) -> bool:
        """Whether more than one run on a side has it."""
        return len(self.a) + len(self.b) > 2


@dataclass(frozen=True, slots=True)
class Gap:
    """A cell that `runs` of a side lack, though others have it; `whole` when it is all of that side."""

    cell: Cell
    which: Which
    runs: tuple[str, ...]
    whole: bool


def is_blocked(record: RunRecord) -> bool:
    """Whether a run measures each cell once before it measures any again."""
    return record.design.get("order") == "blocked"


def match_cells(a: Sequence[RunSummary], b: Sequence[RunSummary]) -> tuple[list[Pair], list[Gap]]:
    """Pair the cells by their levels, whatever their order in the file; those of b first, as b names them."""
    before, after = _group_by_levels(a), _group_by_levels(b)
    pairs: list[Pair] = []
    gaps: list[Gap] = []
    for levels in {**after, **before}:
        first, second = before.get(levels, {}), after.get(levels, {})
        cell = next(iter((second or first).values())).cell
        if first and second:
            pairs.append(Pair(cell, tuple(first.values()), tuple(second.values())))
        gaps += _gaps(cell, "a", a, first)
        gaps += _gaps(cell, "b", b, second)
    return pairs, gaps


def common_metrics(runs: Sequence[RunSummary]) -> dict[str, Metric]:
    """The scalars that all runs declare, as the last one does."""
    others = [{metric.name for metric in run.metrics} for run in runs[:-1]]
    return {
        metric.name: metric for metric in runs[-1].metrics if all(metric.name in names for names in others)
    }


def check_agreement(runs: Sequence[RunSummary], metrics: Sequence[Metric]) -> None:
    """Refuse to compare metrics that runs declare in other units or directions, or compute otherwise.

    Raises UsageError.
    """
    told = [line for metric in metrics for line in _disagreements(runs, metric)]
    if told:
        hint = "name the metrics to compare with --metric, or measure both sides with one definition"
        raise UsageError("these metrics have differing definitions:\n  " + "\n  ".join(told), hint=hint)


def _disagreements(runs: Sequence[RunSummary], metric: Metric) -> Iterator[str]:
    declared = {run.run: next(each for each in run.metrics if each.name == metric.name) for run in runs}
    for what, said in (
        ("unit", {run: each.unit for run, each in declared.items()}),
        ("better direction", {run: each.better for run, each in declared.items()}),
        ("formula", {run: each.formula or "measured" for run, each in declared.items()}),
    ):
        if len(set(said.values())) > 1:
            yield f"{metric.name}: its {what} is " + ", ".join(
                f"{word} in {run}" for run, word in said.items()
            )


def _group_by_levels(runs: Sequence[RunSummary]) -> dict[_Levels, dict[str, CellSummary]]:
    groups: dict[_Levels, dict[str, CellSummary]] = {}
    for run in runs:
        for cell in run.cells:
            groups.setdefault(_levels(cell.cell), {})[run.run] = cell
    return groups


def _levels(cell: Cell) -> _Levels:
    return frozenset((name, show_level(value)) for name, value in cell.parameters.items())


def _gaps(cell: Cell, which: Which, runs: Sequence[RunSummary], having: dict[str, CellSummary]) -> list[Gap]:
    lacking = tuple(run.run for run in runs if run.run not in having)
    return [Gap(cell, which, lacking, whole=not having)] if lacking else []
