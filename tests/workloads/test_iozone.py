"""`use: iozone`: its words, its tables, and what goes wrong, with a stand-in for iozone."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import steelyard
from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output, Place
from steelyard.workloads.iozone import Iozone, IozoneOptions

STANDINS = Path(__file__).with_name("standins")
DATA = Path(__file__).parents[1] / "data" / "contract" / "iozone"
EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
PLACE = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, seed=3)
TABLE = (DATA / "0" / "run" / "stdout").read_text()
SECTIONS = (DATA / "1" / "run" / "stdout").read_text()
AUTO, THROUGHPUT = Iozone.examples
# Rates of a disk by iozone -I -a -s 16M -r 4 -i 0 -i 2, published in 2009: columns of other tests are blank.
OLD_TABLE = """
\tOutput is in Kbytes/sec
                                                            random  random    bkwd   record   stride
              KB  reclen   write rewrite    read    reread    read   write    read  rewrite     read   fwrite
           16384       4   44632   42865                     24719   11304

iozone test complete.
"""
# iozone -c -t1 -s 2048m -r 128k -i0 over NFS, published in 2004.
OLD_SECTIONS = """
        Output is in Kbytes/sec
        Children see throughput for  1 initial writers  =  109333.84 KB/sec
        Parent sees throughput for  1 initial writers   =  109326.48 KB/sec
        Min throughput per process                      =  109333.84 KB/sec
        Max throughput per process                      =  109333.84 KB/sec
        Avg throughput per process                      =  109333.84 KB/sec
        Min xfer                                        = 2097152.00 KB

        Children see throughput for  1 rewriters        =  111377.63 KB/sec
        Parent sees throughput for  1 rewriters         =  111370.21 KB/sec
        Min throughput per process                      =  111377.63 KB/sec
        Max throughput per process                      =  111377.63 KB/sec
        Avg throughput per process                      =  111377.63 KB/sec
        Min xfer                                        = 2097152.00 KB
iozone test complete.
"""


def words(**options: object) -> str:
    return " ".join(Iozone(IozoneOptions(**options)).command(PLACE).argv)


def parse(text: str, options: dict[str, object]):
    return Iozone(IozoneOptions(**options)).parse("run", Output(EXIT, text, ""))


def test_words_say_what_was_asked():
    assert words() == "iozone -a -s 65536k -r 64k -i 0 -i 1 -i 2 -f /s/iozone"
    said = words(tests=["stride", "write"], direct=True, fsync=True, close=True, sync=True, arguments=["-j7"])
    assert said == "iozone -a -s 65536k -r 64k -i 0 -i 5 -I -e -c -o -j7 -f /s/iozone"
    said = words(tests=["write", "pread"], processes=2, threads=True, finish_all=True)
    assert said == "iozone -s 65536k -r 64k -i 0 -i 10 -T -x -t 2 -F /s/iozone.0 /s/iozone.1"


def test_metrics_are_those_of_the_tests():
    names = [metric.name for metric in Iozone(IozoneOptions(tests=["fread", "write"])).metrics()]
    assert names == [f"{name}_bandwidth" for name in ("write", "rewrite", "fread", "refread")]
    names = [
        metric.name for metric in Iozone(IozoneOptions(tests=["write", "fwrite"], processes=1)).metrics()
    ]
    assert "fwrite_bandwidth_parent" in names
    assert "refwrite_bandwidth" not in names


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tests": ["read"]}, "add write"),
        ({"tests": []}, "at least 1"),
        ({"tests": ["write", "pread"]}, "throughput mode only; set processes"),
        ({"tests": ["write", "rewrite_record"], "processes": 2}, "auto mode only"),
        ({"record": "1kB"}, "not a multiple of 1KiB"),
        ({"record": "32MiB"}, "to 16MiB"),
        ({"size": "100KiB"}, "not a multiple of record"),
        ({"size": "0B"}, "not a multiple of record"),
        ({"threads": True}, "set `processes` too"),
        ({"finish_all": True}, "set `processes` too"),
        ({"processes": 257}, "less than or equal to 256"),
        ({"direct": True, "tests": ["write", "fread"]}, "use the page cache all the same"),
        ({"arguments": ["-O"]}, "cannot be passed on"),
        ({"arguments": ["-f/etc/passwd"]}, "cannot be passed on"),
        ({"arguments": ["-+m"]}, "cannot be passed on"),
    ],
)
def test_what_cannot_be_is_refused(options, said):
    with pytest.raises(ValidationError, match=said):
        IozoneOptions(**options)


def test_older_versions_are_read():
    values = parse(OLD_TABLE, {"size": "16MiB", "record": "4KiB", "tests": ["write", "random"]}).values
    assert values["write_bandwidth"] == 44632 * 1024
    assert values["random_write_bandwidth"] == 11304 * 1024
    asked = {"size": "2GiB", "record": "128KiB", "tests": ["write"], "processes": 1}
    reading = parse(OLD_SECTIONS, asked)
    assert reading.values["rewrite_bandwidth"] == pytest.approx(111377.63 * 1024)
    assert reading.values["write_bandwidth_parent"] == pytest.approx(109326.48 * 1024)
    assert reading.facts["least_bytes_of_a_process"]["write"] == 2**31


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("", AUTO, "did not complete its test. Its last line: nothing"),
        (TABLE[: TABLE.index("iozone test")], AUTO, "did not complete"),
        (TABLE.replace("kBytes/sec", "ops/sec"), AUTO, "did not print rates in kBytes/sec"),
        (SECTIONS, AUTO, "table of rates is missing"),
        (TABLE, THROUGHPUT, "no rates of initial writers and rewriters and readers"),
        (TABLE, {**AUTO, "size": "8MiB"}, "ran with size and record of 4096 and 1 kB, not 8192 and 1"),
        (TABLE, {**AUTO, "tests": ["write"]}, "row has 8 rates, not those of write, rewrite"),
        (TABLE.replace("3206", "   0"), AUTO, "rate of read is 0"),
        (TABLE.replace("\n            4096", "\n  4096 1 2\n 4096"), AUTO, "has 2 rows, not 1"),
        (SECTIONS, {**THROUGHPUT, "processes": 3}, "ran 4 initial writers, not 3"),
        (SECTIONS.replace("rewriters", "readers"), THROUGHPUT, "its readers twice"),
        (SECTIONS.replace("Min xfer", "Max xfer"), THROUGHPUT, "of initial writers has no least"),
        (SECTIONS.replace("55.10", "0.000"), THROUGHPUT, "moved nothing before the first had finished"),
        (SECTIONS.replace("217.22", "nan"), THROUGHPUT, "'nan', not a number of kB"),
        (SECTIONS.replace("221.13", "-1"), THROUGHPUT, "'-1', not a number of kB"),
    ],
)
def test_output_that_says_something_else_is_no_result(text, options, said):
    with pytest.raises(ParseFailure, match=said):
        parse(text, options)


@given(st.text(max_size=300), st.integers(0, len(SECTIONS)), st.text(max_size=20))
def test_any_text_is_a_reading_or_a_failure(garbage, at, inserted):
    for whole, options in ((TABLE, AUTO), (SECTIONS, THROUGHPUT)):
        for text in (garbage, whole[:at], whole[:at] + inserted + whole[at:]):
            with contextlib.suppress(ParseFailure):
                assert all(value > 0 for value in parse(text, options).values.values())


@pytest.mark.parametrize(
    ("fault", "category", "said"),
    [
        ("", None, ""),
        ("full", "disk-full", "No space left on device"),
        ("truncated", "unreadable-output", "did not complete its test"),
        ("idle", "unreadable-output", "finish_all: true"),
    ],
)
def test_a_trial(fault, category, said, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{STANDINS}:{os.environ['PATH']}")
    monkeypatch.setenv("IOZONE_FAULT", fault)
    workload = {"use": "iozone", "size": "1MiB", "record": "1KiB", "processes": 4}
    experiment = steelyard.Experiment(experiment="iozone", workload=workload, repeat=1, disturbed="exclude")
    (trial,) = steelyard.run(experiment, store=tmp_path).record.trials
    assert trial.result.category == category, trial.message
    if category is None:
        assert trial.result.metrics["write_bandwidth"] == pytest.approx(221.13 * 1024)
    else:
        assert said in trial.message
