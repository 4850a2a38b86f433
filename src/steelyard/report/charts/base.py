"""What all charts share: their frame, measured axes, labels at given places, tooltips."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from steelyard.model.metric import Metric
from steelyard.report.numbers import Scale, scale_for

Spec = dict[str, Any]
Datum = dict[str, Any]
DECADES_FOR_LOG = 1.5
MOST_TICKS = 10
# In pixels: about the width of a letter, of a legend's symbol with its gaps, and of an axis' labels.
_LETTER, _SYMBOL, _LABELS = 6, 36, 74


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart without looks (see `theme`): its form for wide and for narrow screens, its data sets by name.

    `title` is for people, and for those who cannot see the chart.
    """

    title: str
    wide: Spec
    narrow: Spec
    data: Mapping[str, list[Datum]]


class Measure(NamedTuple):
    """An axis for figures: its position channel, the unit of its data, and the unit to name in its title."""

    position: Spec
    scale: Scale
    label: str


class Title(NamedTuple):
    """What stands above the axes: the name of what is measured, and below it the unit and so on."""

    text: str
    subtitle: str = ""


class Frame(NamedTuple):
    """The room for a chart in pixels: its height, and the width that titles and legends may count on."""

    height: int
    width: int


def frame_chart(spec: Spec, frame: Frame, title: Title, labels: Sequence[str] = ()) -> Spec:
    """A complete specification, as wide as its place on the page, whatever names it has to print.

    `labels` are those of its legend. A title or legend wider than the page would squeeze the chart away.
    """
    room = frame.width - _LABELS
    longest = max((_LETTER * len(label) + _SYMBOL for label in labels), default=_SYMBOL)
    columns = max(1, min(len(labels), room // longest))
    return {
        "width": "container",
        "height": frame.height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "title": {**title._asdict(), "limit": frame.width},
        "config": {"legend": {"columns": columns, "labelLimit": room - _SYMBOL}},
        **spec,
    }


def measure_axis(field: str, values: Iterable[float], unit: str, *, zero: bool = False) -> Measure:
    """A position for figures, given in base units: logarithmic where they span more than 1.5 decades.

    With `zero` a linear scale begins there. A logarithmic one prints a unit at each of its ticks.
    """
    figures = list(values)
    scale = scale_for(figures, unit)
    position: Spec = {"field": field, "type": "quantitative", "title": None}
    if not figures or min(figures) <= 0 or math.log10(max(figures) / min(figures)) <= DECADES_FOR_LOG:
        return Measure(
            position | {"scale": {"zero": zero, "nice": True}, "axis": {"tickCount": 6}}, scale, scale.label
        )
    ticks = _log_ticks(min(figures) / scale.factor, max(figures) / scale.factor)
    axis = label_axis(ticks, [_tick_text(tick * scale.factor, scale, unit) for tick in ticks])
    return Measure(
        position | {"scale": {"type": "log", "nice": False, "padding": 12}, "axis": axis}, scale, ""
    )


def _tick_text(value: float, scale: Scale, unit: str) -> str:
    """A round figure; powers of ten are not round in the next binary unit, so those keep theirs."""
    return (scale if unit.startswith("B") else scale_for([value], unit)).text(value, 1)


def _log_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5, 10 … over a few decades, whole decades over many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    ticks = (float(f"{step}e{decade}") for decade in range(first, last + 1) for step in steps)
    return [tick for tick in ticks if low / 2 <= tick <= high * 2]


def label_axis(places: Sequence[float], labels: Sequence[str]) -> Spec:
    """Axis settings that print these labels at these places, about ten of them at most."""
    step = max(1, math.ceil(len(places) / MOST_TICKS))
    shown, texts = list(places[::step]), list(labels[::step])
    expression = f"{json.dumps(texts)}[indexof({json.dumps(shown)}, datum.value)]"
    return {"values": shown, "labelExpr": expression}


def tooltip(*fields: str) -> list[Spec]:
    """What is shown on pointing: these fields of the datum, under their own names."""
    return [{"field": field, "title": field.replace("_", " ")} for field in fields]


def build_title(metric: Metric, measure: Measure) -> Title:
    """`write_bandwidth`, and below it `GiB/s, higher is better`."""
    better = "" if metric.better == "none" else f"{metric.better} is better"
    return Title(metric.name, ", ".join(part for part in (measure.label, better) if part))


def scale_value(value: float | None, scale: Scale) -> float | None:
    """The figure in the unit of the axis, as exactly as an eye may ask for."""
    return None if value is None else float(f"{value / scale.factor:.7g}")


def hit_layer(*fields: str) -> Spec:
    """A layer of unseen points, large enough to be pointed at."""
    mark = {"type": "point", "filled": True, "size": 90, "opacity": 0}
    return {"name": "points", "mark": mark, "encoding": {"tooltip": tooltip(*fields)}}
