"""Forms for CI: each is read back by the rules of who reads it."""

from __future__ import annotations

import json
import re

import pytest

from steelyard.analysis.findings import Findings
from steelyard.model.metric import Metric
from steelyard.report.export import FORMS

HOSTILE = 'x"|`</td>\\\n\x1b[31m'
_SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*)\} (\S+)')


@pytest.fixture
def render(tmp_path):
    """The text of a form of a run."""
    return lambda form, record: FORMS[form].write(Findings(record), tmp_path / "out").read_text()


def read_openmetrics(text: str):
    """Samples by name, after the rules of OpenMetrics that concern gauges."""
    *lines, end = text.splitlines()
    assert end == "# EOF"
    samples, declared = [], None
    for line in lines:
        if line.startswith("# TYPE "):
            _, _, declared, kind = line.split(" ")
            assert kind == "gauge"
        elif not line.startswith("# HELP "):
            match = _SAMPLE.fullmatch(line)
            assert match, line
            assert match[1] == declared, "samples of one metric stand together"
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2]))
            samples.append((match[1], labels, float(match[3])))
    assert len({(name, *sorted(labels.items())) for name, labels, _ in samples}) == len(samples), "none twice"
    return samples


def test_openmetrics_has_medians_with_their_ends_in_base_units(render, build):
    record = build(parameters={"outstanding": [1, 8], "stat": ["a"]}, require=["write_bandwidth >= 1 MB/s"])
    samples = read_openmetrics(render("openmetrics", record))
    names = {name for name, _, _ in samples}
    assert names == {
        "steelyard_write_bandwidth_bytes_per_second",
        "steelyard_write_latency_p99_seconds",
        "steelyard_requirement_met",
    }
    one = Findings(record).summary.cells[0].metrics["write_bandwidth"].summary
    first = {labels["stat"]: value for name, labels, value in samples[:3]}
    assert first == {"median": one.median, "low": one.interval.low, "high": one.interval.high}
    assert samples[0][1] == {
        "outstanding": "1",
        "level_stat": "a",
        "experiment": "synthetic",
        "stat": "median",
    }
    assert samples[-1][2] == 1.0


def test_trackers_get_one_direction_a_file_and_intervals(render, build):
    record = build(parameters={"outstanding": [1]})
    (bigger,) = json.loads(render("github-benchmark-bigger", record))
    assert bigger["name"] == "synthetic outstanding=1: write_bandwidth"
    assert bigger["unit"] == "GiB/s"
    assert 0.5 < bigger["value"] < 2
    assert re.fullmatch(r"[\d.]+ to [\d.]+", bigger["range"])
    (smaller,) = json.loads(render("github-benchmark-smaller", record))
    assert smaller["name"].endswith("write_latency_p99")
    bencher = json.loads(render("bencher", record))["synthetic outstanding=1"]
    figure = bencher["write_bandwidth"]
    assert figure["lower_value"] <= figure["value"] <= figure["upper_value"]


def test_the_summary_has_verdict_requirements_and_figures(render, build):
    text = render("summary", build(require=["write_bandwidth >= 1 TB/s"]))
    assert text.startswith("### ❌ synthetic\n")
    assert "- `write_bandwidth >= 1 TB/s` not met in 3 of 3 cells" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {4}
    assert len(rows) == 2 + 3


@pytest.mark.parametrize("form", ["summary", "openmetrics", "github-benchmark-bigger", "bencher"])
def test_what_strangers_wrote_does_nothing(render, build, form):
    rate = Metric("rate", "B/s", "higher", HOSTILE)
    record = build(
        parameters={"a": [HOSTILE]},
        metrics=[rate],
        figures=lambda cell, repetition, rng: {"rate": 5.0 + rng.random()},
    )
    text = render(form, record)
    assert "\x1b" not in text
    if form == "openmetrics":
        assert len(read_openmetrics(text)) == 3
    elif form == "summary":
        assert "</td>" not in text
        assert {line.replace("\\|", "").count("|") for line in text.splitlines() if line[:1] == "|"} == {3}
    else:
        assert json.loads(text)


def test_a_run_without_figures_has_none(render, build):
    record = build(measured=lambda cell: False)
    assert read_openmetrics(render("openmetrics", record)) == []
    assert json.loads(render("bencher", record)) == {}
    assert "not measured" in render("summary", record) or "–" in render("summary", record)
