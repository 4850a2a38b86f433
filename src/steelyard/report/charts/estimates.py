"""Derived figures, one row each: a dot with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steelyard.report.charts.base import (
    Chart,
    Frame,
    Spec,
    Title,
    frame_chart,
    measure_axis,
    scale_value,
    tooltip,
)
from steelyard.report.numbers import Scale
from steelyard.stats.estimate import Estimate

ROW = 26
MOST = 60
_HINT = tooltip("name", "value", "interval", "more")


class EstimateRow(NamedTuple):
    """`name` is its label, `figure` what is drawn; `more` is what else a tooltip says."""

    name: str
    figure: Estimate
    more: str = ""


def estimates(
    number: int, title: str, rows: Sequence[EstimateRow], unit: str, *, ranks: int = 0
) -> Chart | None:
    """The rows in their order, at most 60; None without any. With `ranks`, figures are ranks up to it."""
    shown = rows[:MOST]
    if not shown:
        return None
    title += f", the first {MOST} of {len(rows)}" if len(rows) > MOST else ""
    ends = [end for row in shown if (i := row.figure.interval) for end in (i.low, i.high)]
    x = measure_axis("middle", [*(row.figure.value for row in shown), *ends], unit, zero=not ranks)
    x.position["axis"] |= {"orient": "top"}
    if ranks:
        x.position["scale"] = {"domain": [0.7, ranks + 0.3], "nice": False}
        step = max(1, ranks // 10)
        x.position["axis"] |= {"values": list(range(1, ranks + 1, step)), "format": "d"}
    name = f"derived{number}"
    data = [
        {
            "name": row.name,
            "middle": scale_value(row.figure.value, x.scale),
            "low": scale_value(row.figure.interval.low if row.figure.interval else None, x.scale),
            "high": scale_value(row.figure.interval.high if row.figure.interval else None, x.scale),
            "value": x.scale.text(row.figure.value, 4),
            "interval": _interval(row.figure, x.scale),
            "more": row.more,
        }
        for row in shown
    ]
    names = list(dict.fromkeys(row.name for row in shown))
    wide, narrow = (
        frame_chart(
            {"data": {"name": name}, "layer": _layers(x.position, names, limit, drawn=bool(ends))},
            Frame(ROW * len(names), width),
            Title(title, x.label),
        )
        for width, limit in ((700, 280), (330, 130))
    )
    return Chart(title, wide, narrow, {name: data})


def _interval(figure: Estimate, scale: Scale) -> str:
    if figure.interval is None:
        return figure.reason
    return f"{scale.text(figure.interval.low, 4)} to {scale.text(figure.interval.high, 4)}"


def _layers(x: Spec, names: Sequence[str], limit: int, *, drawn: bool) -> list[Spec]:
    axis = {"title": None, "grid": True, "labelLimit": limit}
    y = {"field": "name", "type": "nominal", "scale": {"domain": list(names)}, "axis": axis}
    dots: Spec = {
        "name": "estimates",
        "mark": {"type": "point", "filled": True, "size": 56, "opacity": 1, "style": "single"},
        "encoding": {"x": x, "y": y, "tooltip": _HINT},
    }
    bars: Spec = {
        "name": "intervals",
        "transform": [{"filter": "datum.low !== null"}],
        "mark": {"type": "rule", "style": "interval"},
        "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y, "tooltip": _HINT},
    }
    return [bars, dots] if drawn else [dots]
