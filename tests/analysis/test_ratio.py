"""Requirements with `against`: on the ratio of cells to others that are alike."""

from __future__ import annotations

import pytest

from steelyard.analysis.requirements import RequirementVerdict, judge
from steelyard.analysis.summary import summarise_run
from steelyard.model.metric import Metric

TIME = Metric("time", "s", "lower")
PLAN = {"parameters": {"build": ["old", "new"], "size": [1, 2]}, "metrics": [TIME], "repetitions": 8}
NEW, OLD = "build == 'new'", "build == 'old'"


def takes(share, noise=0.01):
    def figures(cell, repetition, rng):
        factor = 1 + share if cell.parameters["build"] == "new" else 1
        return {"time": factor * cell.parameters["size"] * repetition * rng.lognormvariate(0, noise)}

    return figures


def judged(build, that, share=0.2, where=NEW, against=OLD, **more):
    record = build(**{**PLAN, "figures": takes(share), **more}, require=[(that, where, against)])
    (one,) = judge(record, summarise_run(record))
    return one


@pytest.mark.parametrize(
    ("that", "verdict"),
    [
        ("time.median <= 105%", RequirementVerdict.NOT_MET),
        ("time.median <= 1.3", RequirementVerdict.MET),
        ("time.median <= 120%", RequirementVerdict.UNDECIDED),
        ("time >= 110%", RequirementVerdict.MET),
    ],
)
def test_the_interval_of_the_ratio_decides(build, that, verdict):
    one = judged(build, that)
    assert [(ruling.cell.key, ruling.verdict) for ruling in one.rulings] == [
        ("build=new size=1", verdict),
        ("build=new size=2", verdict),
    ]
    ruling = one.rulings[0]
    assert ruling.value == pytest.approx(1.2, rel=0.03)
    assert ruling.value in ruling.interval
    assert ruling.note.startswith("8 pairs")
    assert (one.metric.unit, one.sentence) == ("%", f"{that} where {NEW} against {OLD}")


def test_all_other_parameters_are_alike(build):
    one = judged(build, "time.median <= 210%", where="size == 2", against="size == 1")
    assert [ruling.cell.key for ruling in one.rulings] == ["build=old size=2", "build=new size=2"]
    assert all(ruling.value == pytest.approx(2, rel=0.03) for ruling in one.rulings)


def test_too_few_trials_leave_it_open(build):
    one = judged(build, "time.median <= 105%", repetitions=5)
    assert {(ruling.verdict, ruling.note) for ruling in one.rulings} == {
        (RequirementVerdict.UNDECIDED, "n=5 against n=5; at least 6 each are needed")
    }


def test_failures_are_in_no_interval_and_so_never_met(build):
    crash = {("build=new size=1", n): ("crashed", "exit code 3") for n in range(1, 3)}
    one = judged(build, "time.median <= 500%", failures=crash)
    assert [ruling.verdict for ruling in one.rulings] == [
        RequirementVerdict.UNDECIDED,
        RequirementVerdict.MET,
    ]
    crash = {("build=new size=1", n): ("crashed", "exit code 3") for n in range(1, 9)}
    one = judged(build, "time.median <= 500%", failures=crash)
    assert (one.rulings[0].verdict, one.rulings[0].note) == (
        RequirementVerdict.NOT_MET,
        "all its trials failed",
    )


def test_what_was_not_measured_is_missing(build):
    one = judged(build, "time.median <= 105%", measured=lambda cell: cell.key != "build=old size=1")
    assert one.rulings[0].verdict is RequirementVerdict.MISSING
    assert one.rulings[0].note == "build=old size=1: not measured"


def test_disturbed_trials_that_would_turn_it_leave_it_open(build):
    marks = {("build=new size=1", n): ("disturbed", "steal") for n in range(1, 21)}

    def turned(cell, repetition, rng):
        new = cell.parameters["build"] == "new"
        factor = (0.5 if repetition < 21 else 2) if new else 1
        return {"time": factor * rng.lognormvariate(0, 0.01)}

    one = judged(build, "time.median <= 105%", figures=turned, repetitions=27, marks=marks)
    assert (one.rulings[0].verdict, one.rulings[0].is_disturbance_sensitive) == (
        RequirementVerdict.UNDECIDED,
        True,
    )
