"""The result tables: medians of all metrics, and every statistic of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steelyard.analysis.cell_metric import CellMetric
from steelyard.analysis.summary import CellSummary, RunSummary
from steelyard.model.metric import Metric
from steelyard.report.numbers import scale_for, show_interval
from steelyard.report.wording import describe_all_counted, format_levels, format_marks
from steelyard.stats.summary import Summary

MOST_ROWS = 1000


class TableFigure(NamedTuple):
    """One place in the table: the median, its interval or why there is none; `disturbance` what, if
    disturbed.
    """

    median: str
    interval: str
    note: str
    disturbance: str = ""


class Line(NamedTuple):
    """A cell's row. `cell` has one text per parameter; `marks` say what does not count."""

    cell: list[str]
    n: int
    figures: list[TableFigure]
    marks: str


class Statistics(NamedTuple):
    """Every statistic of a metric: a head and rows of text."""

    metric: str
    about: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]


class ResultTables(NamedTuple):
    """`left_out` counts the cells beyond those shown."""

    metrics: list[Metric]
    lines: list[Line]
    statistics: list[Statistics]
    left_out: int

    @property
    def has_marks(self) -> bool:
        """Whether any cell has trials that do not count."""
        return any(line.marks for line in self.lines)


def results(summary: RunSummary) -> ResultTables:
    """All cells of the design in order, up to 1000."""
    cells = summary.cells[:MOST_ROWS]
    columns = list(summary.list_columns(summary.metrics))
    lines = [_line(cell, columns) for cell in cells]
    statistics = [_statistics(summary, metric) for metric in summary.metrics]
    known = [table for table in statistics if table.rows]
    return ResultTables(columns, lines, known, len(summary.cells) - len(cells))


def _line(cell: CellSummary, metrics: Sequence[Metric]) -> Line:
    figures = [figure(cell.metrics[metric.name]) for metric in metrics]
    return Line(format_levels(cell.cell), cell.n, figures, "; ".join(format_marks(cell)))


def figure(one: CellMetric) -> TableFigure:
    """A median with its interval, or the reason why one of them is missing."""
    if one.shown_summary is None and one.marked_median is not None:
        return TableFigure(
            f"({one.sign}{show_interval(one.marked_median, None, one.metric.unit)[0]})", "", one.reason
        )
    if one.shown_summary is None:
        return TableFigure("–", "", one.reason)
    median, interval = show_interval(one.shown_summary.median, one.shown_summary.interval, one.metric.unit)
    return TableFigure(
        one.sign + median, interval, one.shown_summary.interval_reason, describe_all_counted(one)
    )


HEAD = (
    "cell",
    "n",
    "median",
    "95 % interval",
    "mean",
    "standard deviation",
    "lowest",
    "highest",
    "set aside",
)


def _statistics(summary: RunSummary, metric: Metric) -> Statistics:
    """A row for each cell, and one more where there are disturbed trials, with these counted in."""
    rows = []
    for cell in summary.cells[:MOST_ROWS]:
        one = cell.metrics[metric.name]
        rows += [_statistic(cell.cell.key, metric, one.summary)] if one.summary else []
        if everything := one.with_disturbed:
            name = f"{cell.cell.key}, all trials, {everything.disturbance}"
            rows.append(_statistic(name, metric, everything.summary))
    return Statistics(metric.name, metric.about, HEAD, rows)


def _statistic(name: str, metric: Metric, summary: Summary) -> tuple[str, ...]:
    median, interval = show_interval(summary.median, summary.interval, metric.unit)
    scale = scale_for([summary.median], metric.unit)
    plain = (summary.mean, summary.sd, summary.minimum, summary.maximum)
    return (
        name,
        str(summary.n),
        median,
        interval or summary.interval_reason,
        *("–" if value is None else scale.text(value) for value in plain),
        str(summary.dropped),
    )
