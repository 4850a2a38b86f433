"""What a comparison takes of a metric in a cell: the values on both sides, and the trials that failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from steelyard.analysis.cell_metric import CellMetric
from steelyard.analysis.comparison.sides import Pair, Which
from steelyard.analysis.disturbed_trials import AllTrials
from steelyard.analysis.summary import CellSummary
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell
from steelyard.stats.comparison import Comparison, compare
from steelyard.stats.condition import is_failure
from steelyard.stats.detectable import smallest_change
from steelyard.stats.pairs import compare_pairs, smallest_change_of_pairs
from steelyard.stats.sample import SMALLEST_SAMPLE
from steelyard.stats.several_runs import compare_several_runs, smallest_change_of_runs

Counted = CellMetric | AllTrials


@dataclass(frozen=True, slots=True)
class Samples:
    """The values of a metric in a cell, run by run, and how many trials failed that count.

    With `paired` the values of both were measured side by side, one of each after the other. `everything` is
    the same with the values of disturbed trials, where there are any that do not count.
    """

    cell: Cell
    metric: Metric
    a: list[tuple[float, ...]]
    b: list[tuple[float, ...]]
    failed: tuple[int, int]
    has_several_runs: bool
    paired: bool = False
    disturbance: str = ""
    everything: Samples | None = None

    @classmethod
    def of(cls, metric: Metric, pair: Pair, *, failures: bool) -> Samples:
        """Of all runs of both sides; failures say nothing where no direction is worse."""
        a, b = ([cell.metrics[metric.name] for cell in side] for side in (pair.a, pair.b))
        before, after = (sum(map(_count_failures, side)) for side in (pair.a, pair.b))
        failed = (before, after) if failures and metric.better != "none" else (0, 0)
        sides = (("a", a), ("b", b))
        under = [f"{name} {one.disturbance}" for name, side in sides for one in side if one.disturbance]
        empty = cls(pair.cell, metric, [], [], failed, pair.has_several_runs, disturbance="; ".join(under))
        samples = empty._replace_values(pair, list(map(_select_counted, a)), list(map(_select_counted, b)))
        if not any(one.with_disturbed and not one.substitute for one in (*a, *b)):
            return samples
        everything = empty._replace_values(pair, list(map(_select_all, a)), list(map(_select_all, b)))
        return replace(samples, everything=everything)

    def _replace_values(self, pair: Pair, a: Sequence[Counted], b: Sequence[Counted]) -> Samples:
        """With the values of these, of each run that has any."""
        values = ([one.values for one in side if one.summary] for side in (a, b))
        beside = pair.in_blocks and not any(self.failed) and are_interleaved(a[0].trials, b[0].trials)
        first, second = values
        return replace(self, a=first, b=second, paired=beside)

    @property
    def empty_side(self) -> Which | None:
        """The side of which nothing can be compared: without values, or failures in their place."""
        can_fail = not self.has_several_runs
        if not self.a and not (can_fail and self.failed[0] and self.b):
            return "a"
        return "b" if not self.b and not (can_fail and self.failed[1]) else None

    def compare(self) -> Comparison:
        """A test of runs where there are several, of trials else."""
        if self.has_several_runs:
            return compare_several_runs(self.a, self.b, better=self.metric.better, failed=self.failed)
        a, b = (side[0] if side else () for side in (self.a, self.b))
        if self.paired:
            return compare_pairs(a, b, better=self.metric.better)
        return compare(a, b, better=self.metric.better, failed=self.failed)

    def smallest_change(self, found: Comparison, alpha: float) -> float | None:
        """The least change for the worse that these values would have shown at `alpha`; None if unknown."""
        if self.has_several_runs:
            return smallest_change_of_runs(self.a, self.b, better=self.metric.better, alpha=alpha)
        if self.paired:
            return smallest_change_of_pairs(self.a[0], self.b[0], better=self.metric.better, alpha=alpha)
        return smallest_change(self.a[0], self.b[0], found, alpha=alpha) if self.a and self.b else None


def are_interleaved(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether enough trials, by their numbers, were made in pairs: the first of each, then the second.

    A pair may overlap with the one before and after it, as where a disturbed trial was made again, and with
    no other: cells that were measured one after the other, or that lack trials, have no pairs. It looks at no
    value, so it may choose the test.
    """
    if len(a) != len(b) or len(a) < SMALLEST_SAMPLE:
        return False
    pairs = [sorted(pair) for pair in zip(a, b, strict=True)]
    return all(last < first for (_, last), (first, _) in zip(pairs, pairs[2:], strict=False))


def _select_counted(one: CellMetric) -> Counted:
    """The trials that count; all where too few do, as tables show it."""
    return one.substitute or one


def _select_all(one: CellMetric) -> Counted:
    return one.with_disturbed or one


def _count_failures(cell: CellSummary) -> int:
    """How many trials of a cell failed in a way that speaks against it."""
    return sum(is_failure(trial.result) for trial in cell.trials)
