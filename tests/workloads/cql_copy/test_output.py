"""What cqlsh said of copies that went well, less well, and not at all; recorded in tests/data/cql_copy."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output
from steelyard.workloads.cql_copy.output import METRICS, parse_output, parse_series

DATA = Path(__file__).parents[2] / "data" / "cql_copy"
EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)


def text(name: str) -> tuple[str, str]:
    """With the carriage returns that are in it."""
    return tuple((DATA / f"{name}.{stream}").read_bytes().decode() for stream in ("stdout", "stderr"))


def output(name: str, tmp_path: Path | None = None, **raw: str) -> Output:
    files = {}
    for file, content in raw.items():
        files[file] = tmp_path / file
        files[file].write_text(content)
    return Output(EXIT, *text(name), files)


def changed(name: str, old: str, new: str) -> Output:
    stdout, stderr = text(name)
    assert old in stdout
    return Output(EXIT, stdout.replace(old, new), stderr)


@pytest.mark.parametrize(
    ("name", "rows", "seconds"), [("1e3", 1e3, 0.503), ("1e5", 1e5, 2.814), ("1e6", 1e6, 22.486)]
)
def test_a_copy_that_went_well(name, rows, seconds):
    found = parse_output(output(name), 0)
    assert found.values == {
        "rows": rows,
        "copy_time": seconds,
        "ingest_rate": pytest.approx(rows / seconds),
        "lost_rows": 0,
        "retried_rows": 0,
    }
    assert found.facts == {"processes": "1", "columns": "x, y, val"}
    assert set(found.values) == {metric.name for metric in METRICS}


def test_requests_that_went_well_on_their_second_try_are_counted_and_no_loss():
    found = parse_output(output("retried"), 0)
    assert (found.values["rows"], found.values["lost_rows"], found.values["retried_rows"]) == (1e5, 0, 120)
    assert found.values["copy_time"] == 14.077
    assert "WriteTimeout" in found.facts["complaints"][0]


def test_lost_rows_fail_the_trial_unless_they_may():
    with pytest.raises(ParseFailure, match=r"2 rows were not imported, but only 1 may fail: .*five"):
        parse_output(output("bad-rows"), 1)
    found = parse_output(output("bad-rows"), 2)
    assert (found.values["rows"], found.values["lost_rows"]) == (4, 2)
    assert found.values["ingest_rate"] == pytest.approx(4 / 0.382)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("too-many-errors", "stopped after 0 rows: Exceeded maximum number of parse errors 10"),
        ("died", r"stopped after 15000 rows: 1 child process\(es\) died"),
        (
            "too-late",
            "stopped after 0 rows: No records .*`write_request_timeout`.*`ingest_rate`; .*WriteTimeout",
        ),
        ("no-file", "imported nothing: .*no matching file"),
    ],
)
def test_a_copy_that_broke_off_is_none(name, says):
    assert json.loads((DATA / f"{name}.meta.json").read_text())["exit_code"] == 2
    with pytest.raises(ParseFailure, match=says):
        parse_output(output(name), 10**9)


def test_the_sum_must_be_what_was_asked(tmp_path):
    assert parse_output(output("1e5", tmp_path, asked="100000\n"), 0)
    assert parse_output(output("bad-rows", tmp_path, asked="6\n"), 2)
    with pytest.raises(ParseFailure, match="100000 rows imported and 0 lost, but the file has 100001"):
        parse_output(output("1e5", tmp_path, asked="100001\n"), 10)


def test_skipped_rows_are_lost_rows():
    with pytest.raises(ParseFailure, match="5 rows were not imported, but only 0 may fail"):
        parse_output(changed("1e5", "(0 skipped)", "(5 skipped)"), 0)


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("2.814 seconds", 2.814),
        ("1 minute and 2.814 seconds", 62.814),
        ("0 day, 2 hours, 125 minutes, and 2.814 seconds", 7200 + 7500 + 2.814),
    ],
)
def test_long_times_in_either_way_of_writing_them(words, seconds):
    told = "0 day, 0 hour, 0 minute, and 2.814 seconds"
    assert parse_output(changed("1e5", told, words), 0).values["copy_time"] == pytest.approx(seconds)


@pytest.mark.parametrize("name", ["1e3", "1e5", "1e6", "retried"])
def test_whatever_is_cut_off_or_garbled_is_no_reading(name):
    stdout, stderr = text(name)
    for harmed in ("", stdout[: len(stdout) // 2], stdout[:-20], "\x00\xff" * 500, stdout + stdout):
        with pytest.raises(ParseFailure):
            parse_output(Output(EXIT, harmed, stderr), 0)
    summary = stdout[stdout.rindex("\n", 0, -1) + 1 :]
    with pytest.raises(ParseFailure, match="progress lines"):
        parse_output(Output(EXIT, summary, ""), 0)


def test_what_cqlsh_complains_of_is_the_reason():
    with pytest.raises(ParseFailure, match="no completed COPY: Column family nosuch not found"):
        parse_output(Output(EXIT, "", "<stdin>:1:Column family nosuch not found\n"), 0)


def test_the_series_ends_when_the_last_line_was_written(tmp_path):
    found = parse_series(output("1e6", tmp_path, last="1700000022.25\n"))
    rows = sum(sample.values["ingest_rate"] * sample.length for sample in found)
    assert rows == pytest.approx(1e6)
    assert len(found) > 20
    assert 1700000021 < found[-1].at <= 1700000022.25
    assert found[0].at - found[0].length == pytest.approx(1700000022.25 - 22.486, abs=0.5)
    assert all(a.at == pytest.approx(b.at - b.length) for a, b in pairwise(found))


@pytest.mark.parametrize("last", ["", "17.%N", "yesterday"])
def test_without_that_moment_there_is_no_series(tmp_path, last):
    assert parse_series(output("1e6", tmp_path, last=last)) == ()
    assert parse_series(output("1e6")) == ()
