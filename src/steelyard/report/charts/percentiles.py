"""The percentiles of a latency, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.analysis.latency import Point
from steelyard.report.charts.base import (
    Chart,
    Datum,
    Frame,
    Spec,
    Title,
    framed,
    hit,
    labelled,
    measured,
    scaled,
)
from steelyard.report.numbers import Scale, scale_for

FEW_CELLS = 8
FRAMES = (Frame(340, 700), Frame(280, 330))
_RESTS = (1, 2, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
_SHARES = ("0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %")
_LINE = {"type": "line"}


def percentiles(number: int, metric: str, unit: str, curves: Mapping[str, Sequence[Point]]) -> Chart:
    """What a share of the operations took at most, per cell; `number` tells the run's curves apart.

    With more than eight cells all are drawn in grey but the one that the parameter `cell` names.
    """
    values = [point.value for curve in curves.values() for point in curve]
    y = measured("y", values, unit, zero=True)
    name, few = f"curve{number}", len(curves) <= FEW_CELLS
    spec: Spec = {
        "data": {"name": name},
        "encoding": {
            "x": _tail(max(1 / _rest(curve[-1]) for curve in curves.values())),
            "y": y.position,
            "detail": {"field": "cell"},
        },
        "layer": _all_coloured(list(curves)) if few else _one_of_many(),
    }
    if not few:
        spec["params"] = [{"name": "cell", "value": next(iter(curves))}]
    data = [_datum(cell, point, y.scale, unit) for cell, curve in curves.items() for point in curve]
    wide, narrow = (
        framed(spec, frame, Title(metric, y.label), list(curves) if few else ()) for frame in FRAMES
    )
    return Chart(f"{metric}: percentiles", wide, narrow, {name: data})


def _datum(cell: str, point: Point, scale: Scale, unit: str) -> Datum:
    return {
        "cell": cell,
        "x": float(f"{1 / _rest(point):.7g}"),
        "y": scaled(point.value, scale),
        "share": f"{point.share * 100:.7g} %",
        "took_at_most": scale_for([point.value], unit).text(point.value),
    }


def _rest(point: Point) -> float:
    return max(1 - point.share, 1e-9)


def _tail(farthest: float) -> Spec:
    count = sum(rest <= farthest for rest in _RESTS)
    return {
        "field": "x",
        "type": "quantitative",
        "title": "share of the operations",
        "scale": {"type": "log", "nice": False, "padding": 4},
        "axis": {**labelled(_RESTS[:count], _SHARES[:count]), "grid": True},
    }


def _all_coloured(cells: list[str]) -> list[Spec]:
    colour: Spec = {"field": "cell", "type": "nominal", "scale": {"domain": cells}, "sort": None}
    colour["legend"] = {"title": None, "symbolType": "stroke"}
    return [
        {"name": "curves", "mark": _LINE, "encoding": {"color": colour}},
        hit("cell", "share", "took_at_most"),
    ]


def _one_of_many() -> list[Spec]:
    chosen = {"transform": [{"filter": "datum.cell === cell"}]}
    return [
        {"name": "curves", "mark": {**_LINE, "style": "quiet"}},
        {**chosen, "mark": {**_LINE, "style": "single", "strokeWidth": 2.5}},
        {**hit("cell", "share", "took_at_most"), **chosen},
    ]
