"""What a run found: for each cell and metric the statistics of its trials, and which trials do not count."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from steelyard.analysis.axes import ParameterAxis, list_axes
from steelyard.analysis.cell_metric import CellMetric, cell_metric
from steelyard.analysis.damage import guard_record
from steelyard.analysis.early import has_stopped_early
from steelyard.analysis.importance import (
    list_requested,
    select_leading,
    select_metrics,
    select_primary,
    sort_by_importance,
)
from steelyard.analysis.overhead import Overhead, sum_overhead
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell
from steelyard.stats.outliers import Policy, screen
from steelyard.store.reader import RunRecord, TrialRecord


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


@dataclass(frozen=True)
class RunSummary:
    """A run's cells in the order of the design, unmeasured ones included.

    `metrics` are the scalars, the most important first. The first of them are `primary`, worth a column, and
    the first of these `leading`, worth a sentence. `has_selected_metrics` says that a reader picked them.
    `sequential` is a sentence when a stop rule decided the number of repetitions, and empty otherwise.
    `unsampled` are quantiles that nobody asked for and no cell has observations enough of.
    `overhead` is None where it was not recorded.
    """

    run: str
    title: str
    outliers: Policy
    metrics: tuple[Metric, ...]
    primary: tuple[Metric, ...]
    cells: tuple[CellSummary, ...]
    sequential: str
    overhead: Overhead | None = None
    leading: tuple[Metric, ...] = ()
    has_selected_metrics: bool = False
    unsampled: frozenset[str] = frozenset()

    def filter_metrics(self, patterns: Sequence[str]) -> RunSummary:
        """The same with the metrics of these names alone, if there are any. Raises UnknownName."""
        if not patterns:
            return self
        metrics = tuple(select_metrics(self.metrics, patterns))
        chosen = replace(self, metrics=metrics, primary=metrics, leading=metrics, unsampled=frozenset())
        return replace(chosen, has_selected_metrics=True)

    def list_columns(self, metrics: Sequence[Metric]) -> Sequence[Metric]:
        """Those of them that a table has columns for; all, where it would have none."""
        return [metric for metric in metrics if metric.name not in self.unsampled] or metrics

    def list_other_metrics(self, mentioned: Collection[Metric]) -> list[str]:
        """The names of all other metrics that have a figure in some cell."""
        names = dict.fromkeys(
            name for cell in self.cells for name, one in cell.metrics.items() if one.shown_summary
        )
        return [name for name in names if name not in {metric.name for metric in mentioned}]

    @cached_property
    def axes(self) -> dict[str, ParameterAxis]:
        """All parameters by name, in the order of the file."""
        return list_axes(cell.cell for cell in self.cells)

    @property
    def varying_axes(self) -> list[ParameterAxis]:
        """The parameters with more than one level."""
        return [axis for axis in self.axes.values() if axis.is_varying]

    @property
    def has_no_pooled_trials(self) -> bool:
        """Trials finished, and none of them is pooled."""
        return bool(self.trials) and not any(cell.n for cell in self.cells)

    @property
    def has_disturbed(self) -> bool:
        """Whether some trials ended well and were disturbed, so that they may be counted in."""
        return any(trial.result.is_disturbed for cell in self.cells for trial in cell.trials)

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
    with guard_record(record.id):
        return _summarise(record, outliers)


def _summarise(record: RunRecord, outliers: Policy | None) -> RunSummary:
    design = record.design
    policy: Policy = outliers or design.get("outliers", "none")
    screen((0.0,), policy)
    asked = list_requested(design)
    metrics = tuple(sort_by_importance(record.metrics.values(), asked))
    trials_by_cell: dict[str, list[TrialRecord]] = {}
    for trial in record.trials:
        trials_by_cell.setdefault(trial.result.trial.cell.key, []).append(trial)
    cells = tuple(
        _mark_stopped(_summarise_cell(cell, trials_by_cell.get(cell.key, []), metrics, policy), design)
        for cell in record.cells
    )
    return RunSummary(
        run=record.id,
        title=str(design.get("experiment", "")),
        outliers=policy,
        metrics=metrics,
        primary=tuple(select_primary(record.metrics.values(), asked)),
        cells=cells,
        unsampled=frozenset(_find_unsampled(metrics, cells)).difference(asked),
        sequential=_describe_stop_rule(design.get("repeat") or {}),
        overhead=sum_overhead(record.journal),
        leading=tuple(select_leading(record.metrics.values(), asked)),
    )


def _find_unsampled(metrics: Sequence[Metric], cells: Sequence[CellSummary]) -> Iterator[str]:
    """The quantiles that no cell has a figure of, and some cell too few observations."""
    for metric in metrics:
        measured = [cell.metrics[metric.name] for cell in cells]
        has_figures = any(one.shown_summary or one.marked_median is not None for one in measured)
        if not has_figures and any(one.short_sample_counts for one in measured):
            yield metric.name


def _summarise_cell(
    cell: Cell, trials: list[TrialRecord], metrics: tuple[Metric, ...], policy: Policy
) -> CellSummary:
    pooled = [trial for trial in trials if trial.result.is_poolable]
    return CellSummary(
        cell=cell,
        n=len(pooled),
        trials=tuple(trials),
        metrics={metric.name: cell_metric(metric, trials, pooled, policy) for metric in metrics},
        failed=_count_fates(
            (trial.result.category or "unknown", trial.message, "", trial.number)
            for trial in trials
            if trial.result.status == "failed"
        ),
        marked=_count_fates(
            (f"{mark.kind}, counted" if mark.counted else mark.kind, mark.reason, mark.gist, trial.number)
            for trial in trials
            for mark in trial.marks
            if trial.result.status != "failed"
        ),
    )


def _mark_stopped(cell: CellSummary, design: Mapping[str, Any]) -> CellSummary:
    """Trials that were made again are none of those that the rule bounds."""
    repeat, again = design.get("repeat") or {}, design.get("disturbed") == "replace"
    bounded = sum(not (again and trial.result.is_disturbed) for trial in cell.trials)
    one = cell.metrics.get((repeat.get("until") or {}).get("metric", ""))
    if one is None or not has_stopped_early(repeat, bounded, one.values):
        return cell
    return replace(cell, stopped_early=True)


def _count_fates(found: Iterable[tuple[str, str, str, int]]) -> tuple[Tally, ...]:
    """From fate, reason, its gist, and the trial's number."""
    by_fate: dict[str, tuple[dict[str, None], dict[int, None], dict[str, None]]] = {}
    for what, reason, gist, number in found:
        reasons, numbers, gists = by_fate.setdefault(what, ({}, {}, {}))
        reasons[reason] = numbers[number] = gists[gist] = None
    return tuple(
        Tally(what, tuple(reasons), tuple(numbers), tuple(gists))
        for what, (reasons, numbers, gists) in by_fate.items()
    )


def _describe_stop_rule(repeat: Mapping[str, object]) -> str:
    until = repeat.get("until")
    if not isinstance(until, dict):
        return ""
    least, most = repeat.get("at_least"), repeat.get("at_most")
    goal = f"{until.get('metric')} known within {until.get('within')}"
    return f"stopped at the required precision (sequential: {goal}; {least} to {most} repetitions)"
