"""A host during a trial: CPU, disks, memory, network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from steelyard.analysis.over_time.event_log import LoggedEvent
from steelyard.analysis.over_time.telemetry import HostSamples
from steelyard.report.charts.bands import band_data, band_layers, label_layers
from steelyard.report.charts.base import Chart, Datum, Frame, Spec, Title, frame_chart, hit_layer, scale_value
from steelyard.report.numbers import Scale, scale_for

FRAMES = (Frame(170, 460), Frame(150, 330))


class Panel(NamedTuple):
    """One chart of telemetry: columns of a table and what their lines are called; `of` follows the unit."""

    key: str
    title: str
    unit: str
    lines: Mapping[str, str]
    of: str = ""


PANELS = (
    Panel(
        "cpu",
        "CPU",
        "%",
        {
            "cpu_user": "programs",
            "cpu_system": "kernel",
            "cpu_iowait": "waiting for I/O",
            "cpu_steal": "stolen",
        },
        " of all cores",
    ),
    Panel("disk", "Disks", "B/s", {"disk_read": "read", "disk_write": "written"}),
    Panel(
        "memory",
        "Memory",
        "B",
        {"memory_used": "used", "memory_cached": "page cache", "memory_dirty": "not yet written"},
    ),
    Panel(
        "network",
        "Network",
        "B/s",
        {"network_received": "received", "network_sent": "sent", "loopback": "loopback"},
    ),
)
COLUMNS = tuple(column for panel in PANELS for column in panel.lines)


def host_panel(
    number: int,
    host: HostSamples,
    panel: Panel,
    events: Sequence[LoggedEvent] = (),
    *,
    zero: float | None = None,
) -> Chart | None:
    """One panel of a host, or of another time series, with bands for events.

    `number` tells the shown trials apart; `zero` is the moment on the monotonic clock from which seconds are
    counted, by default the first sample. None when nothing of it was recorded.
    """
    host = host if zero is None else host.shift_origin(zero)
    lines = {column: label for column, label in panel.lines.items() if column in host.columns}
    values = [value for column in lines for value in host.columns[column] if value is not None]
    if not values:
        return None
    scale = scale_for(values, panel.unit)
    y: Spec = {
        "field": "y",
        "type": "quantitative",
        "title": None,
        "scale": {"zero": True},
        "axis": {"tickCount": 5},
    }
    if panel.unit == "%":
        y["scale"] |= {"domainMax": max(100, math.ceil(max(values) * 100))}
    name = f"{panel.key}{number}"
    spec: Spec = {
        "data": {"name": name},
        "encoding": {"x": _seconds(), "y": y, "color": _colour(list(lines.values()))},
        "layer": [
            *band_layers(f"{name}-events", events),
            {"mark": {"type": "line", "strokeWidth": 1.8}},
            hit_layer("line", "seconds", "value"),
            *label_layers(f"{name}-events", events),
        ],
    }
    title, labels = Title(panel.title, scale.label + panel.of), list(lines.values())
    wide, narrow = (frame_chart(spec, frame, title, labels) for frame in FRAMES)
    bands = (
        {f"{name}-events": band_data(events, host.began, host.seconds[0], host.seconds[-1])} if events else {}
    )
    return Chart(panel.title, wide, narrow, {name: _data(host, lines, scale), **bands})


def _seconds() -> Spec:
    axis = {"grid": False, "tickCount": 8}
    return {"field": "seconds", "type": "quantitative", "scale": {"nice": False}, "axis": axis}


def _colour(labels: list[str]) -> Spec:
    legend = {"title": None, "symbolType": "stroke"}
    return {"field": "line", "type": "nominal", "sort": None, "scale": {"domain": labels}, "legend": legend}


def _data(host: HostSamples, lines: Mapping[str, str], scale: Scale) -> list[Datum]:
    return [
        {
            "line": label,
            "seconds": round(moment, 2),
            "y": scale_value(value, scale),
            "value": "" if value is None else scale.text(value, 4),
        }
        for column, label in lines.items()
        for moment, value in zip(host.seconds, host.columns[column], strict=True)
    ]
