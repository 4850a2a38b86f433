"""A search for a limit: the figure at each level that was probed, coloured by its verdict, and the bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steelyard.analysis.limit import LimitStudy, ProbedLevel
from steelyard.analysis.requirements import RequirementVerdict
from steelyard.report.charts.base import (
    Chart,
    Datum,
    Frame,
    Measure,
    Spec,
    Title,
    frame_chart,
    label_axis,
    measure_axis,
    scale_value,
    tooltip,
)
from steelyard.report.sections.limit import figure

FRAMES = (Frame(320, 700), Frame(280, 330))
MOST_LINES, MOST_NAMES = 24, 8
_HINT = tooltip("search", "level", "verdict", "n", "figure")


class Ink(NamedTuple):
    """How a verdict looks: a style of the theme, and a shape for who cannot tell colours apart."""

    style: str
    shape: str


INKS = {
    RequirementVerdict.MET: Ink("good", "circle"),
    RequirementVerdict.UNDECIDED: Ink("open", "triangle-up"),
    RequirementVerdict.NOT_MET: Ink("bad", "cross"),
}


def limit_chart(number: int, found: LimitStudy) -> Chart | None:
    """The chart; None where no level has a figure. Levels at which most failed stand at its top."""
    shown = [(limit.label, level) for limit in found.limits[:MOST_LINES] for level in limit.levels]
    figures = [end for _, one in shown for end in (one.value, one.low, one.high) if end is not None]
    if not figures:
        return None
    y = measure_axis("middle", [*figures, found.bound], found.metric.unit, zero=True)
    worst = max(figures) if found.metric.better != "higher" else min(figures)
    named = {limit.levels[-1].cell.key for limit in found.limits[:MOST_NAMES] if limit.label and limit.levels}
    table, bound = f"derived{number}", f"bound{number}"
    data = {
        table: [
            _datum(found, label, level, y, worst) | {"name": label if level.cell.key in named else None}
            for label, level in shown
        ],
        bound: [{"middle": scale_value(found.bound, y.scale)}],
    }
    spec = {"layer": _layers(table, bound, y.position, _x_axis(found, shown), data[table])}
    title = f"{found.metric.name} against {found.parameter}"
    signs = "circles: it holds, triangles: undecided, crosses: it does not"
    subtitle = ", ".join(part for part in (y.label, signs) if part)
    wide, narrow = (frame_chart(spec, frame, Title(title, subtitle)) for frame in FRAMES)
    return Chart(title, wide, narrow, data)


def _datum(found: LimitStudy, label: str, level: ProbedLevel, y: Measure, worst: float) -> Datum:
    value = worst if level.value is None else level.value
    return {
        "search": label,
        "level": level.text,
        "place": level.place,
        "verdict": str(level.verdict),
        "n": level.n,
        "middle": scale_value(value, y.scale),
        "low": scale_value(level.low, y.scale),
        "high": scale_value(level.high, y.scale),
        "figure": figure(found, level),
    }


def _x_axis(found: LimitStudy, shown: Sequence[tuple[str, ProbedLevel]]) -> Spec:
    places = sorted({level.place: level.text for _, level in shown}.items())
    return {
        "field": "place",
        "type": "quantitative",
        "title": found.parameter,
        "scale": {"type": "log", "nice": False, "padding": 24},
        "axis": {**label_axis([at for at, _ in places], [text for _, text in places]), "grid": False},
    }


def _layers(table: str, bound: str, y: Spec, x: Spec, data: Sequence[Datum]) -> list[Spec]:
    """What has no data has no layer either: Vega warns of scales without an extent."""
    line = {
        "name": "searches",
        "data": {"name": table},
        "mark": {"type": "line", "style": "quiet"},
        "encoding": {"x": x, "y": y, "detail": {"field": "search"}},
    }
    rule = {
        "name": "bound",
        "data": {"name": bound},
        "mark": {"type": "rule", "style": "interval"},
        "encoding": {"y": y},
    }
    layers: list[Spec] = [rule, line]
    for verdict, ink in INKS.items():
        own = [datum for datum in data if datum["verdict"] == str(verdict)]
        if any(datum["low"] is not None and datum["high"] is not None for datum in own):
            layers.append(_intervals(table, verdict, ink, x, y))
        layers += [_points(table, verdict, ink, x, y)] if own else []
    return [*layers, _names(table, x, y)] if any(datum["name"] for datum in data) else layers


def _names(table: str, x: Spec, y: Spec) -> Spec:
    """Which search it is, at its last level; with many they would cover each other."""
    return {
        "name": "names",
        "data": {"name": table},
        "transform": [{"filter": "datum.name !== null"}],
        "mark": {"type": "text", "style": "median", "align": "right", "dx": -8, "dy": -8, "fontSize": 11},
        "encoding": {"x": x, "y": y, "text": {"field": "name"}},
    }


def _intervals(table: str, verdict: RequirementVerdict, ink: Ink, x: Spec, y: Spec) -> Spec:
    there = f"datum.verdict === '{verdict}' && datum.low !== null && datum.high !== null"
    return {
        "name": f"intervals_{ink.style}",
        "data": {"name": table},
        "transform": [{"filter": there}],
        "mark": {"type": "rule", "style": ink.style, "strokeWidth": 2, "strokeCap": "round"},
        "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "tooltip": _HINT},
    }


def _points(table: str, verdict: RequirementVerdict, ink: Ink, x: Spec, y: Spec) -> Spec:
    mark = {"type": "point", "filled": True, "size": 70, "opacity": 1, "style": ink.style, "shape": ink.shape}
    return {
        "name": f"levels_{ink.style}",
        "data": {"name": table},
        "transform": [{"filter": f"datum.verdict === '{verdict}'"}],
        "mark": mark,
        "encoding": {"x": x, "y": y, "tooltip": _HINT},
    }
