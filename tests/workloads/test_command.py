"""`use: command`: options, the command line, and figures found in output."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output, Place
from steelyard.workloads.command import CommandWorkload
from steelyard.workloads.kit.program import CommandOptions

EXIT = Exit(0, None, 1.5, 0.25, 0.5, 2**20, 0.0)
PLACE = Place(PurePosixPath("/scratch"), PurePosixPath("/raw"), 2, 2**30, 1)


def made(levels=None, **options) -> CommandWorkload:
    return CommandWorkload(CommandOptions.model_validate({"run": ["true"], **options}), levels)


def read(figure, stdout="", stderr="", raw=None) -> float:
    workload = made(metrics={"x": figure})
    return workload.parse("run", Output(EXIT, stdout, stderr, raw or {})).values["x"]


def test_the_kernel_tells_times_and_memory():
    values = made().parse("run", Output(EXIT, "", "")).values
    assert values == {"wall": 1.5, "user": 0.25, "system": 0.5, "peak_memory": 2**20}


def test_memory_that_may_be_that_of_another_program_is_at_most_so_much():
    ended = replace(EXIT, peak_is_bound=True)
    assert made().parse("run", Output(ended, "", "")).bounds == {"peak_memory"}
    assert made().parse("run", Output(EXIT, "", "")).bounds == frozenset()


def test_a_script_gets_parameters_as_variables_and_is_never_interpolated():
    levels = {"n": 4, "name": "a; rm -rf /", "on": True, "none": None}
    command = made(levels, run=None, script="echo ${n} $name").command(PLACE)
    assert command.argv == ("sh", "-eu", "-c", "echo ${n} $name")
    assert command.env == {"n": "4", "name": "a; rm -rf /", "on": "true", "none": "", "RAW": "/raw"}


@pytest.mark.parametrize(
    ("figure", "stdout", "value"),
    [
        ({"regex": r"rate: ([\d.]+)"}, "rate: 1\nrate: 2.5\n", 2.5),
        ({"regex": r"^(\d+) ops", "unit": "1/s"}, "x\n12 ops\n", 12),
        ({"regex": r"(\d+)", "unit": "MiB/s"}, "3", 3 * 2**20),
        ({"regex": r"(\d+)", "unit": "ms"}, "3", 0.003),
        ({"regex": r"(\d+)", "unit": "%"}, "50", 0.5),
        ({"regex": r"Latency +(\S+)", "unit": "s"}, "Latency    43.99ms  7.1ms", 0.04399),
        ({"regex": r"Latency +(\S+)", "unit": "ms"}, "Latency    1.02s  7.1ms", 1.02),
        ({"regex": r"Req/Sec +(\S+)", "unit": "req/s"}, "Req/Sec    12.34k", 12340),
        ({"regex": r"used (.*)", "unit": "MiB"}, "used 1.5 GiB", 1.5 * 2**30),
        ({"json": "idle", "unit": "%"}, '{"idle": "98%"}', 0.98),
        ({"json": "idle"}, '{"idle": "98 %"}', 0.98),
        ({"regex": r"rate (.*)", "unit": "GFLOP/s"}, "rate 2300 MFLOP/s", 2.3),
        ({"regex": r"(\d+)", "unit": "GFLOP/s"}, "3", 3),
        ({"json": "a.b[1]['odd key']"}, '{"a": {"b": [0, {"odd key": 7}]}}', 7),
        ({"json": "[0]"}, "[1e3]", 1000),
    ],
)
def test_figures_are_found_and_put_into_base_units(figure, stdout, value):
    assert read(figure, stdout) == pytest.approx(value)


@pytest.mark.parametrize(
    ("figure", "stdout", "says"),
    [
        ({"regex": r"rate: (\d+)"}, "nothing here", "no match for"),
        ({"regex": r"rate: (\S+)"}, "rate: 4x2", "'4x2', but x2 is not the declared unit 1"),
        (
            {"regex": r"took (\S+)"},
            "took 43.99ms",
            "found '43.99ms', but ms is not the declared unit 1",
        ),
        (
            {"regex": r"took (\S+)", "unit": "GFLOP/s"},
            "took 4W",
            "but W is not the declared unit GFLOP/s",
        ),
        ({"regex": r"took (\S+)", "unit": "B"}, "took 4k", "'4k'.*unit"),
        ({"regex": r"took (\S+)", "unit": "B"}, "took 4KB", "or extract only the number and set its unit"),
        ({"regex": r"rate: (\S+)"}, "rate: nan", "not a finite number"),
        ({"json": "a"}, "{", "not JSON"),
        ({"json": "a.b"}, '{"a": {}}', "no 'b' of 'a.b'"),
        ({"json": "a"}, '{"a": true}', "not a finite number"),
        ({"json": "a"}, "", "empty output"),
        ({"json": "a", "from": "r.json"}, "", "wrote no file r.json"),
    ],
)
def test_what_cannot_be_read_is_quoted(figure, stdout, says):
    with pytest.raises(ParseFailure, match=says):
        read(figure, stdout)


def test_figures_are_found_in_files_and_stderr(tmp_path):
    path = tmp_path / "r.json"
    path.write_text('{"a": 3}')
    assert read({"json": "a", "from": "r.json"}, raw={"r.json": path}) == 3
    assert read({"regex": r"(\d)", "from": "stderr"}, stderr="4") == 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"run": "sleep 1"}, "write a list"),
        ({"script": "true"}, "give either"),
        ({"run": []}, "give a program"),
        ({"directory": "./here"}, "an absolute path"),
        ({"metrics": {"wall": {"regex": "(1)"}}}, "is already built in"),
        ({"metrics": {"Wall": {"regex": "(1)"}}}, "lower-case"),
        ({"metrics": {"x": {"regex": "("}}}, "not a regular expression"),
        ({"metrics": {"x": {"regex": "a"}}}, "exactly one group"),
        ({"metrics": {"x": {"json": "a..b"}}}, "is not a path"),
        ({"metrics": {"x": {"json": "a", "regex": "(1)"}}}, "either 'json' or 'regex'"),
        ({"metrics": {"x": {"json": "a", "from": "../r"}}}, "the name of a file"),
        ({"metrics": {"x": {"json": "a", "unit": "KB"}}}, "unknown unit"),
    ],
)
def test_options_that_cannot_be_meant(options, says):
    with pytest.raises(ValidationError, match=says):
        made(**options)


@given(st.text(), st.sampled_from([{"regex": r"(\d+)"}, {"json": "a[0].b"}, {"json": "a"}]))
def test_any_output_gives_a_figure_or_a_parse_failure(stdout, figure):
    try:
        value = read(figure, stdout)
    except ParseFailure:
        return
    assert math.isfinite(value)
