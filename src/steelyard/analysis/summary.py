"""What a run found: for each cell and metric the statistics of its trials, and which trials do not count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.analysis.damage import readable
from steelyard.analysis.disturbed import AllTrials, all_trials
from steelyard.analysis.early import stopped_early
from steelyard.analysis.importance import by_importance, named, primary
from steelyard.analysis.overhead import Overhead, overhead
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell
from steelyard.stats.autocorrelation import Independence, independence
from steelyard.stats.outliers import Policy, screen
from steelyard.stats.sample import checked, median
from steelyard.stats.summary import Summary, summarise
from steelyard.store.reader import RunRecord, TrialRecord


@dataclass(frozen=True, slots=True)
class CellMetric:
    """One metric in one cell, from the poolable trials that have it, in the order of measurement.

    `trials` are their numbers and `values` their figures in the metric's unit. `summary` is None when there
    is nothing to summarise, and then `reason` says why; `marked` is then the median of the marked trials,
    where there are any: worth a look, but no result. `independence` tells of drift among the values. `short`
    are how many observations each trial had that has no figure, because a quantile needs more.
    `with_disturbed` is the metric with the disturbed trials counted in, where there are any.
    """

    metric: Metric
    trials: tuple[int, ...]
    values: tuple[float, ...]
    summary: Summary | None
    reason: str
    independence: Independence | None
    marked: float | None = None
    short: tuple[int, ...] = ()
    with_disturbed: AllTrials | None = None

    @property
    def fallen_back_on(self) -> AllTrials | None:
        """All trials, where none counts, or too few for an interval that all of them have."""
        everything = self.with_disturbed
        if everything and (
            self.summary is None or (not self.summary.interval and everything.summary.interval)
        ):
            return everything
        return None

    @property
    def shown(self) -> Summary | None:
        """The summary to show: of all trials where too few count."""
        return self.fallen_back_on.summary if self.fallen_back_on else self.summary

    @property
    def under(self) -> str:
        """What disturbed the trials of `shown`: `under steal, median 12 %`; empty where only such count."""
        return self.fallen_back_on.under if self.fallen_back_on else ""

    @property
    def dropped(self) -> tuple[int, ...]:
        """The numbers of the trials that the outlier policy set aside."""
        if self.summary is None or not self.summary.dropped:
            return ()
        left = list(screen(self.values, self.summary.outliers).dropped)
        numbers = []
        for number, value in zip(self.trials, self.values, strict=True):
            if value in left:
                left.remove(value)
                numbers.append(number)
        return tuple(numbers)


@dataclass(frozen=True, slots=True)
class Tally:
    """Trials of one fate. `what`: a failure's category, or a mark's kind; `reasons`, `gists`: each once."""

    what: str
    reasons: tuple[str, ...]
    trials: tuple[int, ...]
    gists: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CellSummary:
    """A cell of the design. `n` trials are pooled; `trials` are all that finished, in the order of ending.

    A trial with two kinds of marks stands in two tallies of `marked`. `stopped_early` says that a stop rule
    ended it.
    """

    cell: Cell
    n: int
    trials: tuple[TrialRecord, ...]
    metrics: Mapping[str, CellMetric]
    failed: tuple[Tally, ...]
    marked: tuple[Tally, ...]
    stopped_early: bool = False

    @property
    def failures(self) -> int:
        """How many trials failed."""
        return sum(len(tally.trials) for tally in self.failed)

    @property
    def marks(self) -> int:
        """How many trials ended well but are marked."""
        return len(self.trials) - self.n - self.failures


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run's cells in the order of the design, unmeasured ones included.

    `metrics` are the scalars, the most important first, of which `primary` are the first. `sequential`
    is a sentence when a stop rule decided the number of repetitions, and empty otherwise. `overhead` is None
    where it was not recorded.
    """

    run: str
    title: str
    outliers: Policy
    metrics: tuple[Metric, ...]
    primary: tuple[Metric, ...]
    cells: tuple[CellSummary, ...]
    sequential: str
    overhead: Overhead | None = None

    @property
    def trials(self) -> int:
        """How many trials finished, failed and marked ones included."""
        return sum(len(cell.trials) for cell in self.cells)


def summarise_run(record: RunRecord, *, outliers: Policy | None = None) -> RunSummary:
    """Summarise a run; `outliers` overrides the policy that the experiment asked for.

    Raises StoreError when the record is damaged, and ValueError for an unknown policy.
    """
    if outliers:
        screen((0.0,), outliers)
    with readable(record.id):
        return _summary(record, outliers)


def _summary(record: RunRecord, outliers: Policy | None) -> RunSummary:
    design = record.design
    policy: Policy = outliers or design.get("outliers", "none")
    screen((0.0,), policy)
    asked = named(design)
    metrics = tuple(by_importance(record.metrics.values(), asked))
    found: dict[str, list[TrialRecord]] = {}
    for trial in record.trials:
        found.setdefault(trial.result.trial.cell.key, []).append(trial)
    return RunSummary(
        run=record.id,
        title=str(design.get("experiment", "")),
        outliers=policy,
        metrics=metrics,
        primary=tuple(primary(record.metrics.values(), asked)),
        cells=tuple(
            _with_stop(_cell(cell, found.get(cell.key, []), metrics, policy), design) for cell in record.cells
        ),
        sequential=_sequential(design.get("repeat") or {}),
        overhead=overhead(record.journal),
    )


def _cell(cell: Cell, trials: list[TrialRecord], metrics: tuple[Metric, ...], policy: Policy) -> CellSummary:
    pooled = [trial for trial in trials if trial.result.poolable]
    return CellSummary(
        cell=cell,
        n=len(pooled),
        trials=tuple(trials),
        metrics={metric.name: _of_cell(metric, trials, pooled, policy) for metric in metrics},
        failed=_tallies(
            (trial.result.category or "unknown", trial.message, "", trial.number)
            for trial in trials
            if trial.result.status == "failed"
        ),
        marked=_tallies(
            (mark.kind, mark.reason, mark.gist, trial.number)
            for trial in trials
            for mark in trial.marks
            if trial.result.status != "failed"
        ),
    )


def _with_stop(cell: CellSummary, design: Mapping[str, Any]) -> CellSummary:
    """Trials that were made again are none of those that the rule bounds."""
    repeat, again = design.get("repeat") or {}, design.get("disturbed") == "replace"
    bounded = sum(not (again and trial.result.disturbed) for trial in cell.trials)
    one = cell.metrics.get((repeat.get("until") or {}).get("metric", ""))
    if one is None or not stopped_early(repeat, bounded, one.values):
        return cell
    return replace(cell, stopped_early=True)


def _of_cell(
    metric: Metric, trials: list[TrialRecord], pooled: list[TrialRecord], policy: Policy
) -> CellMetric:
    found = _metric(metric, pooled, policy) if pooled else _unpooled(metric, trials, _why_nothing(trials))
    return replace(found, with_disturbed=all_trials(metric, trials, policy))


def _metric(metric: Metric, pooled: list[TrialRecord], policy: Policy) -> CellMetric:
    having = [trial for trial in pooled if metric.name in trial.result.metrics]
    numbers = tuple(trial.number for trial in having)
    values = tuple(trial.result.metrics[metric.name] for trial in having)
    short = tuple(trial.short[metric.name] for trial in pooled if metric.name in trial.short)
    if not values:
        reason = too_few(metric, short) if short else f"no trial has a value of {metric.name}"
        return CellMetric(metric, (), (), None, reason, None, short=short)
    try:
        summary = summarise(values, outliers=policy)
        dependence = independence(values)
    except (ValueError, TypeError) as error:
        # One absurd figure must not cost the whole report.
        return CellMetric(metric, (), (), None, f"{metric.name}: {error}", None)
    return CellMetric(metric, numbers, values, summary, "", dependence, short=short)


def too_few(metric: Metric, short: Sequence[int]) -> str:
    """Why trials with so many observations have no figure of a quantile."""
    low, high = min(short), max(short)
    had = f"{low}" if low == high else f"{low} to {high}"
    trials = f"{len(short)} trial{'s' if len(short) > 1 else ''}"
    return f"{metric.name} needs {metric.samples} samples; {trials} had {had}"


def _unpooled(metric: Metric, trials: list[TrialRecord], reason: str) -> CellMetric:
    """A metric of a cell in which no trial counts; there may still be marked ones."""
    found = [trial.result.metrics[metric.name] for trial in trials if metric.name in trial.result.metrics]
    try:
        middle = median(sorted(checked(found)))
    except ValueError:
        middle = None
    return CellMetric(metric, (), (), None, reason, None, middle)


def _why_nothing(trials: list[TrialRecord]) -> str:
    """Why a cell has no poolable trial."""
    failed = sum(trial.result.status == "failed" for trial in trials)
    marked = len(trials) - failed
    fates = [f"{count} {fate}" for count, fate in ((failed, "failed"), (marked, "marked")) if count]
    return f"no trial counts: {', '.join(fates)}" if fates else "not measured"


def _tallies(found: Iterable[tuple[str, str, str, int]]) -> tuple[Tally, ...]:
    """From fate, reason, its gist, and the trial's number."""
    by_fate: dict[str, tuple[dict[str, None], dict[int, None], dict[str, None]]] = {}
    for what, reason, gist, number in found:
        reasons, numbers, gists = by_fate.setdefault(what, ({}, {}, {}))
        reasons[reason] = numbers[number] = gists[gist] = None
    return tuple(
        Tally(what, tuple(reasons), tuple(numbers), tuple(gists))
        for what, (reasons, numbers, gists) in by_fate.items()
    )


def _sequential(repeat: Mapping[str, object]) -> str:
    until = repeat.get("until")
    if not isinstance(until, dict):
        return ""
    least, most = repeat.get("at_least"), repeat.get("at_most")
    goal = f"{until.get('metric')} known within {until.get('within')}"
    return f"stopped at precision: sequential ({goal}; {least} to {most} repetitions)"
