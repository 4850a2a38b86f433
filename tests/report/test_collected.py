"""What collectors recorded, in the report and in exports: of collectors that nobody knows any more."""

from __future__ import annotations

import json

import duckdb
import pytest

from steelyard.analysis.findings import Findings
from steelyard.model.column import Column
from steelyard.report import html, markdown
from steelyard.report.charts.collected import MOST_LINES
from steelyard.report.export import write_json
from steelyard.report.page import build_page
from steelyard.store.columns import write_columns
from steelyard.store.telemetry import write_parquet


@pytest.fixture
def record(build):
    record = build()
    rows = [
        {"t": 100.0 + n, "m": 5.0 + n, "heat": 40.0 + n, **{f"busy:{d}": d / 20 for d in range(12)}}
        for n in range(4)
    ]
    for trial in record.trials:
        path = record.folder.collector_table(trial.number, "gone<b>", "host-0", "parquet")
        path.parent.mkdir(parents=True)
        write_parquet(rows, path)
        meanings = {"heat": Column("°C", "temperature"), "busy": Column("%", "share of time", "rate")}
        write_columns(meanings, path.with_suffix(".json"))
    return record


def test_each_unit_has_a_chart_beside_the_telemetry(record):
    gallery = build_page(Findings(record)).gallery
    charts = {key: chart for key, chart in gallery.charts.items() if key.startswith("collected")}
    assert set(charts) == {f"collected{place}/{n}" for place in (0, 1) for n in range(3)}
    assert len(gallery.choices["collected"]) == 3
    assert gallery.choices["collected"][0].label.endswith(", host-0")
    heat, busy = charts["collected0/0"], charts["collected1/0"]
    assert heat.title == "gone<b>: °C"
    assert busy.title == f"gone<b>: shares, the highest {MOST_LINES} of 12"
    (lines,) = busy.data.values()
    assert {row["line"] for row in lines} == {f"busy:{d}" for d in range(4, 12)}
    assert {row["value"] for row in lines if row["line"] == "busy:10"} == {"50.00 %"}


def test_both_reports_have_a_section(record, tmp_path):
    page = html.write(Findings(record), tmp_path / "report.html").read_text()
    assert '<section id="collected">' in page
    assert 'data-chart="collected1/{collected}"' in page
    assert "gone<b>" not in page
    text = markdown.write(Findings(record), tmp_path / "report.md").read_text()
    assert "## Collected during a trial" in text
    assert (tmp_path / "report-charts" / "collected0-0.svg").is_file()


def test_a_run_without_them_has_no_section(build, tmp_path):
    page = html.write(Findings(build()), tmp_path / "report.html").read_text()
    assert 'id="collected"' not in page


def test_a_table_that_cannot_be_read_is_a_note(record):
    record.collector_tables(1)[0].path.write_bytes(b"rubbish")
    gallery = build_page(Findings(record)).gallery
    unread = [note for note in gallery.notes if "cannot be read" in note]
    assert len(unread) + len(gallery.choices["collected"]) == 3


def test_json_lists_every_table_with_its_columns(record, tmp_path):
    tables = json.loads(write_json(Findings(record), tmp_path / "run.json").read_text())["collected"]
    assert len(tables) == len(record.trials)
    assert tables[0]["file"] == "trials/1/collected/gone<b>/host-0.parquet"
    assert tables[0]["columns"]["heat"] == {
        "unit": "°C",
        "about": "temperature",
        "kind": "gauge",
        "samples": 4,
        "min": 40.0,
        "mean": 41.5,
        "max": 43.0,
    }


def test_a_table_that_cannot_be_read_does_not_cost_the_export(record, tmp_path):
    record.collector_tables(1)[0].path.write_bytes(b"rubbish")
    content = json.loads(write_json(Findings(record), tmp_path / "run.json").read_text())
    first, second, *_ = content["collected"]
    assert first["columns"] == {}
    assert "cannot read" in first["unreadable"]
    assert "heat" in second["columns"]


def test_a_table_of_texts_has_nothing_to_tell(record, tmp_path):
    path = record.collector_tables(1)[0].path
    with duckdb.connect() as database:
        database.sql("SELECT 1.0 AS t, 2.0 AS m, 'warm' AS heat").write_parquet(str(path))
    tables = json.loads(write_json(Findings(record), tmp_path / "run.json").read_text())["collected"]
    assert tables[0]["columns"] == {}
    assert build_page(Findings(record)).gallery.charts
