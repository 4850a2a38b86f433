"""One metric in one cell: its figures over the trials that count, and over all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from steelyard.analysis.disturbed_trials import AllTrials, summarise_all
from steelyard.model.metric import Metric
from steelyard.stats.outliers import Policy, screen
from steelyard.stats.sample import check_values, median
from steelyard.stats.summary import Summary, summarise
from steelyard.store.reader import TrialRecord


@dataclass(frozen=True, slots=True)
class CellMetric:
    """One metric in one cell, from the poolable trials that have it, in the order of measurement.

    `trials` are their numbers and `values` their figures in the metric's unit. `summary` is None when there
    is nothing to summarise, and then `reason` says why; `marked_median` is then the median of the marked
    trials, where there are any: worth a look, but no result. `short_sample_counts` are how many observations
    each trial had that has no figure, because a quantile needs more. The trials that have one are then the
    quick ones: their summary is `quick_summary`, which can miss a requirement and is no figure.
    `with_disturbed` is the metric with the disturbed trials counted in, where there are any. `is_upper_bound`
    says that figures of some trials are only known not to be exceeded.
    """

    metric: Metric
    trials: tuple[int, ...]
    values: tuple[float, ...]
    summary: Summary | None
    reason: str
    marked_median: float | None = None
    short_sample_counts: tuple[int, ...] = ()
    quick_summary: Summary | None = None
    with_disturbed: AllTrials | None = None
    is_upper_bound: bool = False

    @property
    def sign(self) -> str:
        """What stands before its figures: `≤ ` where they are bounds."""
        return "≤ " if self.is_upper_bound else ""

    @property
    def substitute(self) -> AllTrials | None:
        """All trials, where none counts, or too few for an interval that all of them have."""
        everything = self.with_disturbed
        if everything and (
            self.summary is None or (not self.summary.interval and everything.summary.interval)
        ):
            return everything
        return None

    @property
    def shown_summary(self) -> Summary | None:
        """The summary to show: of all trials where too few count."""
        return self.substitute.summary if self.substitute else self.summary

    @property
    def disturbance(self) -> str:
        """What disturbed the trials of `shown_summary`: `under steal, median 12 %`; empty where only such
        count.
        """
        return self.substitute.disturbance if self.substitute else ""

    @property
    def outlier_trials(self) -> tuple[int, ...]:
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


def cell_metric(
    metric: Metric, trials: list[TrialRecord], pooled: list[TrialRecord], policy: Policy
) -> CellMetric:
    """The metric over all `trials` of a cell, of which those `pooled` count."""
    figures = (
        _summarise_pooled(metric, pooled, policy)
        if pooled
        else _describe_unpooled(metric, trials, _explain_missing(trials))
    )
    bound = any(metric.name in trial.bounds for trial in trials)
    return replace(figures, with_disturbed=summarise_all(metric, trials, policy), is_upper_bound=bound)


def _summarise_pooled(metric: Metric, pooled: list[TrialRecord], policy: Policy) -> CellMetric:
    having = [trial for trial in pooled if metric.name in trial.result.metrics]
    numbers = tuple(trial.number for trial in having)
    values = tuple(trial.result.metrics[metric.name] for trial in having)
    short = tuple(trial.short[metric.name] for trial in pooled if metric.name in trial.short)
    reason = explain_too_few(metric, short) if short else ""
    if not values:
        reason = reason or f"no trial has a value for {metric.name}"
        return CellMetric(metric, (), (), None, reason, short_sample_counts=short)
    try:
        summary = summarise(values, outliers=policy)
    except (ValueError, TypeError) as error:
        # One absurd figure must not cost the whole report.
        return CellMetric(metric, (), (), None, f"{metric.name}: {error}")
    if short:
        return CellMetric(
            metric, numbers, values, None, reason, short_sample_counts=short, quick_summary=summary
        )
    return CellMetric(metric, numbers, values, summary, "")


def explain_too_few(metric: Metric, short: Sequence[int]) -> str:
    """Why trials with so many observations have no figure of a quantile."""
    low, high = min(short), max(short)
    had = f"{low}" if low == high else f"{low} to {high}"
    trials = f"{len(short)} trial{'s' if len(short) > 1 else ''}"
    return f"{metric.name} needs {metric.samples} samples; {trials} had {had}"


def _describe_unpooled(metric: Metric, trials: list[TrialRecord], reason: str) -> CellMetric:
    """A metric of a cell in which no trial counts; there may still be marked ones."""
    values = [trial.result.metrics[metric.name] for trial in trials if metric.name in trial.result.metrics]
    try:
        middle = median(sorted(check_values(values)))
    except ValueError:
        middle = None
    return CellMetric(metric, (), (), None, reason, middle)


def _explain_missing(trials: list[TrialRecord]) -> str:
    """Why a cell has no poolable trial."""
    failed = sum(trial.result.status == "failed" for trial in trials)
    marked = len(trials) - failed
    fates = [f"{count} {fate}" for count, fate in ((failed, "failed"), (marked, "marked")) if count]
    return f"no trial counts: {', '.join(fates)}" if fates else "not measured"
