"""Two sides, cell by cell and metric by metric: a run or several each, or (`within`) levels of one run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from steelyard.analysis.comparison.comparability import Difference, check_alike, differences
from steelyard.analysis.comparison.samples import Samples
from steelyard.analysis.comparison.sides import Gap, Pair, Which, check_agreement, common_metrics, match_cells
from steelyard.analysis.importance import FEWEST_LEADING, list_requested, select_metrics, select_primary
from steelyard.analysis.summary import CellSummary, summarise_run
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell
from steelyard.stats.comparison import Comparison
from steelyard.stats.sample import SMALLEST_SAMPLE
from steelyard.stats.verdict import JudgedComparison, Verdict, judge_comparisons
from steelyard.store.reader import RunRecord

ALPHA = 0.05
_FROM_BAD_TO_GOOD = (
    Verdict.WORSE,
    Verdict.DIFFERENT,
    Verdict.UNDECIDED,
    Verdict.TOO_FEW,
    Verdict.NO_DIFFERENCE,
    Verdict.BETTER,
)


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """One metric of one cell on both sides. `judged` holds the figures, the verdict and a sentence.

    `detectable` is the least change for the worse that would have been found where none was (0.05 is 5 %).
    `disturbance` says what disturbed the trials of a side of which all count, as too few others do.
    """

    cell: Cell
    metric: Metric
    judged: JudgedComparison
    detectable: float | None = None
    disturbance: str = ""

    @property
    def verdict(self) -> Verdict:
        """Better, worse, different, undecided, no detectable difference, or too few trials."""
        return self.judged.verdict


@dataclass(frozen=True, slots=True)
class MissingValue:
    """A metric that has no value in a cell of one side: `which` side, and a reason why."""

    cell: Cell
    metric: Metric
    which: Which
    reason: str

    def __str__(self) -> str:
        return f"{self.metric.name} cannot be compared, in {self.which}: {self.reason}"


@dataclass(frozen=True, slots=True)
class RunComparison:
    """How the runs of b stand to those of a, the baseline.

    `compared` is ordered by metric, then by cell, and so is `missing_values`, what could not be. `failing`
    are the cells of both in which trials of b failed. `gaps` are cells that some runs lack, `left_out` the
    metrics that all have and that were not compared. `differences` tell what else is not the same.

    Where levels of a `parameter` are compared within one run, a is the baseline's and b are the others.
    """

    a: tuple[str, ...]
    b: tuple[str, ...]
    compared: tuple[ComparedCell, ...]
    missing_values: tuple[MissingValue, ...]
    failing: tuple[CellSummary, ...]
    gaps: tuple[Gap, ...]
    left_out: tuple[str, ...]
    differences: tuple[Difference, ...]
    parameter: str = ""

    @property
    def machine_differences(self) -> tuple[Difference, ...]:
        """What differs of the machines and their programs, and may be why figures do."""
        return tuple(one for one in self.differences if one.place)

    @property
    def has_several_runs(self) -> bool:
        """Whether it takes in how runs differ from each other."""
        return not self.parameter and len(self.a) + len(self.b) > 2

    def list_unmatched_cells(self, which: Which) -> tuple[Cell, ...]:
        """The cells that no run of the other side has."""
        return tuple(gap.cell for gap in self.gaps if gap.whole and gap.which != which)

    def worst_verdict(self) -> Verdict | None:
        """The worst verdict: worse, different, too few trials, no difference, better. None without any."""
        verdict_set = {one.verdict for one in self.compared}
        return next((verdict for verdict in _FROM_BAD_TO_GOOD if verdict in verdict_set), None)

    def select_by_verdict(self, verdict: Verdict) -> list[ComparedCell]:
        """The comparisons with this verdict."""
        return [one for one in self.compared if one.verdict is verdict]


def compare_runs(
    a: Sequence[RunRecord],
    b: Sequence[RunRecord],
    *,
    metrics: Sequence[str] | None = None,
    across: bool = False,
    failures: bool = True,
) -> RunComparison:
    """Compare the runs of b with those of a, the baseline, cell by cell.

    Cells are matched by their levels, whatever their order in the file; metrics by name. All poolable values
    count: ranks need no outlier policy. Where too few do, those of all trials count, as in tables; what would
    be better with disturbed trials and worse without, or the other way round, is undecided. Trials that
    failed count as worse than any value, unless `failures` leaves them out; those that say nothing of the
    cell (`stats.condition.TOO_MUCH`) never count.

    All comparisons made here are one family under Holm's correction, so that the whole answer raises a
    false alarm in at most 5 % of comparisons of equal runs. A family has its price: 6 trials against 6 can
    judge 23 comparisons and no more. So unless `metrics` names some, the family holds as many metrics as
    the numbers of trials can judge in all matched cells, and at least one, in the order of importance:
    those that the experiments' own `require` and `until` name, which were chosen before anything was
    measured, then those with a direction, with no quantiles but the median and the 99th percentile. The
    choice looks at numbers of trials and never at values, which keeps the correction valid.

    Raises UnknownName for a metric that the runs do not all have, UsageError for runs or metrics that are not
    alike (`across` allows another machine or tool), StoreError for a damaged record.
    """
    other = differences(a, b)
    check_alike([*a, *b], other, across=across)
    before, after = ([summarise_run(record) for record in side] for side in (a, b))
    shared = common_metrics([*before, *after])
    pairs, gaps = match_cells(before, after)
    asked = [name for record in (*b, *a) for name in list_requested(record.design)]
    wanted = select_metrics(shared.values(), metrics or ())
    wanted = wanted or _limit_metrics(
        select_primary(shared.values(), asked), pairs, len(set(asked) & set(shared))
    )
    check_agreement([*before, *after], wanted)
    comparison = compare_cells(pairs, wanted, failures=failures)
    return replace(
        comparison,
        a=tuple(record.id for record in a),
        b=tuple(record.id for record in b),
        gaps=tuple(gaps),
        left_out=tuple(name for name in shared if name not in {metric.name for metric in wanted}),
        differences=other,
    )


def compare_cells(pairs: Sequence[Pair], metrics: Sequence[Metric], *, failures: bool) -> RunComparison:
    """Compare these cells in these metrics as one family; whose they are, and what they lack, is not said."""
    compared, missing = _compare_pairs(metrics, pairs, failures=failures)
    failing = tuple(cell for pair in pairs for cell in pair.b if cell.failures)
    return RunComparison((), (), tuple(compared), tuple(missing), failing, (), (), ())


def _limit_metrics(metrics: list[Metric], pairs: list[Pair], asked: int) -> list[Metric]:
    """As many metrics as Holm can judge in all cells that have trials enough, and at least one.

    Several runs a side set no such bound, but each further metric makes all others harder to tell, so there
    it is those `asked` for, or else a few.
    """
    if any(pair.has_several_runs for pair in pairs):
        return metrics[: asked or FEWEST_LEADING]
    sizes = [(pair.a[0].n, pair.b[0].n) for pair in pairs]
    smallest_p = [2 / math.comb(n + m, n) for n, m in sizes if min(n, m) >= SMALLEST_SAMPLE]
    if not smallest_p:
        return metrics[:1]
    return metrics[: max(1, int(ALPHA / max(smallest_p) / len(smallest_p)))]


def _compare_pairs(
    metrics: Sequence[Metric], pairs: Sequence[Pair], *, failures: bool
) -> tuple[Iterator[ComparedCell], list[MissingValue]]:
    measured: list[Samples] = []
    missing: list[MissingValue] = []
    for metric in metrics:
        for pair in pairs:
            one = Samples.of(metric, pair, failures=failures)
            if which := one.empty_side:
                missing.append(MissingValue(pair.cell, metric, which, _explain_missing(metric, pair, which)))
            else:
                measured.append(one)
    return _judge_cells(measured), missing


def _explain_missing(metric: Metric, pair: Pair, which: Which) -> str:
    cells = pair.a if which == "a" else pair.b
    return "; ".join(dict.fromkeys(cell.metrics[metric.name].reason for cell in cells))


def _judge_cells(measured: Sequence[Samples]) -> Iterator[ComparedCell]:
    comparisons = [one.compare() for one in measured]
    tests = sum(comparison.is_testable for comparison in comparisons)
    for one, judged in zip(measured, _settle_verdicts(measured, comparisons), strict=True):
        hidden = judged.verdict is Verdict.NO_DIFFERENCE
        detectable = one.smallest_change(judged.comparison, ALPHA / tests) if hidden else None
        yield ComparedCell(one.cell, one.metric, judged, detectable, one.disturbance)


def _settle_verdicts(
    measured: Sequence[Samples], comparisons: Sequence[Comparison]
) -> list[JudgedComparison]:
    """The verdicts; open where all trials say the opposite of those that count."""
    alone = judge_comparisons(comparisons, alpha=ALPHA)
    if not any(one.everything for one in measured):
        return alone
    all_trials = [
        one.everything.compare() if one.everything else comparison
        for one, comparison in zip(measured, comparisons, strict=True)
    ]
    with_disturbed = judge_comparisons(all_trials, alpha=ALPHA)
    return [_reconcile(one, other) for one, other in zip(alone, with_disturbed, strict=True)]


def _reconcile(judged: JudgedComparison, other: JudgedComparison) -> JudgedComparison:
    if {judged.verdict, other.verdict} != {Verdict.BETTER, Verdict.WORSE}:
        return judged
    note = f"depends on disturbed trials: {judged.verdict} without them, {other.verdict} with them"
    return replace(judged, verdict=Verdict.UNDECIDED, note=note)
