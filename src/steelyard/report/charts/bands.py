"""Events as bands over a time series: what happened while a line went up or down."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.over_time.event_log import LoggedEvent
from steelyard.report.charts.base import Datum, Spec, tooltip

_LINE, _MOST_LABELS = 12, 3  # pixels of a line, of which a label has two; labels below each other
_NARROWEST = 0.004  # of the axis: what takes no time can be seen, and pointed at


def band_layers(data: str, events: Sequence[LoggedEvent]) -> list[Spec]:
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


def label_layers(data: str, events: Sequence[LoggedEvent]) -> list[Spec]:
    """What each band is, in words beside its beginning, above the lines of the chart."""
    if not events:
        return []
    encoding = {
        "x": {"field": "at", "type": "quantitative"},
        "y": {"field": "row", "type": "quantitative", "scale": None, "axis": None},
        "text": {"field": "words", "type": "nominal"},
        "color": {"value": "gray"},
    }
    look = {"dx": {"expr": "datum.dx"}, "fontSize": 10.5, "fontWeight": 600, "lineBreak": "\n"}
    mark = {"type": "text", "align": {"expr": "datum.align"}, **look}
    return [{"name": "labels", "data": {"name": data}, "mark": mark, "encoding": encoding}]


def band_data(events: Sequence[LoggedEvent], origin: float, first: float, last: float) -> list[Datum]:
    """A row an event. `origin`: the axis' zero on the monotonic clock; `first`, `last`: its ends (s)."""
    rows: list[Datum] = []
    for event in events:
        start = max(first, event.began - origin)
        end = last if event.ended is None else event.ended - origin
        took = "not complete" if event.ended is None else f"{event.ended - event.began:.2f} s"
        if start <= last:
            wide = max(end, start + _NARROWEST * (last - first))
            row = {"from": round(start, 3), "to": round(min(wide, max(last, start)), 3)}
            place = _place(row["from"], row["to"], (row["from"] - first) / (last - first or 1.0))
            line = _LINE * (1 + 2 * (len(rows) % _MOST_LABELS))
            words = {"event": event.label, "words": f"{event.label}\n{event.outcome}"}
            rows.append({**row, **place, "row": line, **words, "timing": event.timing, "took": took})
    return rows


def _place(start: float, end: float, share: float) -> Datum:
    """Where the label of a band stands that begins after a share of the axis: not beyond the page."""
    if share < 1 / 3:
        return {"at": start, "align": "left", "dx": 4}
    if share < 2 / 3:
        return {"at": (start + end) / 2, "align": "center", "dx": 0}
    return {"at": end, "align": "right", "dx": -4}
