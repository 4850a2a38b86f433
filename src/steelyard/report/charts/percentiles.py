"""The percentiles of a latency, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.analysis.latency import PercentilePoint
from steelyard.report.charts.base import (
    Chart,
    Datum,
    Frame,
    Spec,
    Title,
    frame_chart,
    hit_layer,
    label_axis,
    measure_axis,
    scale_value,
)
from steelyard.report.numbers import Scale, scale_for

FEW_CELLS = 8
FRAMES = (Frame(340, 700), Frame(280, 330))
_RESTS = (1, 2, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
_SHARES = ("0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %")
_LINE = {"type": "line"}


def percentiles(
    number: int, metric: str, unit: str, curves: Mapping[str, Sequence[PercentilePoint]]
) -> Chart:
    """What a share of the operations took at most, per cell; `number` tells the run's curves apart.

    With more than eight cells all are drawn in grey but the one that the parameter `cell` names.
    """
    values = [point.value for curve in curves.values() for point in curve]
    y = measure_axis("y", values, unit, zero=True)
    name, few = f"curve{number}", len(curves) <= FEW_CELLS
    spec: Spec = {
        "data": {"name": name},
        "encoding": {
            "x": _tail_axis(max(1 / _rest(curve[-1]) for curve in curves.values())),
            "y": y.position,
            "detail": {"field": "cell"},
        },
        "layer": _colour_all(list(curves)) if few else _highlight_one(),
    }
    if not few:
        spec["params"] = [{"name": "cell", "value": next(iter(curves))}]
    data = [_datum(cell, point, y.scale, unit) for cell, curve in curves.items() for point in curve]
    wide, narrow = (
        frame_chart(spec, frame, Title(metric, y.label), list(curves) if few else ()) for frame in FRAMES
    )
    return Chart(f"{metric}: percentiles", wide, narrow, {name: data})


def _datum(cell: str, point: PercentilePoint, scale: Scale, unit: str) -> Datum:
    return {
        "cell": cell,
        "x": float(f"{1 / _rest(point):.7g}"),
        "y": scale_value(point.value, scale),
        "share": f"{point.share * 100:.7g} %",
        "took_at_most": scale_for([point.value], unit).text(point.value),
    }


def _rest(point: PercentilePoint) -> float:
    return max(1 - point.share, 1e-9)


def _tail_axis(farthest: float) -> Spec:
    count = sum(rest <= farthest for rest in _RESTS)
    return {
        "field": "x",
        "type": "quantitative",
        "title": "share of the operations",
        "scale": {"type": "log", "nice": False, "padding": 4},
        "axis": {**label_axis(_RESTS[:count], _SHARES[:count]), "grid": True},
    }


def _colour_all(cells: list[str]) -> list[Spec]:
    colour: Spec = {"field": "cell", "type": "nominal", "scale": {"domain": cells}, "sort": None}
    colour["legend"] = {"title": None, "symbolType": "stroke"}
    return [
        {"name": "curves", "mark": _LINE, "encoding": {"color": colour}},
        hit_layer("cell", "share", "took_at_most"),
    ]


def _highlight_one() -> list[Spec]:
    chosen = {"transform": [{"filter": "datum.cell === cell"}]}
    return [
        {"name": "curves", "mark": {**_LINE, "style": "quiet"}},
        {**chosen, "mark": {**_LINE, "style": "single", "strokeWidth": 2.5}},
        {**hit_layer("cell", "share", "took_at_most"), **chosen},
    ]
