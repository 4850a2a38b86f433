"""A history as a reader sees it: the answer in a sentence, a table for each metric, what else to know."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import groupby
from typing import Literal, NamedTuple

from steelyard.analysis.history.history import History, HistorySeries
from steelyard.analysis.history.levels import LevelChange
from steelyard.report.bars import draw_sparkline
from steelyard.report.numbers import scale_for
from steelyard.report.sections.comparison import format_change
from steelyard.report.sections.section import Section, summary_text
from steelyard.report.wording import format_list
from steelyard.stats.over_time.change_points import FEWEST
from steelyard.stats.summary import summarise
from steelyard.units import format_count

HEAD = ("cell", "runs", "now [95 %]", "verdict", "over time")
NEWEST = 60
"""Runs that a line of bars shows."""


class HistorySection(NamedTuple):
    """A history for a page. `alarms` say what somebody has to look at, and what to do about it."""

    title: str
    answer: str
    mood: Literal["good", "bad", "none"]
    alarms: list[str]
    sections: list[Section]
    segments: list[str]
    notes: list[str]


def describe_history(history: History) -> HistorySection:
    """All that is said of a history. Raises as its parts do."""
    mood: Literal["good", "bad", "none"] = "bad" if history.alarms else "good" if history.series else "none"
    return HistorySection(
        _title(history),
        answer(history),
        mood,
        [*_list_alarms(history)],
        [*_list_sections(history)],
        [*_list_segments(history)],
        [*_list_notes(history)],
    )


def answer(history: History) -> str:
    """`write_bandwidth is worse in 2 of 6 cells since commit 3f2a, by -9.8 % [-11.2, -8.4] in block=4k.`"""
    if not history.series:
        return "There is nothing to judge: no run counts."
    if history.alarms:
        one, change = max(history.alarms, key=lambda alarm: _size(alarm[1]))
        cells = {series.cell.key for series, _ in history.alarms if series.metric == one.metric}
        every = {series.cell.key for series in history.series if series.metric == one.metric}
        where = f" in {len(cells)} of {format_count(len(every), 'cell')}" if len(every) > 1 else ""
        most = f" in {one.cell.key}" if len(every) > 1 else ""
        return (
            f"{one.metric.name} is {change.verdict}{where} since {name_run(change.run, change.label)},"
            f" by {_format_size(one, change)}{most}."
        )
    few = [one for one in history.series if len(one.used) < FEWEST]
    if len(few) == len(history.series):
        return f"Too few runs to judge: a change needs {FEWEST}, 4 on either level."
    return "Nothing is worse than it was."


def name_run(run: str, label: str) -> str:
    """A run as people know it: by its commit or tag where it has one."""
    return f"{run} ({label})" if label else run


def format_verdict(one: HistorySeries) -> str:
    """How a series stands: `worse by -9.8 % [-11.2, -8.4] since RUN (commit)`, `no change`."""
    current = next((change for change in reversed(one.changes) if change.is_current), None)
    if current is not None:
        since = f"since {current.label or current.run}"
        said = f"{current.verdict} by {_format_size(one, current)} {since}"
        return f"{said}; expected: {current.decision.why}" if current.decision else said
    level = one.current_level
    if len(level) < FEWEST:
        return f"{format_count(len(level), 'run')} of {FEWEST} that a change needs"
    return "no change"


def _title(history: History) -> str:
    runs = history.runs
    if not runs:
        return f"{history.experiment}: no run counts"
    first, last = (time.strftime("%Y-%m-%d", time.localtime(run.started)) for run in (runs[0], runs[-1]))
    order = "" if history.by == "wall" else f", in the order of {history.by}"
    return f"{history.experiment}: {format_count(len(runs), 'run')} from {first} to {last}{order}"


def _list_alarms(history: History) -> Iterator[str]:
    for one, change in history.alarms:
        alike = "; it counts although runs resemble their neighbours" if change.factor > 1 else ""
        yield (
            f"{change.verdict}  {one.cell.key}: {one.metric.name} {_format_size(one, change)}"
            f" since {name_run(change.run, change.label)}, {format_count(change.before, 'run')} before"
            f" and {change.after} since{alike}"
        )
    if history.alarms:
        run = history.alarms[0][1].run
        yield (
            f"if it was meant: `steelyard history {history.experiment} --expect {run} --why REASON`; if a run"
            " went wrong: --ignore RUN"
        )


def _list_sections(history: History) -> Iterator[Section]:
    for metric, group in groupby(history.series, key=lambda one: one.metric):
        better = "" if metric.better == "none" else f", {metric.better} is better"
        yield Section(metric.name + better, metric.about, [], HEAD, [_row(one) for one in group], [])


def _row(one: HistorySeries) -> tuple[str, ...]:
    level, values = one.current_level, [point.figure for point in one.used]
    now = summary_text(summarise([point.figure for point in level]), one.metric.unit) if level else "–"
    return (
        one.cell.key,
        str(len(one.used)),
        now,
        format_verdict(one),
        draw_sparkline(values[-NEWEST:]) if values else "",
    )


def _list_segments(history: History) -> Iterator[str]:
    """Where the machine, its programs or what is measured became others; the first began with nothing."""
    for segment in history.segments[1:]:
        yield f"{segment.runs[0].id}: {format_list(segment.changed, 6)}"


def _list_notes(history: History) -> Iterator[str]:
    earlier = [(one, change) for one in history.series for change in one.changes if not change.is_current]
    for one, change in earlier:
        yield (
            f"earlier: {one.cell.key}: {one.metric.name} {change.verdict} by {_format_size(one, change)} at"
            f" {name_run(change.run, change.label)}"
        )
    aside: dict[str, str] = {}
    for one in history.series:
        for point in one.points:
            if point.aside:
                aside.setdefault(point.run, f"{one.cell.key}: {point.aside}")
    yield from (f"not used: {run}: {reason}" for run, reason in aside.items())
    yield from (f"left out: {one.run}: {one.reason}" for one in history.left_out)
    unfollowed = {metric.name for run in history.runs[-1:] for metric in run.summary.metrics}
    if rest := sorted(unfollowed - {metric.name for metric in history.metrics}):
        yield f"not followed: {format_list(rest, 6)}; choose with --metric NAME"


def _format_size(one: HistorySeries, change: LevelChange) -> str:
    known = [value for value in (change.comparison.median_a, change.comparison.median_b) if value is not None]
    return format_change(change.comparison, scale_for(known, one.metric.unit))


def _size(change: LevelChange) -> float:
    ratio = change.comparison.ratio
    return abs(ratio - 1) if ratio is not None else 0.0
