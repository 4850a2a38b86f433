"""Two runs side by side, cell by cell and metric by metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.analysis.importance import named, primary
from steelyard.analysis.summary import CellMetric, CellSummary, RunSummary, summarise_run
from steelyard.errors import UnknownName
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell, show_level
from steelyard.stats.bootstrap import SMALLEST_SAMPLE
from steelyard.stats.comparison import Comparison, compare
from steelyard.stats.verdict import Judged, Verdict, verdicts
from steelyard.store.reader import RunRecord

ALPHA = 0.05
_FROM_BAD_TO_GOOD = (
    Verdict.WORSE,
    Verdict.DIFFERENT,
    Verdict.TOO_FEW,
    Verdict.NO_DIFFERENCE,
    Verdict.BETTER,
)
_Matched = tuple[CellSummary, CellSummary]


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """One metric of one cell in both runs. `judged` holds the figures, the verdict and a sentence."""

    cell: Cell
    metric: Metric
    judged: Judged

    @property
    def verdict(self) -> Verdict:
        """Better, worse, different, no detectable difference, or too few trials."""
        return self.judged.verdict


@dataclass(frozen=True, slots=True)
class Valueless:
    """A metric that has no value in a cell of one run: `which` run, and a reason why."""

    cell: Cell
    metric: Metric
    which: str
    reason: str

    def __str__(self) -> str:
        return f"{self.metric.name} cannot be compared, in {self.which}: {self.reason}"


@dataclass(frozen=True, slots=True)
class RunComparison:
    """How run b stands to run a, the baseline.

    `compared` is ordered by metric, then by cell, and so is `valueless`, what could not be. `failing` are the
    cells of both in which trials of b failed. `only_a` and `only_b` are cells of one run alone, `left_out`
    the metrics that both have and that were not compared. `notes` are sentences: units that disagree, cells
    without a value on one side.
    """

    a: str
    b: str
    compared: tuple[ComparedCell, ...]
    valueless: tuple[Valueless, ...]
    failing: tuple[CellSummary, ...]
    only_a: tuple[Cell, ...]
    only_b: tuple[Cell, ...]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]

    def worst(self) -> Verdict | None:
        """The worst verdict: worse, different, too few trials, no difference, better. None without any."""
        found = {one.verdict for one in self.compared}
        return next((verdict for verdict in _FROM_BAD_TO_GOOD if verdict in found), None)

    def having(self, verdict: Verdict) -> list[ComparedCell]:
        """The comparisons with this verdict."""
        return [one for one in self.compared if one.verdict is verdict]


def compare_runs(a: RunRecord, b: RunRecord, *, metrics: Sequence[str] | None = None) -> RunComparison:
    """Compare run b with run a, the baseline, cell by cell.

    Cells are matched by their levels, whatever their order in the file; metrics by name and unit. All
    poolable values count: ranks need no outlier policy.

    All comparisons made here are one family under Holm's correction, so that the whole answer raises a
    false alarm in at most 5 % of comparisons of equal runs. A family has its price: 6 trials against 6 can
    judge 23 comparisons and no more. So unless `metrics` names some, the family holds as many metrics as
    the numbers of trials can judge in all matched cells, and at least one, in the order of importance:
    those that the experiments' own `require` and `until` name, which were chosen before anything was
    measured, then those with a direction, with no quantiles but the median and the 99th percentile. The
    choice looks at numbers of trials and never at values, which keeps the correction valid.

    Raises UnknownName for a metric that the runs do not both have, StoreError for a damaged record.
    """
    first, second = summarise_run(a), summarise_run(b)
    shared, notes = _shared(first, second)
    pairs, only_a, only_b = _matched(first, second)
    if metrics is None:
        wanted = primary(shared.values(), [*named(b.design), *named(a.design)])
        wanted = wanted[: _affordable(pairs)]
    else:
        wanted = [_chosen(name, shared) for name in dict.fromkeys(metrics)]
    compared, missing = _compared(wanted, pairs)
    left = tuple(name for name in shared if name not in {metric.name for metric in wanted})
    failing = tuple(cell for _, cell in pairs if cell.failures)
    notes += [f"{one.cell.key}: {one}" for one in missing]
    return RunComparison(a.id, b.id, compared, tuple(missing), failing, only_a, only_b, left, tuple(notes))


def _shared(a: RunSummary, b: RunSummary) -> tuple[dict[str, Metric], list[str]]:
    """The metrics of both, as b declares them, and what was said of those that disagree."""
    mine = {metric.name: metric for metric in a.metrics}
    both = [metric for metric in b.metrics if metric.name in mine]
    units = [(metric, mine[metric.name].unit) for metric in both]
    notes = [
        f"{metric.name} is not compared: its unit is {unit} in {a.run} and {metric.unit} in {b.run}"
        for metric, unit in units
        if metric.unit != unit
    ]
    return {metric.name: metric for metric, unit in units if metric.unit == unit}, notes


def _chosen(name: str, shared: dict[str, Metric]) -> Metric:
    if name not in shared:
        raise UnknownName("metric", name, shared, hint=f"both runs have: {', '.join(shared) or 'none'}")
    return shared[name]


def _matched(a: RunSummary, b: RunSummary) -> tuple[list[_Matched], tuple[Cell, ...], tuple[Cell, ...]]:
    before = {_levels(cell.cell): cell for cell in a.cells}
    after = {_levels(cell.cell): cell for cell in b.cells}
    pairs = [(before[levels], cell) for levels, cell in after.items() if levels in before]
    only_a = tuple(cell.cell for levels, cell in before.items() if levels not in after)
    only_b = tuple(cell.cell for levels, cell in after.items() if levels not in before)
    return pairs, only_a, only_b


def _levels(cell: Cell) -> frozenset[tuple[str, str]]:
    return frozenset((name, show_level(value)) for name, value in cell.parameters.items())


def _affordable(pairs: list[_Matched]) -> int:
    """How many metrics Holm can judge in all cells that have trials enough; at least one."""
    smallest_p = [2 / math.comb(a.n + b.n, a.n) for a, b in pairs if min(a.n, b.n) >= SMALLEST_SAMPLE]
    if not smallest_p:
        return 1
    return max(1, int(ALPHA / max(smallest_p) / len(smallest_p)))


def _compared(
    metrics: Sequence[Metric], pairs: list[_Matched]
) -> tuple[tuple[ComparedCell, ...], list[Valueless]]:
    found: list[tuple[Cell, Metric, Comparison]] = []
    missing: list[Valueless] = []
    for metric in metrics:
        for a, b in pairs:
            before, after = a.metrics[metric.name], b.metrics[metric.name]
            if before.summary is None or after.summary is None:
                missing.append(_no_value(b.cell, metric, before, after))
            else:
                comparison = compare(before.values, after.values, better=metric.better)
                found.append((b.cell, metric, comparison))
    judged = verdicts([comparison for _, _, comparison in found], alpha=ALPHA)
    pairwise = zip(found, judged, strict=True)
    return tuple(ComparedCell(cell, metric, verdict) for (cell, metric, _), verdict in pairwise), missing


def _no_value(cell: Cell, metric: Metric, before: CellMetric, after: CellMetric) -> Valueless:
    which, reason = ("a", before.reason) if before.summary is None else ("b", after.reason)
    return Valueless(cell, metric, which, reason)
