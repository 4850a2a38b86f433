"""A figure along a parameter's numbers, one line for each combination of the others, with marked places."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from steelyard.report.charts.base import (
    DECADES_FOR_LOG,
    Chart,
    Datum,
    Frame,
    Spec,
    Title,
    frame_chart,
    label_axis,
    measure_axis,
    scale_value,
    tooltip,
)
from steelyard.report.numbers import Scale
from steelyard.stats.estimate import Estimate

FRAMES = (Frame(320, 700), Frame(280, 330))
MOST_LINES = 24
_HINT = tooltip("line", "level", "value", "interval")


class Dot(NamedTuple):
    """A figure at a place (a number, called `level` on the axis) of a line."""

    line: str
    level: str
    place: float
    figure: Estimate


class Look(NamedTuple):
    """What a chart of curves is called, what it is drawn along, and in which unit its figures are."""

    title: str
    along: str
    unit: str
    subtitle: str = ""


def curves(
    number: int, look: Look, dots: Sequence[Dot], *, ideal: bool = False, knees: Sequence[float] = ()
) -> Chart | None:
    """The lines, at most 24; None without any dot.

    With `ideal` a dashed line shows what is proportional to the first place and 1 there; `knees` are places
    that a dashed rule marks.
    """
    every = list(dict.fromkeys(dot.line for dot in dots))
    lines = every[:MOST_LINES]
    shown = [dot for dot in dots if dot.line in lines]
    if not shown:
        return None
    places = sorted({dot.place: dot.level for dot in shown}.items())
    ends = [end for dot in shown if (i := dot.figure.interval) for end in (i.low, i.high)]
    perfect = [(place, place / places[0][0]) for place, _ in places] if ideal else []
    figures = [*(dot.figure.value for dot in shown), *ends, *(share for _, share in perfect)]
    y = measure_axis("middle", figures, look.unit, zero=True)
    data = {
        f"derived{number}": [_datum(dot, y.scale) for dot in shown],
        f"ideal{number}": [
            {"place": place, "middle": scale_value(share, y.scale)} for place, share in perfect
        ],
        f"knees{number}": [{"place": place} for place in dict.fromkeys(knees)],
    }
    data = {name: rows for name, rows in data.items() if rows}
    spec = {"layer": _layers(number, y.position, _x_axis(look.along, places), lines, data, drawn=bool(ends))}
    subtitle = ", ".join(part for part in (y.label, look.subtitle) if part)
    title = look.title + (f", the first {MOST_LINES} of {len(every)}" if len(every) > MOST_LINES else "")
    wide, narrow = (frame_chart(spec, frame, Title(title, subtitle), lines) for frame in FRAMES)
    return Chart(title, wide, narrow, data)


def _datum(dot: Dot, scale: Scale) -> Datum:
    interval = dot.figure.interval
    return {
        "line": dot.line,
        "level": dot.level,
        "place": dot.place,
        "middle": scale_value(dot.figure.value, scale),
        "low": scale_value(interval.low if interval else None, scale),
        "high": scale_value(interval.high if interval else None, scale),
        "value": scale.text(dot.figure.value, 4),
        "interval": f"{scale.text(interval.low, 4)} to {scale.text(interval.high, 4)}"
        if interval
        else dot.figure.reason,
    }


def _x_axis(name: str, places: Sequence[tuple[float, str]]) -> Spec:
    numbers, texts = [place for place, _ in places], [text for _, text in places]
    wide = numbers[0] > 0 and math.log10(numbers[-1] / numbers[0]) > DECADES_FOR_LOG
    kind: Spec = {"type": "log"} if wide else {"zero": False}
    return {
        "field": "place",
        "type": "quantitative",
        "title": name,
        "scale": {**kind, "nice": False, "padding": 24},
        "axis": {**label_axis(numbers, texts), "grid": False},
    }


def _layers(
    number: int, y: Spec, x: Spec, lines: Sequence[str], data: Mapping[str, list[Datum]], *, drawn: bool
) -> list[Spec]:
    """What has no data has no layer either: Vega warns of scales without an extent."""
    own = {"data": {"name": f"derived{number}"}}
    colour: Spec = {}
    if len(lines) > 1:
        legend = {"title": None, "symbolLimit": MOST_LINES, "symbolOpacity": 1}
        colour = {
            "color": {"field": "line", "type": "nominal", "scale": {"domain": list(lines)}, "legend": legend}
        }
    single = {} if colour else {"style": "single"}
    here = {"x": x, **colour}
    layers: list[Spec] = [
        {**own, "mark": {"type": "line", "opacity": 0.6, **single}, "encoding": {**here, "y": y}},
        {
            **own,
            "name": "estimates",
            "mark": {"type": "point", "filled": True, "size": 56, "opacity": 1, **single},
            "encoding": {**here, "y": y, "tooltip": _HINT},
        },
    ]
    if drawn:
        layers.insert(1, {**own, **_intervals(here, y, single)})
    return [*_marks(number, y, x, data), *layers]


def _marks(number: int, y: Spec, x: Spec, data: Mapping[str, list[Datum]]) -> list[Spec]:
    """What is drawn behind the lines: what would be perfect, and where knees are."""
    quiet = {"style": "quiet", "strokeDash": [5, 4], "opacity": 0.9}
    ideal = {"mark": {"type": "line", **quiet}, "encoding": {"x": x, "y": y}}
    knees = {"mark": {"type": "rule", **quiet}, "encoding": {"x": x}}
    layers = {f"ideal{number}": ("ideal", ideal), f"knees{number}": ("knees", knees)}
    return [
        {"name": name, "data": {"name": table}, **layer}
        for table, (name, layer) in layers.items()
        if table in data
    ]


def _intervals(here: Spec, y: Spec, single: Spec) -> Spec:
    return {
        "name": "intervals",
        "transform": [{"filter": "datum.low !== null"}],
        "mark": {"type": "rule", "strokeWidth": 2, "strokeCap": "round", **single},
        "encoding": {**here, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "tooltip": _HINT},
    }
