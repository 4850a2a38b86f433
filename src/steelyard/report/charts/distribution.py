"""Every trial of every cell as a dot, and below the dots the cell's median with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from steelyard.analysis.frames import STATES, cell_rows, trial_rows
from steelyard.analysis.summary import RunSummary
from steelyard.model.metric import Metric
from steelyard.report.charts.base import (
    Chart,
    Datum,
    Frame,
    Spec,
    build_title,
    frame_chart,
    measure_axis,
    tooltip,
)
from steelyard.report.charts.tables import cell_data, trial_data


class Lanes(NamedTuple):
    """A cell's row: its height and width, where its dots stand (pixels from its top), where its median (from
    its middle), and how it is labelled."""

    height: int
    width: int
    dots: tuple[int, int]
    median: int
    axis: Spec


_AXIS = {"title": None, "grid": True, "bandPosition": 0}
WIDE = Lanes(height=36, width=700, dots=(6, 18), median=10, axis={**_AXIS, "labelLimit": 280})
# The label stands above its row and leaves the whole width to the figures.
_ABOVE = {"labelLimit": 340, "labelAlign": "left", "labelPadding": -2, "labelOffset": -16}
NARROW = Lanes(height=54, width=330, dots=(22, 34), median=16, axis={**_AXIS, **_ABOVE})
HINT = tooltip("cell", "median", "interval", "trials")
SHAPES = ("circle", "square", "triangle-up", "cross", "diamond")


def distribution(summary: RunSummary, metric: Metric) -> Chart | None:
    """One row per cell, in the order of the design, also for cells that were not measured.

    None when no trial has the metric.
    """
    number = summary.metrics.index(metric)
    trials, cells = trial_rows(summary, metric.name), cell_rows(summary, metric.name)
    if not trials:
        return None
    measure = measure_axis("x", [row["value"] for row in trials], metric.unit)
    measure.position["axis"] |= {"orient": "top"}
    data = {
        f"trials{number}": trial_data(trials, measure.scale, metric.unit),
        f"cells{number}": cell_data(cells, measure.scale, metric.unit, ()),
    }
    order = [cell.cell.key for cell in summary.cells]
    title = build_title(metric, measure)
    wide, narrow = (
        frame_chart(
            {"layer": _layers(data, measure.position, order, lanes)},
            Frame(lanes.height * len(order), lanes.width),
            title,
            STATES,
        )
        for lanes in (WIDE, NARROW)
    )
    return Chart(f"{metric.name}: every trial, medians and intervals", wide, narrow, data)


def _layers(data: Mapping[str, list[Datum]], x: Spec, order: list[str], lanes: Lanes) -> list[Spec]:
    """What has no data has no layer either: Vega warns of scales without an extent."""
    (trials, dots), (cells, medians) = data.items()
    y = {"field": "cell", "type": "nominal", "scale": {"domain": order, "padding": 0}, "axis": lanes.axis}
    states = [state for state in STATES if any(dot["state"] == state for dot in dots)]
    layers = [_dots(trials, x, y, lanes, states)]
    if any(median["low"] is not None for median in medians):
        layers.append(_intervals(cells, x, y, lanes.median))
    if medians:
        layers.append(_medians(cells, x, y, lanes.median))
    return layers


def _dots(name: str, x: Spec, y: Spec, lanes: Lanes, states: list[str]) -> Spec:
    legend = {"title": None} if states != [STATES[0]] else None
    state = {"field": "state", "type": "nominal", "legend": legend}
    shapes = [SHAPES[STATES.index(key)] for key in states]
    place = {"domain": [0, 4], "range": list(lanes.dots)}
    return {
        "name": "trials",
        "data": {"name": name},
        "mark": {"type": "point", "style": "trial"},
        "encoding": {
            "x": x,
            "y": y,
            "yOffset": {"field": "lane", "type": "quantitative", "scale": place},
            "color": {**state, "scale": {"domain": states}},
            "shape": {**state, "scale": {"domain": states, "range": shapes}},
            "tooltip": tooltip("cell", "trial", "repetition", "value", "state", "why"),
        },
    }


def _intervals(name: str, x: Spec, y: Spec, offset: int) -> Spec:
    return {
        "name": "intervals",
        "data": {"name": name},
        "transform": [{"filter": "datum.low !== null"}],
        "mark": {"type": "rule", "style": "interval", "yOffset": offset},
        "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y, "tooltip": HINT},
    }


def _medians(name: str, x: Spec, y: Spec, offset: int) -> Spec:
    return {
        "name": "medians",
        "data": {"name": name},
        "mark": {"type": "tick", "style": "median", "yOffset": offset, "size": 11, "thickness": 3},
        "encoding": {"x": {**x, "field": "middle"}, "y": y, "tooltip": HINT},
    }
