from __future__ import annotations

import csv
import json
from xml.etree import ElementTree

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.analysis.findings import Findings
from steelyard.analysis.summary import summarise_run
from steelyard.model.metric import Metric
from steelyard.model.trial import show_level
from steelyard.printable import make_printable
from steelyard.report import html, markdown
from steelyard.report.export import FORMS
from steelyard.report.junit import render_junit
from steelyard.report.tidy import tidy

GENERAL = {
    name: form.write for name, form in FORMS.items() if name != "io_properties"
}  # iotune alone has that

RATE = Metric("rate", "B/s", "higher")


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def query(path, sql):
    with duckdb.connect() as database:
        table = database.read_parquet(str(path))
        return table.query("t", sql).fetchall()


def test_csv_has_a_row_per_trial_and_metric(rich, tmp_path):
    path = FORMS["csv"].write(Findings(rich), tmp_path / "a.csv")
    rows = rows_of(path)
    assert list(rows[0]) == [
        "run", "trial", "repetition", "cell", "status", "category", "marks", "metric", "value", "unit",
        "outstanding", "pattern",
    ]  # fmt: skip
    measured = sum(len(trial.result.metrics) for trial in rich.trials)
    assert len(rows) == measured + 1
    (failed,) = [row for row in rows if row["status"] == "failed"]
    assert (failed["category"], failed["metric"], failed["value"]) == ("crashed", "", "")
    first = next(row for row in rows if row["trial"] == "1" and row["metric"] == "write_bandwidth")
    assert float(first["value"]) == rich.trials[0].result.metrics["write_bandwidth"]
    assert (first["unit"], first["outstanding"], first["pattern"]) == ("B/s", "1", "sequential")
    marked = [row for row in rows if row["marks"]]
    assert {row["marks"] for row in marked} == {"disturbed: foreign CPU load 0.35 cores (stress-ng)"}


def test_parquet_has_the_same_with_types(rich, tmp_path):
    path = FORMS["parquet"].write(Findings(rich), tmp_path / "a.parquet")
    assert query(path, "SELECT count(*), count(value), max(outstanding) FROM t") == [
        (len(tidy(rich).rows), len(tidy(rich).rows) - 1, 64)
    ]
    which = "metric = 'write_bandwidth' AND marks = '' AND cell = 'outstanding=8 pattern=random'"
    found = query(path, f"SELECT median(value) FROM t WHERE {which}")
    cell = next(cell for cell in summarise_run(rich).cells if cell.cell.key == "outstanding=8 pattern=random")
    assert found[0][0] == pytest.approx(cell.metrics["write_bandwidth"].summary.median)


def test_json_holds_the_whole_summary(rich, tmp_path):
    content = json.loads(FORMS["json"].write(Findings(rich), tmp_path / "a.json").read_text())
    summary = summarise_run(rich)
    assert content["run"] == rich.id
    assert [cell["n"] for cell in content["cells"]] == [cell.n for cell in summary.cells]
    one = content["cells"][0]["metrics"]["write_bandwidth"]
    assert one["median"] == summary.cells[0].metrics["write_bandwidth"].summary.median
    assert one["interval"]["method"] == "order statistics"
    assert [entry["verdict"] for entry in content["requirements"]] == ["met", "not met"]


def test_junit_has_a_case_per_cell_per_requirement_in_a_cell_and_per_failed_trial(rich, tmp_path):
    suite = ElementTree.parse(FORMS["junit"].write(Findings(rich), tmp_path / "a.xml")).getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors"), suite.get("skipped")) == (
        "14",
        "2",
        "1",
        "0",
    )
    messages = [failure.get("message") for failure in suite.iter("failure")]
    assert all(message.startswith("not met; ") for message in messages)
    assert suite.find(".//error").get("message") == "crashed: fio ended with code 1; it said: boom"


def test_what_is_undecided_can_be_told_to_pass(build):
    record = build(parameters={"a": [1]}, metrics=[RATE], figures=lambda *_: {"rate": 5.0}, repetitions=2,
                   require=["rate >= 1 B/s", ("rate >= 1 B/s", "a > 1")])  # fmt: skip
    strict = ElementTree.fromstring(render_junit(Findings(record)))[0]
    assert (strict.get("failures"), strict.get("skipped")) == ("2", "0")
    lenient = ElementTree.fromstring(render_junit(Findings(record), undecided="pass"))[0]
    assert (lenient.get("failures"), lenient.get("skipped")) == ("1", "1")
    assert lenient.find(".//skipped").get("message") == "undecided; 5.00 B/s; no 95 % interval, n=2"


@pytest.mark.parametrize(
    ("levels", "kind", "expected"),
    [
        ([1, 2], "BIGINT", [1, 2]),
        ([1, 2.5], "DOUBLE", [1.0, 2.5]),
        ([1, None], "BIGINT", [1, None]),
        ([True, False], "BOOLEAN", [True, False]),
        (["a", 1], "VARCHAR", ["a", "1"]),
        ([10**30, 1], "VARCHAR", [str(10**30), "1"]),
        ([None], "VARCHAR", [None]),
    ],
)
def test_parameters_keep_their_type(build, tmp_path, levels, kind, expected):
    record = build(parameters={"p": levels}, metrics=[RATE], figures=lambda *_: {"rate": 1.0}, repetitions=1)
    assert tidy(record).columns["p"] == kind
    path = FORMS["parquet"].write(Findings(record), tmp_path / "a.parquet")
    assert [row[0] for row in query(path, "SELECT p FROM t ORDER BY trial")] == expected


def test_columns_never_share_a_name(build, tmp_path):
    record = build(
        parameters={"Trial": [1], "x": [2], "X": [3]}, metrics=[RATE], figures=lambda *_: {}, repetitions=1
    )
    assert list(tidy(record).columns)[-3:] == ["parameter_Trial", "x", "parameter_X"]
    path = FORMS["parquet"].write(Findings(record), tmp_path / "a.parquet")
    assert query(path, "SELECT trial, x, parameter_X FROM t") == [(1, 2, 3)]


def test_a_run_without_trials_is_an_empty_table(build, tmp_path):
    record = build(parameters={"a": [1]}, metrics=[RATE], measured=lambda cell: False)
    table = FORMS["parquet"].write(Findings(record), tmp_path / "a.parquet")
    assert query(table, "SELECT count(*) FROM t") == [(0,)]
    assert len(FORMS["csv"].write(Findings(record), tmp_path / "a.csv").read_text().splitlines()) == 1


@settings(max_examples=25, deadline=None, suppress_health_check=(HealthCheck.function_scoped_fixture,))
@given(text=st.text(st.characters(), min_size=1, max_size=30))
def test_any_text_survives_every_format(build, tmp_path, text):
    record = build(
        title=text,
        parameters={"a": ["x"], f"n{text}": [text]},
        metrics=[RATE],
        figures=lambda *_: {"rate": 1.0},
        repetitions=2,
        require=["rate > 0 B/s"],
        design={"experiment": text},
    )
    rows = rows_of(FORMS["csv"].write(Findings(record), tmp_path / "a.csv"))
    assert len(rows) == 2
    json.loads(FORMS["json"].write(Findings(record), tmp_path / "a.json").read_text())
    ElementTree.parse(FORMS["junit"].write(Findings(record), tmp_path / "a.xml"))
    table = FORMS["parquet"].write(Findings(record), tmp_path / "a.parquet")
    assert query(table, "SELECT count(*) FROM t") == [(2,)]


def test_a_hostile_record_is_valid_in_every_format(hostile, tmp_path):
    for name, writer in GENERAL.items():
        assert writer(Findings(hostile), tmp_path / f"a.{name}").stat().st_size > 0
    names = [case.get("name") for case in ElementTree.parse(tmp_path / "a.junit").iter("testcase")]
    assert any(r"\x1b[31m" in name for name in names)


FORMULAS = [
    "=1+1",
    "+1+cmd",
    "-1+cmd|' /C calc'!A0",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "＝1",
    "=",
    "-1e",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_spreadsheet_takes_no_text_for_a_formula(build, tmp_path, text):
    metric = Metric(f"{text}m", "B/s", "higher")
    record = build(
        parameters={f"{text}p": [text, "plain"]},
        metrics=[metric],
        figures=lambda cell, repetition, rng: {metric.name: 1.0},
        marks={(f"{text}p={show_level(text)}", 1): (f"{text}k", "x")},
    )
    with FORMS["csv"].write(Findings(record), tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        cells = {cell for row in csv.reader(file) for cell in row}
    assert not [cell for cell in cells if cell.strip()[:1] in ("=", "+", "-", "@", "＝") and len(cell) > 1]
    assert f"'{text}m".replace("\r", "\n") in cells


@pytest.mark.parametrize("text", ["-1.5", "+2", "-.5e-3", "-", "1-2", "a=b", "-inf"])
def test_a_number_and_a_sign_are_no_formula(build, tmp_path, text):
    parameters = {"p": [text, "plain"]}
    record = build(parameters=parameters, figures=lambda cell, repetition, rng: {"write_bandwidth": -2.5})
    rows = rows_of(FORMS["csv"].write(Findings(record), tmp_path / "a.csv"))
    assert {row["p"] for row in rows} == {text if text != "-inf" else "'-inf", "plain"}
    assert {row["value"] for row in rows} == {"-2.5"}


def test_no_format_that_people_read_lets_a_stranger_act(hostile, tmp_path):
    findings = Findings(hostile)
    paths = [writer(findings, tmp_path / name) for name, writer in GENERAL.items() if name != "parquet"]
    paths += [html.write(findings, tmp_path / "a.html"), markdown.write(findings, tmp_path / "a.md")]
    paths += (tmp_path / "a-charts").iterdir()
    assert len(paths) > 6
    for path in paths:
        text = path.read_bytes().decode()
        assert [letter for letter in text if make_printable(letter) != letter] == [], path
        assert "pwn" in text or path.name == "github-benchmark-smaller", path
