from __future__ import annotations

from steelyard.analysis.comparison.compare import compare_runs
from steelyard.analysis.comparison.gate import ObjectionKind, find_objections
from steelyard.model.metric import Metric

RATE = Metric("rate", "1/s", "higher")
PLAN = {"parameters": {"a": [1, 2]}, "metrics": [RATE]}


def compared(a, b, **more):
    return compare_runs([a], [b], **more)


def around(level):
    return lambda cell, repetition, rng: {"rate": level * (1 + rng.gauss(0, 0.01))}


def kinds(before, after, allowed=()):
    return [(one.kind, one.cell.key) for one in find_objections(compared(before, after), allowed)]


def test_equal_runs_pass(build):
    record = build(**PLAN, figures=around(100))
    assert kinds(record, record) == []


def test_what_is_worse_cannot_be_allowed(build):
    before, after = build(**PLAN, figures=around(100)), build(**PLAN, figures=around(50))
    assert kinds(before, after, tuple(ObjectionKind)) == [("worse", "a=1"), ("worse", "a=2")]


def test_too_few_trials_are_no_answer(build):
    few = build(**PLAN, figures=around(100), repetitions=5)
    assert kinds(few, few) == [("few", "a=1"), ("few", "a=2")]
    assert kinds(few, few, ["few"]) == []


def test_a_cell_of_one_run_alone_or_without_a_value_is_missing(build):
    before = build(**PLAN, figures=around(100))
    after = build(**{**PLAN, "parameters": {"a": [2, 3]}}, figures=around(100))
    assert kinds(before, after) == [("missing", "a=3"), ("missing", "a=1")]
    unmeasured = build(**PLAN, figures=around(100), measured=lambda cell: cell.key == "a=2")
    assert kinds(before, unmeasured) == [("missing", "a=1")]
    assert kinds(before, unmeasured, ["missing"]) == []


def test_a_cell_whose_trials_fail_does_not_pass_by_silence(build):
    before = build(**PLAN, figures=around(100))
    crash = ("program-failed", "exit code 3")
    after = build(**PLAN, figures=around(100), failures={("a=1", n): crash for n in range(1, 7)})
    (one,) = find_objections(compared(before, after))
    assert (one.kind, one.cell.key) == ("failed", "a=1"), "said once, and not as missing, too"
    assert one.reason.startswith("6 of 6 trials failed in b: ")
    assert kinds(before, after, ["failed"]) == []
    once = {("a=1", 1): crash, ("a=2", 1): crash}
    some = build(**PLAN, figures=around(100), repetitions=8, failures=once)
    assert kinds(before, some) == [("failed", "a=1"), ("failed", "a=2")]
    assert kinds(some, before) == [], "those of the baseline are not its fault"


def test_with_a_margin_only_what_is_shown_to_stay_within_it_passes(build):
    plan = {**PLAN, "repetitions": 12}
    before = build(**plan, figures=around(100))

    def objected(level, margin):
        after = build(**plan, figures=around(level), seed=3)
        return {str(one.kind) for one in find_objections(compared(before, after), margin=margin)}

    assert objected(100, 0.05) == set()
    assert objected(97, 0.05) == set(), "worse, but by less than what matters"
    assert objected(130, 0.05) == set(), "better by whatever much"
    assert objected(80, 0.05) == {"worse"}
    assert objected(100, 0.001) == {"undecided"}
    assert objected(97, None) == {"worse"}


def test_an_undecided_cell_cannot_be_allowed(build):
    record = build(**PLAN, figures=around(100))
    found = find_objections(
        compared(record, build(**PLAN, figures=around(100), seed=5)), tuple(ObjectionKind), margin=0.001
    )
    assert {one.kind for one in found} == {ObjectionKind.UNDECIDED}
    assert "may exceed the margin of 0.1 %: the change is between" in found[0].reason


def test_a_margin_is_no_leave_for_failures(build):
    plan = {**PLAN, "repetitions": 12}
    crash = {("a=1", n): ("crashed", "exit code 3") for n in range(1, 3)}
    after = build(**plan, figures=around(100), failures=crash)
    found = find_objections(compared(build(**plan, figures=around(100)), after), ["failed"], margin=0.2)
    assert [(one.kind, one.cell.key) for one in found] == [(ObjectionKind.UNDECIDED, "a=1")]


def test_a_cell_that_one_of_several_runs_lacks_is_missing(build):
    one, two = (build(**PLAN, figures=around(100), seed=n) for n in (1, 2))
    three = build(**{**PLAN, "parameters": {"a": [1]}}, figures=around(100))
    found = find_objections(compare_runs([one], [two, three]))
    assert [(each.kind, each.cell.key, each.reason) for each in found] == [
        (ObjectionKind.MISSING, "a=2", f"not in {three.id} of b")
    ]


def test_what_depends_on_disturbed_trials_does_not_pass(build):
    marks = {("a=1", n): ("disturbed", "steal") for n in range(1, 21)}
    plan = {"parameters": {"a": [1]}, "metrics": [RATE], "repetitions": 27}
    turned = build(
        **plan, figures=lambda _, n, rng: {"rate": rng.gauss(90 if n < 21 else 130, 1)}, marks=marks
    )
    (one,) = find_objections(compared(build(**plan, figures=around(100)), turned))
    assert (one.kind, one.reason[:32]) == (ObjectionKind.UNDECIDED, "rate: depends on disturbed trial")
