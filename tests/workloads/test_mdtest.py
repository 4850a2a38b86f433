"""`use: mdtest`: its words, its tables, and what goes wrong, with a stand-in for mdtest."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import steelyard
from steelyard.errors import ParseFailure
from steelyard.model.command import Exit, Output, Place
from steelyard.workloads.mdtest import Mdtest, MdtestOptions

STANDINS = Path(__file__).with_name("standins")
DATA = Path(__file__).parents[1] / "data" / "contract" / "mdtest"
EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
PLACE = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, seed=3)
OLD = (DATA / "0" / "run" / "stdout").read_text()


def words(**options: object) -> str:
    return " ".join(Mdtest(MdtestOptions(**options)).command(PLACE).argv)


def parse(text: str, **options: object):
    return Mdtest(MdtestOptions(**options)).parse("run", Output(EXIT, text, ""))


def test_words_say_what_was_asked():
    assert words() == "mdtest -a POSIX -n 1000 -z 0 -b 1 -i 1 -C -T -E -r -d /s/mdtest"
    options = {
        "target": "files",
        "tests": ["create", "stat"],
        "depth": 2,
        "branch": 3,
        "shift": 1,
        "leaf_only": True,
    }
    said = words(**options, unique_directories=True, write_bytes="4KiB", read_bytes="1KiB", stonewall="60s")
    assert said.startswith("mdtest -a POSIX -n 1000 -z 2 -b 3 -i 1 -F -C -T -L -u -N 1 -w 4096 -e 1024 -W 60")
    assert "-I 10 " in words(items_per_directory=10, depth=3, branch=9, arguments=["-R"])


def test_metrics_are_those_of_the_tests():
    names = {metric.name for metric in Mdtest(MdtestOptions(target="directories")).metrics()}
    assert names == {
        *(f"directory_{test}_rate" for test in ("create", "stat", "remove")),
        "tree_create_rate",
        "tree_remove_rate",
    }
    options = MdtestOptions(target="files", tests=["create"], repetitions=2)
    names = {metric.name for metric in Mdtest(options).metrics()}
    assert "file_create_rate_stddev" in names
    assert "tree_remove_rate" not in names


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tests": ["stat"]}, "add create"),
        ({"tests": []}, "at least 1"),
        ({"items": 3, "items_per_directory": 3}, "one follows from the other"),
        ({"items": 10, "depth": 3, "branch": 3}, "fewer than the 40 directories"),
        ({"items": 26, "depth": 3, "branch": 3, "leaf_only": True}, "fewer than the 27 directories"),
        ({"read_bytes": "1KiB"}, "more than write_bytes"),
        ({"stonewall": "0s"}, "whole number of seconds"),
        ({"arguments": ["-d=/etc"]}, "cannot be passed on"),
        ({"arguments": ["-x=/etc/passwd"]}, "cannot be passed on"),
    ],
)
def test_what_cannot_be_is_refused(options, said):
    with pytest.raises(ValidationError, match=said):
        MdtestOptions(**options)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "did not say with how many tasks"),
        (OLD + OLD, "2 ranks ran on their own"),
        (OLD[: OLD.index("-- finished")], "missing or truncated"),
        (OLD.replace("(of 1 iterations)", "(of 3 iterations)"), "3 repetitions, not 1"),
        (OLD.replace("File stat", "File gaze"), "no rate of 'File stat'"),
        (OLD.replace("23503.489", "    0.000"), "no rate of 'File stat'"),
        (OLD.replace("23503.489", "      nan"), "not four rates"),
        (OLD.replace("File read ", "File stat "), "two rows 'File stat'"),
    ],
)
def test_what_does_not_agree_is_no_reading(text, said):
    with pytest.raises(ParseFailure, match=said):
        parse(text, items=100)


@given(st.text(max_size=300), st.integers(0, len(OLD)), st.text(max_size=20))
def test_any_text_is_a_reading_or_a_failure(garbage, at, inserted):
    for text in (garbage, OLD[:at], OLD[:at] + inserted + OLD[at:]):
        with contextlib.suppress(ParseFailure):
            assert all(value > 0 for value in parse(text).values.values())


@pytest.mark.parametrize(
    ("fault", "category", "said"),
    [
        ("", None, ""),
        ("full", "disk-full", "No space left on device"),
        ("truncated", "unreadable-output", "missing or truncated"),
        ("alone", "unreadable-output", "2 ranks ran on their own"),
    ],
)
def test_a_trial_with_ranks(fault, category, said, tmp_path, monkeypatch):
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed")
    monkeypatch.setenv("PATH", f"{STANDINS}:{os.environ['PATH']}")
    monkeypatch.setenv("MDTEST_FAULT", fault)
    workload = {"use": "mdtest", "items": 10, "ranks": 2}
    experiment = steelyard.Experiment(experiment="mdtest", workload=workload, repeat=1, disturbed="exclude")
    (trial,) = steelyard.run(experiment, store=tmp_path).record.trials
    assert trial.result.category == category, trial.message
    if category is None:
        assert trial.result.metrics["file_create_rate"] == pytest.approx(14252.77)
    else:
        assert said in trial.message
