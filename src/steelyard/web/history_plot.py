"""A series of a history as shapes of an SVG drawing: a point for each run, a line for each level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from steelyard.analysis.history.history import HistorySeries
from steelyard.analysis.history.levels import HistoryPoint
from steelyard.report.numbers import scale_for, show_interval
from steelyard.report.sections.history import format_verdict
from steelyard.stats.sample import median

WIDTH, HEIGHT = 600, 150
_MARGIN = 0.08
_RADII = 1.2, 4.0


class PlotPoint(NamedTuple):
    """A run: where it stands, its interval's ends, and what a reader is told of it."""

    run: str
    x: float
    y: float
    low: float
    high: float
    aside: bool
    text: str


class HistoryPlot(NamedTuple):
    """`levels` are lines (x1, x2, y); `changes` and `segments` are places between two runs."""

    label: str
    verdict: str
    low: str
    high: str
    radius: float
    points: list[PlotPoint]
    levels: list[tuple[float, float, float]]
    changes: list[tuple[float, str]]
    segments: list[float]


def plot_history(one: HistorySeries) -> HistoryPlot:
    """Evenly spaced, as runs are; from the lowest figure to the highest, which the axis names."""
    shown = [point for point in one.points if point.median is not None]
    values = [value for point in shown for value in _list_values(point)]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    room = _MARGIN * (high - low or abs(high) or 1.0)
    scale, step = scale_for([low, high], one.metric.unit), WIDTH / max(1, len(shown))

    def height(value: float) -> float:
        return round(HEIGHT * (1 - (value - low + room) / (high - low + 2 * room)), 1)

    places = {point.run: round((number + 0.5) * step, 1) for number, point in enumerate(shown)}
    return HistoryPlot(
        f"{one.cell.key}: {one.metric.name}" if one.cell.parameters else one.metric.name,
        format_verdict(one),
        scale.text(low),
        scale.text(high),
        round(min(_RADII[1], max(_RADII[0], step / 2.5)), 1),
        [_place_point(point, one, places, height) for point in shown],
        [*_draw_levels(one, places, height)],
        [(round(places[change.run] - step / 2, 1), str(change.verdict)) for change in one.changes],
        [
            round(places[after.run] - step / 2, 1)
            for before, after in pairwise(shown)
            if before.segment != after.segment
        ],
    )


def _list_values(point: HistoryPoint) -> list[float]:
    ends = [point.interval.low, point.interval.high] if point.interval else []
    return [point.median, *ends] if point.median is not None else ends


def _place_point(
    point: HistoryPoint, one: HistorySeries, places: dict[str, float], height: Callable[[float], float]
) -> PlotPoint:
    values = _list_values(point)
    figure = " ".join(show_interval(values[0], point.interval, one.metric.unit))
    text = ", ".join(filter(None, (point.label or point.run, f"{figure}, n={point.n}", point.aside)))
    ends = (height(min(values)), height(max(values)))
    return PlotPoint(point.run, places[point.run], height(values[0]), *ends, bool(point.aside), text)


def _draw_levels(
    one: HistorySeries, places: dict[str, float], height: Callable[[float], float]
) -> list[tuple[float, float, float]]:
    """One line from the first to the last run of each level of each segment."""
    begins = {change.run for change in one.changes}
    levels: list[tuple[float, float, float]] = []
    for segment in sorted({point.segment for point in one.used}):
        points = [point for point in one.used if point.segment == segment]
        starts = [0, *(n for n, point in enumerate(points) if n and point.run in begins), len(points)]
        levels += [_draw_level(points[first:last], places, height) for first, last in pairwise(starts)]
    return levels


def _draw_level(
    points: Sequence[HistoryPoint], places: dict[str, float], height: Callable[[float], float]
) -> tuple[float, float, float]:
    middle = median(sorted(point.figure for point in points))
    return places[points[0].run], places[points[-1].run], height(middle)
