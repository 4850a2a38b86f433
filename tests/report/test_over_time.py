"""Series of a trial as charts, with the events of its timeline as bands."""

from __future__ import annotations

import json
from types import SimpleNamespace

from steelyard.analysis.findings import Findings
from steelyard.analysis.over_time.event_log import TimeOrigin, list_events
from steelyard.analysis.over_time.telemetry import HostSamples
from steelyard.model.metric import Metric, latency_metrics
from steelyard.report.charts.hosts import PANELS, host_panel
from steelyard.report.charts.time_series import _select_lines
from steelyard.report.gallery import draw_gallery

METRICS = [
    Metric("throughput", "1/s", "higher", "operations per second"),
    Metric("read_p50", "s", "lower", "half of all reads", histogram="read"),
    Metric("read_p99", "s", "lower", "99 % of all reads", histogram="read"),
]


def drawn(build, *events):
    record = build(
        parameters={"a": [1]},
        repetitions=1,
        metrics=METRICS,
        figures=lambda cell, repetition, rng: {"throughput": 5.0, "read_p50": 0.1, "read_p99": 0.2},
    )
    folder = record.folder.phase(1, "load-0", "run")
    folder.mkdir(parents=True)
    samples = (
        {"at": 1000.0 + n, "length": 1.0, "values": {"throughput": n, "read_p50": 0.1, "read_p99": 0.2}}
        for n in (1, 2, 3, 4)
    )
    (folder / "samples.ndjson").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    record.journal.extend(events)
    return draw_gallery(Findings(record)).charts


def fired(kind, mono, **more):
    return {"kind": kind, "trial": 1, "entry": 0, "event": "grow", "began": 1.5, "mono": mono, **more}


def test_rates_and_the_high_percentiles_have_a_panel_each(build):
    charts = drawn(build)
    assert (charts["over0/0"].title, charts["over1/0"].title) == ("Rate", "Latency")
    rates = next(iter(charts["over0/0"].data.values()))
    assert [(row["seconds"], row["y"]) for row in rates] == [(1, 1), (2, 2), (3, 3), (4, 4)]
    latencies = next(iter(charts["over1/0"].data.values()))
    assert {row["line"] for row in latencies} == {"read_p99"}


def test_an_event_is_a_band_where_it_happened(build):
    began = fired("event-began", 50.5, wall=1001.5, asked=1.5, options={"service": "ring", "to": 4})
    charts = drawn(build, began, fired("event-ended", 52.0, wall=1003.0, asked=1.5))
    rates = charts["over0/0"].data
    (band,) = next(rows for name, rows in rates.items() if name.endswith("-events"))
    assert (band["from"], band["to"], band["event"], band["took"]) == (1.5, 3.0, "grow ring to 4", "1.50 s")
    assert band["words"] == "grow ring to 4\ntook 1.50 s"
    layers = [layer.get("name") for layer in charts["over0/0"].wide["layer"]]
    assert {"bands", "labels"} <= set(layers)


def test_telemetry_and_series_count_from_one_moment(build):
    host = HostSamples("h", [0.0, 1.0, 2.0], {"disk_read": [1.0, 2.0, 3.0]}, 48.5, 999.5)
    began = fired("event-began", 50.5, wall=1001.5, asked=1.5)
    (event,) = list_events(SimpleNamespace(journal=[began]))[1]
    panel = next(panel for panel in PANELS if panel.key == "disk")
    chart = host_panel(0, host, panel, [event], zero=TimeOrigin.of([event]).mono)
    assert [row["seconds"] for row in chart.data["disk0"]] == [-0.5, 0.5, 1.5]
    (band,) = chart.data["disk0-events"]
    assert (band["from"], band["to"]) == (1.5, 1.5)
    assert host.shift_origin(49.0).wall == 1000.0


def test_without_events_there_is_no_layer_of_bands(build):
    charts = drawn(build)
    assert not any(layer.get("name") == "bands" for layer in charts["over0/0"].wide["layer"])


def test_no_two_charts_have_a_data_set_of_one_name(build):
    """In the page all data sets lie in one table of names."""
    began = fired("event-began", 50.5, wall=1001.5, asked=1.5)
    names = [name for chart in drawn(build, began).values() for name in chart.data]
    assert len(names) == len(set(names))


def test_of_many_lines_those_that_another_tells_better_come_last():
    late = [metric for name in "abcd" for metric in latency_metrics(name, "time since due")]
    sent = latency_metrics("sent", "time", secondary=True)
    shown = _select_lines(
        ["sent_p99", "sent_p95", *(m.name for m in late)], {m.name: m for m in (*late, *sent)}
    )
    assert shown == ["a_p95", "a_p99", "b_p95", "b_p99", "c_p95", "c_p99"]
