from __future__ import annotations

from steelyard.analysis.compare import compare_runs
from steelyard.analysis.gate import Kind, objections
from steelyard.model.metric import Metric

RATE = Metric("rate", "1/s", "higher")
PLAN = {"parameters": {"a": [1, 2]}, "metrics": [RATE]}


def around(level):
    return lambda cell, repetition, rng: {"rate": level * (1 + rng.gauss(0, 0.01))}


def kinds(before, after, allowed=()):
    return [(one.kind, one.cell.key) for one in objections(compare_runs(before, after), allowed)]


def test_equal_runs_pass(build):
    record = build(**PLAN, figures=around(100))
    assert kinds(record, record) == []


def test_what_is_worse_cannot_be_allowed(build):
    before, after = build(**PLAN, figures=around(100)), build(**PLAN, figures=around(50))
    assert kinds(before, after, tuple(Kind)) == [("worse", "a=1"), ("worse", "a=2")]


def test_too_few_trials_are_no_answer(build):
    few = build(**PLAN, figures=around(100), repetitions=5)
    assert kinds(few, few) == [("few", "a=1"), ("few", "a=2")]
    assert kinds(few, few, ["few"]) == []


def test_a_cell_of_one_run_alone_or_without_a_value_is_missing(build):
    before = build(**PLAN, figures=around(100))
    after = build(**{**PLAN, "parameters": {"a": [2, 3]}}, figures=around(100))
    assert kinds(before, after) == [("missing", "a=1"), ("missing", "a=3")]
    unmeasured = build(**PLAN, figures=around(100), measured=lambda cell: cell.key == "a=2")
    assert kinds(before, unmeasured) == [("missing", "a=1")]
    assert kinds(before, unmeasured, ["missing"]) == []


def test_a_cell_whose_trials_fail_does_not_pass_by_silence(build):
    before = build(**PLAN, figures=around(100))
    crash = ("program-failed", "exit code 3")
    after = build(**PLAN, figures=around(100), failures={("a=1", n): crash for n in range(1, 7)})
    (one,) = objections(compare_runs(before, after))
    assert (one.kind, one.cell.key) == ("failed", "a=1"), "said once, and not as missing, too"
    assert one.reason.startswith("6 of 6 trials failed in run b: ")
    assert kinds(before, after, ["failed"]) == []
    once = {("a=1", 1): crash, ("a=2", 1): crash}
    some = build(**PLAN, figures=around(100), repetitions=8, failures=once)
    assert kinds(before, some) == [("failed", "a=1"), ("failed", "a=2")]
    assert kinds(some, before) == [], "those of the baseline are not its fault"
