"""Events as bands over a time series: what happened while a line went up or down."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.happenings import Happening
from steelyard.report.charts.base import Datum, Spec, tooltip

_NARROWEST = 0.004  # of the axis: what takes no time can be seen, and pointed at


def band_layers(data: str, events: Sequence[Happening]) -> list[Spec]:
    """Layers below the lines of a chart over `seconds`; none without events."""
    if not events:
        return []
    along = {
        "x": {"field": "from", "type": "quantitative", "title": "seconds"},
        "x2": {"field": "to", "title": "seconds"},
        "y": {"value": 0},
        "y2": {"value": "height"},
        "color": {"value": "gray"},
        "tooltip": tooltip("event", "timing", "took"),
    }
    mark = {"type": "rect", "opacity": 0.25}
    return [{"name": "bands", "data": {"name": data}, "mark": mark, "encoding": along}]


def band_data(events: Sequence[Happening], origin: float, last: float) -> list[Datum]:
    """A row an event; `origin` is the axis' zero on the monotonic clock, `last` its end in seconds."""
    rows = []
    for event in events:
        start = max(0.0, event.began - origin)
        end = last if event.ended is None else event.ended - origin
        took = "not complete" if event.ended is None else f"{event.ended - event.began:.2f} s"
        if start <= last:
            wide = max(end, start + _NARROWEST * last)
            row = {"from": round(start, 3), "to": round(min(wide, max(last, start)), 3)}
            rows.append({**row, "event": event.label, "timing": event.timing, "took": took})
    return rows
