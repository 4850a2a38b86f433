"""`use: ior`: its words, its summary, and what goes wrong, with a stand-in for IOR."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import steelyard
from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output, Place
from steelyard.workloads.ior import Ior, IorOptions

STANDINS = Path(__file__).with_name("standins")
DATA = Path(__file__).parents[1] / "data" / "contract" / "ior"
EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
PLACE = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, seed=3)
READ = Ior.examples[1]
SUMMARY = (DATA / "1" / "run" / "raw" / "summary.json").read_text()


def words(place: Place = PLACE, phase: int = -1, **options: object) -> list[str]:
    return list(Ior(IorOptions(**options)).phases(place)[phase].command.argv)


def parse(tmp_path: Path, text: str, stdout: str = "", **options: object):
    (tmp_path / "summary.json").write_text(text)
    output = Output(EXIT, stdout, "", {"summary.json": tmp_path / "summary.json"})
    return Ior(IorOptions(**{**READ, **options})).parse("run", output)


def test_words_say_what_was_asked():
    options = {"api": "MPIIO", "collective": True, "reorder": "constant", "reorder_offset": 4, "fsync": True}
    said = words(replace(PLACE, ranks=8), **options, stonewall="30s", wear_out=True, segments=16, keep=True)
    line = " ".join(said)
    assert line.startswith(
        "ior -a MPIIO -b 16777216 -t 1048576 -s 16 -o /s/ior-data -w -r -N 8 -c -e -k -i 1 -C -Q 4"
    )
    assert "-D 30 -O stoneWallingWearOut=1 -O summaryFormat=JSON -O summaryFile=/r/summary.json" in line
    assert "--posix.odirect" in words(direct=True)
    assert words(random=True, directives=["lustreStripeCount=4"], arguments=["-g", "-J=4k"])[-2:] == [
        "-g",
        "-J=4k",
    ]


def test_what_is_only_read_is_written_before_and_stays():
    options = {"operation": "read", "reorder": "random", "repetitions": 3, "stonewall": "9s"}
    prepare, run = (" ".join(words(phase=phase, **options)) for phase in (0, 1))
    assert " -w -k" in prepare
    assert not any(word in prepare for word in ("-i 3", "-Z", "-D", "-r"))
    assert " -r -k" in run
    assert "-i 3 -Z -Q 1 -D 9" in run


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"block": "1MiB", "transfer": "3KiB"}, "not a multiple of transfer"),
        ({"transfer": "0B"}, "above 0"),
        ({"direct": True, "api": "HDF5"}, "no direct I/O"),
        ({"collective": True}, "no collective operations"),
        ({"random": True, "api": "NCMPI"}, "random offsets"),
        ({"random": True, "api": "MPIIO", "collective": True}, "random offsets"),
        ({"reorder": "random", "operation": "write"}, "reading only"),
        ({"stonewall": "500ms"}, "whole number of seconds"),
        ({"wear_out": True}, "needs `stonewall`"),
        ({"directives": ["summaryFile=/etc/passwd"]}, "set by an option"),
        ({"directives": ["a=b,summaryFile=/x"]}, "not a directive"),
        ({"arguments": ["-o=/etc/passwd"]}, "cannot be passed on"),
        ({"arguments": ["-f=script"]}, "cannot be passed on"),
        ({"arguments": ["--posix.odirect"]}, "option of its own"),
        ({"directory": "a/b"}, "absolute path"),
    ],
)
def test_what_cannot_be_is_refused(options, said):
    with pytest.raises(ValidationError, match=said):
        IorOptions(**options)


def test_the_figures_are_those_of_the_summary(tmp_path):
    reading = parse(tmp_path, SUMMARY)
    mib = 2**20
    assert reading.values["read_bandwidth"] == pytest.approx(557.17 * mib, rel=1e-4)
    assert reading.values["read_bandwidth_max"] == pytest.approx(595.61 * mib)
    assert reading.values["read_bandwidth_min"] == pytest.approx(494.79 * mib)
    assert reading.values["read_bandwidth_stddev"] == pytest.approx(40.57 * mib, rel=1e-3)
    assert reading.values["read_time"] == pytest.approx(0.00180, abs=1e-5)
    assert [each["bwMiB"] for each in reading.facts["iterations"]] == [547.63, 590.66, 494.79, 595.61]
    assert reading.marks == ()


@pytest.mark.parametrize("form", ["nested", "lists"])
def test_results_may_stand_in_options_and_in_lists(form, tmp_path):
    document = json.loads(SUMMARY)
    test = document["tests"][0]
    results = test.pop("Results")
    if form == "nested":
        test["Options"]["Results"] = results
    else:
        test["Results"] = [[result] for result in results]
    assert parse(tmp_path, json.dumps(document)).values == parse(tmp_path, SUMMARY).values


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.pop("summary"), "lacks 'summary'"),
        (lambda d: d["summary"].clear(), "no figures of read"),
        (lambda d: d["summary"][0].update(blockSize=4096), "ran with blockSize 4096, not 1048576"),
        (lambda d: d["summary"][0].update(bwMeanMIB=-1), "not a number of a possible size"),
        (lambda d: d["tests"][0]["Results"].pop(), "3 of 4 read repetitions"),
        (lambda d: d.update({"Command line": "ior -N 8 -k"}), "8 ranks were started, but IOR counted 1"),
        (lambda d: d.update(tests=7), "not a list"),
    ],
)
def test_what_does_not_agree_is_no_reading(change, said, tmp_path):
    document = json.loads(SUMMARY)
    change(document)
    with pytest.raises(ParseFailure, match=said):
        parse(tmp_path, json.dumps(document))


def test_warnings_are_facts_and_a_fallback_is_marked(tmp_path):
    said = "WARNING: cannot use O_DIRECT\nior WARNING: fsync() not available in HDF5.\nBegan\n"
    reading = parse(tmp_path, SUMMARY, said)
    assert len(reading.facts["warnings"]) == 2
    assert [(mark.kind, mark.reason) for mark in reading.marks] == [
        ("fallback", "IOR warned: cannot use O_DIRECT")
    ]
    expected = "WARNING: Expected aggregate file size       = 1048576\n"
    assert parse(tmp_path, SUMMARY, expected).marks
    assert not parse(tmp_path, SUMMARY, expected, stonewall="5s").marks


@given(st.binary(max_size=400), st.integers(0, len(SUMMARY)), st.binary(max_size=20))
def test_any_bytes_are_a_reading_or_a_failure(tmp_path_factory, garbage, at, inserted):
    place = tmp_path_factory.mktemp("ior")
    whole = SUMMARY.encode()
    for content in (garbage, whole[:at], whole[:at] + inserted + whole[at:]):
        (place / "summary.json").write_bytes(content)
        output = Output(EXIT, "", "", {"summary.json": place / "summary.json"})
        with contextlib.suppress(ParseFailure):
            assert Ior(IorOptions(**READ)).parse("run", output).values


@pytest.mark.parametrize(
    ("fault", "category", "said"),
    [
        ("", None, ""),
        ("warns", None, ""),
        ("full", "disk-full", "No space left on device"),
        ("truncated", "unreadable-output", "IOR's output"),
        ("other", "unreadable-output", "ran with blockSize 4096"),
        ("alone", "unreadable-output", "2 ranks were started, but IOR counted 1"),
    ],
)
def test_a_trial_with_ranks(fault, category, said, tmp_path, monkeypatch):
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed")
    monkeypatch.setenv("PATH", f"{STANDINS}:{os.environ['PATH']}")
    monkeypatch.setenv("IOR_FAULT", fault)
    workload = {"use": "ior", "block": "1MiB", "transfer": "256KiB", "ranks": 2}
    experiment = steelyard.Experiment(experiment="ior", workload=workload, repeat=1, disturbed="exclude")
    (trial,) = steelyard.run(experiment, store=tmp_path).record.trials
    assert trial.result.category == category, trial.message
    if category is None:
        assert trial.result.metrics["write_bandwidth"] == pytest.approx(185.33 * 2**20)
        marks = [mark.reason for mark in trial.marks if mark.kind == "fallback"]
        assert marks == (["IOR warned: cannot use O_DIRECT"] if fault else [])
    else:
        assert said in trial.message
