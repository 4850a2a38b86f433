"""`use: capacity`: its job on a real directory, and what is read from what it prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from patience import PATIENCE
from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output, Place
from steelyard.workloads.capacity import Capacity, CapacityOptions

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
PLACE = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, seed=7)
LOOKS: list[dict[str, Any]] = [
    {"at": 100.0, "length": 0.5, "requests": 10, "total": 1000, "free": 900},
    {"at": 100.5, "length": 0.5, "requests": 0, "error": "Transport endpoint is not connected"},
    {"at": 101.0, "length": 0.5, "requests": 5, "total": 3000, "free": 2500},
]
SUMMARY: dict[str, Any] = {
    "seconds": 1.5,
    "requests": 15,
    "wrong": 0,
    "errors": {"Input/output error": 2},
    "pause": 0.6,
    "responses": {"0.01": 14, "0.6": 1},
    "hung": False,
}


def made(**options: Any) -> Capacity:
    return Capacity(CapacityOptions.model_validate(options))


def output(*lines: Any) -> Output:
    return Output(EXIT, "".join(json.dumps(line) + "\n" for line in lines), "")


def run_job(place: Path, **options: Any) -> Output:
    """What the job prints when it works in a directory."""
    command = made(**options).command(PLACE)
    ended = subprocess.run(
        (sys.executable, *command.argv[1:]),
        input=command.stdin,
        cwd=place,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    return Output(EXIT, ended.stdout, ended.stderr)


def test_it_sees_the_space_and_serves_requests(tmp_path: Path) -> None:
    said = run_job(tmp_path, duration="1s", every="100ms", rate="100/s", block="4KiB")
    reading = made().parse("run", said)
    assert reading.values["space_total"] >= reading.values["space_free"] > 0
    assert reading.values["wrong_reads"] == reading.values["failed_requests"] == 0
    assert sum(reading.histograms["response"].values()) > 0
    assert {path.stat().st_size for path in tmp_path.iterdir()} <= {4096, 0}
    series = made().series("run", said)
    assert series[0].values.keys() == {"space_total", "space_free", "request_rate"}


def test_requests_that_fail_are_counted_by_their_reason(tmp_path: Path) -> None:
    for number in range(16):
        (tmp_path / f"file-{number}").mkdir()
    reading = made().parse("run", run_job(tmp_path, duration="1s", every="100ms", rate="50/s"))
    assert reading.values["failed_requests"] > 0
    assert reading.values["request_rate"] == 0
    assert reading.values["longest_pause"] >= 1
    assert list(reading.facts["errors"]) == ["Is a directory"]
    assert "response_p50" not in reading.values


def test_a_file_that_another_changes_is_a_wrong_read(tmp_path: Path) -> None:
    for number in range(16):
        (tmp_path / f"file-{number}").symlink_to("one")
    reading = made().parse("run", run_job(tmp_path, duration="1s", every="100ms", rate="100/s"))
    assert reading.values["wrong_reads"] > 0


def test_the_figures_are_those_of_the_looks_and_of_the_summary() -> None:
    reading = made().parse("run", output(*LOOKS, SUMMARY))
    assert reading.values == {
        "space_total": 3000,
        "space_free": 2500,
        "space_added": 2000,
        "request_rate": 10.0,
        "longest_pause": 0.6,
        "failed_requests": 2.0,
        "wrong_reads": 0.0,
        "response_p50": 0.01,
        "response_p95": 0.6,
        "response_p99": 0.6,
        "response_p999": 0.6,
    }
    first, lost, last = made().series("run", output(*LOOKS, SUMMARY))
    assert first.values == {"space_total": 1000, "space_free": 900, "request_rate": 20}
    assert lost.values == {"request_rate": 0}
    assert (last.at, last.length) == (101.0, 0.5)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "0 lines"),
        ([SUMMARY], "1 lines"),
        ([LOOKS[1], SUMMARY], "never read the space"),
        ([LOOKS[0], {**SUMMARY, "requests": 3}], "counted 3 requests"),
        ([LOOKS[0], {**SUMMARY, "responses": {"x": 15}}], "response times that are none"),
        ([LOOKS[0], {**SUMMARY, "responses": {"-1": 15}}], "a response time of -1.0 s"),
    ],
)
def test_output_that_makes_no_sense_is_refused(lines: list[Any], said: str) -> None:
    with pytest.raises(ParseFailure, match=said):
        made().parse("run", output(*lines))


@given(st.text(max_size=300))
def test_any_output_is_read_or_refused(text: str) -> None:
    for change in (text, json.dumps(LOOKS[0]) + "\n" + text, text + json.dumps(SUMMARY)):
        try:
            made().parse("run", Output(EXIT, change, ""))
        except ParseFailure:
            continue


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"duration": "500ms"}, "duration: 0.5s is not from 1 s"),
        ({"duration": "2s", "every": "2s"}, "every: 2s is not from 50 ms"),
        ({"rate": "5000/s"}, r"rate: \S+ is not from 0.1"),
        ({"block": "1GiB"}, r"block: \S+ is not from 8 B"),
    ],
)
def test_amounts_that_do_not_fit_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        made(**options)
