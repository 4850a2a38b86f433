"""The history of an experiment: each run's medians over time, and where they changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from steelyard.analysis.cell_metric import CellMetric
from steelyard.analysis.history.levels import HistoryPoint, LevelChange, find_changes
from steelyard.analysis.history.order import WALL
from steelyard.analysis.history.runs import COMMIT, HistoryRun, LeftOut, Segment, select_runs, split_segments
from steelyard.analysis.importance import FEWEST_LEADING, list_requested, select_metrics, select_primary
from steelyard.analysis.summary import CellSummary
from steelyard.errors import UnknownName
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell
from steelyard.store.decisions import Decision


@dataclass(frozen=True, slots=True)
class HistorySeries:
    """One metric in one cell. `changes` are those of all segments, in the order of the runs."""

    cell: Cell
    metric: Metric
    points: tuple[HistoryPoint, ...]
    changes: tuple[LevelChange, ...]

    @property
    def used(self) -> list[HistoryPoint]:
        """The points that count."""
        return [point for point in self.points if not point.aside]

    @property
    def current_level(self) -> list[HistoryPoint]:
        """The points of the newest segment since it last changed; none where the newest run has no point."""
        if not self.points:
            return []
        segment = [point for point in self.used if point.segment == self.points[-1].segment]
        current = [change for change in self.changes if change.is_current]
        return segment[-current[-1].after :] if current else segment


@dataclass(frozen=True)
class History:
    """All runs of an experiment in the order of `by`: `wall`, or the name of a tag.

    `patterns` name the metrics to follow, by default those that the experiment asks about, else its most
    important ones. Every part raises StoreError for a damaged record, and UnknownName for a
    metric that the newest run does not have.
    """

    experiment: str
    every: tuple[HistoryRun, ...]
    decisions: Mapping[str, Decision]
    by: str = WALL
    patterns: tuple[str, ...] = ()

    @cached_property
    def _selected(self) -> tuple[list[HistoryRun], list[LeftOut]]:
        return select_runs(self.every, self.decisions, self.by)

    @property
    def runs(self) -> list[HistoryRun]:
        """Those that belong to it, in its order."""
        return self._selected[0]

    @property
    def left_out(self) -> list[LeftOut]:
        """The others, each with the reason."""
        return self._selected[1]

    def find_run(self, name: str) -> HistoryRun:
        """A run by its id, an end of it, or the commit or other tag that labels it. Raises UnknownName."""
        tag = COMMIT if self.by == WALL else self.by
        labels = {run.id: run.tags.get(tag, "") for run in self.every}
        named = [run for run in self.every if run.id.endswith(name) or labels[run.id] == name]
        if not named:
            hint = f"`steelyard history {self.experiment} --json` lists them"
            raise UnknownName("run", name, [*labels, *filter(None, labels.values())], hint=hint)
        return named[0]

    @cached_property
    def segments(self) -> list[Segment]:
        """Its runs by what they measure and where."""
        return split_segments(self.runs)

    @cached_property
    def metrics(self) -> list[Metric]:
        """Those that are followed, as the newest run declares them."""
        if not self.runs:
            return []
        newest = self.runs[-1]
        if self.patterns:
            return select_metrics(newest.summary.metrics, self.patterns)
        asked = list_requested(newest.record.design)
        known = {metric.name for metric in newest.summary.metrics}
        named = sum(name in known for name in asked)
        return select_primary(newest.summary.metrics, asked)[: named or FEWEST_LEADING]

    @cached_property
    def series(self) -> list[HistorySeries]:
        """Each metric in each cell of any run that has a figure of it, the newest run's cells first."""
        cells = {key: one.cell for run in reversed(self.runs) for key, one in run.cells.items()}
        pairs = [(cell, metric) for metric in self.metrics for cell in cells.values()]
        every = [(*pair, self._make_points(*pair)) for pair in pairs]
        shown = [one for one in every if any(point.median is not None for point in one[2])]
        family = sum(any(not point.aside for point in points) for *_, points in shown)
        return [self._judge(*one, family) for one in shown]

    @property
    def alarms(self) -> list[tuple[HistorySeries, LevelChange]]:
        """What somebody has to look at."""
        return [(one, change) for one in self.series for change in one.changes if change.is_alarm]

    @property
    def newest_is_used(self) -> bool:
        """Whether the newest run says anything: no gate may pass by silence."""
        return any(one.used and one.used[-1].run == self.runs[-1].id for one in self.series)

    @cached_property
    def _segment_numbers(self) -> dict[str, int]:
        return {run.id: number for number, segment in enumerate(self.segments) for run in segment.runs}

    def _make_points(self, cell: Cell, metric: Metric) -> tuple[HistoryPoint, ...]:
        key, numbers = cell.key, self._segment_numbers
        having = (run for run in self.runs if key in run.cells)
        return tuple(_make_point(run, numbers[run.id], run.cells[key], metric, self.by) for run in having)

    def _judge(
        self, cell: Cell, metric: Metric, points: tuple[HistoryPoint, ...], family: int
    ) -> HistorySeries:
        newest = points[-1].segment
        changes = [
            change
            for number in range(len(self.segments))
            for change in find_changes(
                [point for point in points if point.segment == number and not point.aside],
                metric,
                self.decisions,
                family=family,
                newest=number == newest,
            )
        ]
        order = {point.run: place for place, point in enumerate(points)}
        return HistorySeries(cell, metric, points, tuple(sorted(changes, key=lambda one: order[one.run])))


def _make_point(run: HistoryRun, segment: int, cell: CellSummary, metric: Metric, by: str) -> HistoryPoint:
    label = run.tags.get(COMMIT if by == WALL else by, "")
    one = cell.metrics.get(metric.name)
    reason = _find_reason(one, metric)
    shown = one.shown_summary if one else None
    if shown is None:
        return HistoryPoint(run.id, label, run.started, segment, None, None, 0, reason)
    return HistoryPoint(run.id, label, run.started, segment, shown.median, shown.interval, shown.n, reason)


def _find_reason(one: CellMetric | None, metric: Metric) -> str:
    """Why a run's figure is not used; empty where it is."""
    if one is None:
        return f"it has no metric {metric.name}"
    if _define(one.metric) != _define(metric):
        return f"{metric.name} was defined otherwise"
    if one.summary is not None:
        return ""
    return one.disturbance or one.reason or "no trial counts"


def _define(metric: Metric) -> tuple[str, ...]:
    return (metric.unit, metric.better, metric.formula)
