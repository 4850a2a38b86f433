"""What a comparison takes of a metric in a cell: the values on both sides, and the trials that failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from steelyard.analysis.cell_metric import CellMetric
from steelyard.analysis.sides import Pair, Which
from steelyard.analysis.summary import CellSummary
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell
from steelyard.stats.comparison import Comparison, compare
from steelyard.stats.detectable import smallest_change
from steelyard.stats.holding import is_too_much
from steelyard.stats.several import compare_several, smallest_change_of_runs


@dataclass(frozen=True, slots=True)
class Samples:
    """The values of a metric in a cell, run by run, and how many trials failed that count.

    `everything` is the same with the values of disturbed trials, where there are any that do not count.
    """

    cell: Cell
    metric: Metric
    a: list[tuple[float, ...]]
    b: list[tuple[float, ...]]
    failed: tuple[int, int]
    of_several: bool
    under: str = ""
    everything: Samples | None = None

    @classmethod
    def of(cls, metric: Metric, pair: Pair, *, failures: bool) -> Samples:
        """Of all runs of both sides; failures say nothing where no direction is worse."""
        a, b = ([cell.metrics[metric.name] for cell in side] for side in (pair.a, pair.b))
        before, after = (sum(map(_too_much, side)) for side in (pair.a, pair.b))
        failed = (before, after) if failures and metric.better != "none" else (0, 0)
        under = [f"a {one.under}" for one in a if one.under] + [f"b {one.under}" for one in b if one.under]
        values = _each(a, _values), _each(b, _values)
        found = cls(pair.cell, metric, *values, failed, pair.of_several, "; ".join(under))
        if not any(one.with_disturbed and not one.fallen_back_on for one in (*a, *b)):
            return found
        everything = replace(found, a=_each(a, _all_values), b=_each(b, _all_values))
        return replace(found, everything=everything)

    @property
    def empty_side(self) -> Which | None:
        """The side of which nothing can be compared: without values, or failures in their place."""
        can_fail = not self.of_several
        if not self.a and not (can_fail and self.failed[0] and self.b):
            return "a"
        return "b" if not self.b and not (can_fail and self.failed[1]) else None

    def compare(self) -> Comparison:
        """A test of runs where there are several, of trials else."""
        if self.of_several:
            return compare_several(self.a, self.b, better=self.metric.better, failed=self.failed)
        a, b = (side[0] if side else () for side in (self.a, self.b))
        return compare(a, b, better=self.metric.better, failed=self.failed)

    def smallest_change(self, found: Comparison, alpha: float) -> float | None:
        """The least change for the worse that these values would have shown at `alpha`; None if unknown."""
        if self.of_several:
            return smallest_change_of_runs(self.a, self.b, better=self.metric.better, alpha=alpha)
        return smallest_change(self.a[0], self.b[0], found, alpha=alpha) if self.a and self.b else None


def _each(
    side: list[CellMetric], values: Callable[[CellMetric], tuple[float, ...]]
) -> list[tuple[float, ...]]:
    """The values of each run that has any."""
    return [found for one in side if (found := values(one))]


def _values(one: CellMetric) -> tuple[float, ...]:
    """Of the trials that count; of all where too few do, as tables show it."""
    return one.fallen_back_on.values if one.fallen_back_on else one.values


def _all_values(one: CellMetric) -> tuple[float, ...]:
    return one.with_disturbed.values if one.with_disturbed else one.values


def _too_much(cell: CellSummary) -> int:
    """How many trials of a cell failed in a way that speaks against it."""
    return sum(is_too_much(trial.result) for trial in cell.trials)
