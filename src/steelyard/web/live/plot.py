"""A series as lines of an SVG drawing: light enough to be drawn anew every second, and needs no script."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from steelyard.analysis.over_time.event_log import LoggedEvent
from steelyard.units import show
from steelyard.watching.samples import LiveSeries

WIDTH, HEIGHT = 600, 80
_HEADROOM = 1.1
_LEAST_SECONDS = 20.0
"""Of the axis, so that the first seconds of a trial are no steep line."""


class Band(NamedTuple):
    """An event over the series: where it begins, and how wide it is."""

    label: str
    x: float
    width: float


class Plot(NamedTuple):
    """`lines` are points for polylines; one ends where samples are missing. Texts are the axis' ends."""

    label: str
    newest: str
    low: str
    high: str
    seconds: str
    lines: list[str]
    bands: list[Band]


def plot_series(series: LiveSeries, events: Sequence[LoggedEvent]) -> Plot:
    """From zero, or from the lowest value below it, so that a flat line does not look like noise."""
    low, high = min(0.0, *series.values), _HEADROOM * max(0.0, *series.values)
    first, last = series.times[0], max(series.times[-1], series.times[0] + _LEAST_SECONDS)

    def place(at: float) -> float:
        return round(min(1.0, max(0.0, (at - first) / (last - first))) * WIDTH, 1)

    points = [
        (at, f"{place(at)},{round(HEIGHT - (value - low) / ((high - low) or 1.0) * HEIGHT, 1)}")
        for at, value in zip(series.times, series.values, strict=True)
    ]
    newest = show(series.values[-1], series.unit)
    ends = show(low, series.unit), show(high, series.unit), show(last - first, "s")
    return Plot(series.label, newest, *ends, _join_points(points), _place_bands(events, first, last, place))


def _join_points(points: Sequence[tuple[float, str]]) -> list[str]:
    """A line for each stretch without a gap of several samples."""
    step = min((after[0] - before[0] for before, after in pairwise(points)), default=1.0)
    lines: list[list[str]] = []
    before = -math.inf
    for at, text in points:
        if at - before > 3 * max(step, 1.0):
            lines.append([])
        lines[-1].append(text)
        before = at
    return [" ".join(line) for line in lines]


def _place_bands(
    events: Sequence[LoggedEvent], first: float, last: float, place: Callable[[float], float]
) -> list[Band]:
    bands = []
    for event in events:
        took = (event.ended - event.began) if event.ended is not None else time.time() - event.wall
        begins, ends = event.wall, event.wall + took
        if ends >= first and begins <= last:
            x = place(begins)
            bands.append(Band(event.label, x, max(2.0, place(ends) - x)))
    return bands
