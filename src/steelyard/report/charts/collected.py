"""What collectors recorded during a trial: a chart for each unit of a collector's columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.analysis.over_time.collected import CollectedSamples
from steelyard.analysis.over_time.event_log import LoggedEvent
from steelyard.report.charts.base import Chart
from steelyard.report.charts.hosts import Panel, host_panel

MOST_LINES = 8
_TITLES = {"%": "shares", "1/s": "rates", "s": "times", "B": "sizes", "B/s": "throughput", "1": "counts"}


def draw_collected(
    number: int, tables: Sequence[CollectedSamples], events: Sequence[LoggedEvent], zero: float | None
) -> Iterator[Chart]:
    """The charts of one host, or server; `number` and `zero` are as those of `host_panel`."""
    groups = [(table, *group) for table in tables for group in table.group_by_unit().items()]
    for position, (table, unit, names) in enumerate(groups):
        lines = _select_lines(table, names)
        of = f", the highest {len(lines)} of {len(names)}" if len(lines) < len(names) else ""
        title = f"{table.collector}: {_TITLES.get(unit, unit)}{of}"
        panel = Panel(f"collected{position}x", title, unit, {name: name for name in lines})
        if chart := host_panel(number, table.samples, panel, events, zero=zero):
            yield chart


def _select_lines(table: CollectedSamples, names: Sequence[str]) -> list[str]:
    """Of many lines those that reach highest, in the order of the table."""
    tops = {name: _top(table.samples.columns.get(name, [])) for name in names}
    highest = sorted(names, key=lambda name: tops[name], reverse=True)[:MOST_LINES]
    return [name for name in names if name in highest]


def _top(values: Sequence[float | None]) -> float:
    return max((value for value in values if value is not None), default=float("-inf"))
