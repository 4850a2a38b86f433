"""A metric against a parameter: medians with their intervals, coloured by another parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.analysis.axes import ParameterAxis
from steelyard.analysis.frames import cell_rows
from steelyard.analysis.summary import RunSummary
from steelyard.model.metric import Metric
from steelyard.report.charts.base import (
    Chart,
    Frame,
    Spec,
    build_title,
    frame_chart,
    label_axis,
    measure_axis,
)
from steelyard.report.charts.distribution import HINT
from steelyard.report.charts.tables import cell_data

FRAMES = (Frame(340, 700), Frame(280, 330))
SHORT = 40


def draw_against(
    summary: RunSummary, metric: Metric, axes: Sequence[ParameterAxis], number: int
) -> Chart | None:
    """`axes` are the parameters that vary, `number` says which of them to draw along.

    Of the others the one with the fewest levels gives the colour, because its colours are easiest to tell
    apart. Lines join the cells that differ in this parameter alone, where its levels are numbers. None when
    no cell has a median.
    """
    name = f"against{summary.metrics.index(metric)}"
    rows = cell_rows(summary, metric.name)
    if not rows:
        return None
    y = measure_axis("middle", [row["median"] for row in rows], metric.unit, zero=True)
    others = sorted((n for n in range(len(axes)) if n != number), key=lambda n: len(axes[n].levels))
    layers = [_medians(y.position)]
    if any(row["low"] is not None for row in rows):
        layers.insert(0, _intervals(y.position))
    if axes[number].places is not None:
        layers.insert(0, {"mark": {"type": "line", "opacity": 0.5}, "encoding": {"y": y.position}})
    if not others:
        layers = [{**layer, "mark": {**layer["mark"], "style": "single"}} for layer in layers]
    encoding: Spec = {
        "x": _position(axes[number], number),
        "detail": [{"field": f"level{n}"} for n in others],
    }
    if others:
        encoding["color"] = _colour(axes[others[0]], others[0])
    spec = {"data": {"name": name}, "encoding": encoding, "layer": layers}
    labels = axes[others[0]].levels if others else ()
    wide, narrow = (frame_chart(spec, frame, build_title(metric, y), labels) for frame in FRAMES)
    data = cell_data(rows, y.scale, metric.unit, axes)
    return Chart(f"{metric.name} against {axes[number].name}", wide, narrow, {name: data})


def _intervals(y: Spec) -> Spec:
    return {
        "name": "intervals",
        "transform": [{"filter": "datum.low !== null"}],
        "mark": {"type": "rule", "strokeWidth": 2, "strokeCap": "round"},
        "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}, "tooltip": HINT},
    }


def _medians(y: Spec) -> Spec:
    mark = {"type": "point", "filled": True, "size": 56, "opacity": 1}
    return {"name": "medians", "mark": mark, "encoding": {"y": y, "tooltip": HINT}}


def _position(axis: ParameterAxis, number: int) -> Spec:
    if axis.places is None:
        levels = {"domain": list(axis.levels), "padding": 0.5}
        short = sum(map(len, axis.levels)) <= SHORT
        slant = {} if short else {"labelAngle": -40, "labelAlign": "right", "labelLimit": 100}
        return {
            "field": f"place{number}",
            "type": "nominal",
            "title": axis.name,
            "scale": {"type": "point", **levels},
            "axis": {"labelAngle": 0, **slant},
        }
    kind: dict[str, Any] = {"type": "log"} if axis.is_logarithmic else {"zero": False}
    return {
        "field": f"place{number}",
        "type": "quantitative",
        "title": axis.name,
        "scale": {**kind, "nice": False, "padding": 24},
        "axis": {**label_axis(axis.places, axis.levels), "grid": False},
    }


def _colour(axis: ParameterAxis, number: int) -> Spec:
    """Numbers take a ramp, names take hues; more names than hues share them, and tooltips tell."""
    kind = "nominal" if axis.places is None else "ordinal"
    levels = {"domain": list(axis.levels)}
    legend = {"title": axis.name, "symbolLimit": 24, "symbolOpacity": 1}
    return {"field": f"level{number}", "type": kind, "scale": levels, "sort": None, "legend": legend}
