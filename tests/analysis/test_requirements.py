from __future__ import annotations

import json
import math

import pytest

from steelyard.analysis.requirements import RequirementVerdict, has_failed_requirements, judge
from steelyard.analysis.summary import summarise_run
from steelyard.errors import StoreError
from steelyard.model.metric import Metric, latency_metrics

RATE = Metric("rate", "1/s", "higher")
MET, NOT, OPEN, MISSING = (
    RequirementVerdict.MET,
    RequirementVerdict.NOT_MET,
    RequirementVerdict.UNDECIDED,
    RequirementVerdict.MISSING,
)


def growing(cell, repetition, rng):
    """1, 2, 3 … in every cell: with six of them the median is 3.5 and its interval [1, 6]."""
    return {"rate": float(repetition)}


def judged(record):
    return judge(record, summarise_run(record))


def verdicts(build, requirement, **changes):
    plan = {
        "parameters": {"a": [1]},
        "metrics": [RATE],
        "figures": growing,
        "require": [requirement],
    } | changes
    (one,) = judged(build(**plan))
    return [ruling.verdict for ruling in one.rulings]


@pytest.mark.parametrize(
    ("requirement", "verdict"),
    [
        ("rate.median >= 1/s", MET),
        ("rate.median > 1/s", OPEN),  # the lower end does not satisfy it
        ("rate.median >= 2/s", OPEN),
        ("rate.median > 6/s", NOT),
        ("rate.median <= 6/s", MET),
        ("rate.median < 6/s", OPEN),
        ("rate.median < 1/s", NOT),
        ("rate >= 1/s", MET),  # the metric's own way over repetitions, which is the median
        ("rate.mean >= 1.5/s", MET),  # the t interval of 1 … 6 is [1.54, 5.46]
        ("rate.mean >= 1.6/s", OPEN),
        ("rate.mean > 5.5/s", NOT),
        ("rate.max <= 6/s", MET),
        ("rate.max < 6/s", NOT),
        ("rate.min >= 1/s", MET),
        ("rate.min > 1/s", NOT),
        ("rate.median == 3.5/s", MET),
        ("rate.median == 3/s", NOT),
        ("rate.median != 3/s", MET),
        ("rate.max != 6/s", NOT),
        ("rate.sum.max <= 6/s", MET),
    ],
)
def test_the_interval_decides(build, requirement, verdict):
    assert verdicts(build, requirement) == [verdict]


@pytest.mark.parametrize(
    ("requirement", "verdict"),
    [
        ("rate.median >= 0/s", OPEN),
        ("rate.mean >= 1/s", OPEN),
        ("rate.max <= 3/s", MET),
        ("rate.min >= 2/s", NOT),
    ],
)
def test_without_an_interval_only_extremes_decide(build, requirement, verdict):
    assert verdicts(build, requirement, repetitions=3) == [verdict]


def test_a_single_trial_has_no_interval_of_its_mean(build):
    (one,) = judged(
        build(
            parameters={"a": [1]}, metrics=[RATE], figures=growing, repetitions=1, require=["rate.mean > 0/s"]
        )
    )
    assert one.rulings[0].verdict is OPEN
    assert one.rulings[0].note == "one trial has no interval"


def test_an_undecided_ruling_says_why(build):
    plan = {
        "parameters": {"a": [1]},
        "metrics": [RATE],
        "figures": growing,
        "require": ["rate.median >= 2/s"],
    }
    (six,) = judged(build(**plan))
    assert six.rulings[0].note == "the interval contains the bound"
    assert (six.rulings[0].value, six.rulings[0].interval.low) == (3.5, 1)
    (three,) = judged(build(**plan, repetitions=3))
    assert three.rulings[0].note == "no 95 % interval, n=3"


def test_where_narrows_and_is_evaluated_per_cell(build):
    plan = {"parameters": {"a": [1, 2, 4]}, "metrics": [RATE], "figures": growing}
    (one,) = judged(build(**plan, require=[("rate.min >= 1/s", "a * 2 <= 4")]))
    assert [ruling.cell.key for ruling in one.rulings] == ["a=1", "a=2"]
    assert one.where == "a * 2 <= 4"


def test_a_where_that_picks_nothing_is_missing_and_fails(build):
    (one,) = judged(
        build(metrics=[RATE], figures=growing, require=[("rate.min >= 1/s", "outstanding > 1000")])
    )
    assert one.rulings == ()
    assert one.verdict is MISSING
    assert one.is_failed()


def test_a_where_that_cannot_be_decided_leaves_it_undecided(build):
    (one,) = judged(
        build(
            parameters={"a": [0]}, metrics=[RATE], figures=growing, require=[("rate.min >= 1/s", "1 / a > 2")]
        )
    )
    assert one.verdict is OPEN
    assert "cannot evaluate `where`" in one.rulings[0].note


def test_what_was_not_measured_is_missing(build):
    plan = {
        "parameters": {"a": [1, 2]},
        "metrics": [RATE],
        "figures": growing,
        "require": ["rate.min >= 1/s"],
    }
    (one,) = judged(build(**plan, measured=lambda cell: cell.key == "a=2"))
    assert [(ruling.verdict, ruling.note) for ruling in one.rulings] == [(MISSING, "not measured"), (MET, "")]
    assert one.verdict is MISSING


def test_an_undeclared_metric_is_missing(build):
    (one,) = judged(build(parameters={"a": [1]}, metrics=[RATE], figures=growing, require=["speed > 1"]))
    assert (one.verdict, one.metric) == (MISSING, None)


def test_an_outlier_policy_cannot_hide_a_failure(build):
    def figures(cell, repetition, rng):
        return {"rate": 1.0 if repetition == 5 else 0.0 + (repetition % 2) / 1000}

    changes = {"figures": figures, "repetitions": 12, "outliers": "extremes"}
    assert verdicts(build, "rate.max == 0/s", **changes) == [NOT]


def test_trials_that_do_not_count_are_mentioned(build):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE], "figures": growing, "require": ["rate.min >= 1/s"]}
    (one,) = judged(
        build(**plan, failures={("a=1", 1): ("host-failed", "")}, marks={("a=1", 2): ("disturbed", "x")})
    )
    assert one.rulings[0].note == "not counted: 1 failed, 1 marked"
    assert one.verdict is RequirementVerdict.MET


@pytest.mark.parametrize(
    ("requirement", "failed", "verdict"),
    [
        ("rate.median >= 1/s", 1, "met"),  # of 18 the fifth smallest counts
        ("rate.median >= 1/s", 5, "undecided"),
        ("rate.median >= 1/s", 12, "undecided"),
        ("rate.median >= 1/s", 18, "not met"),
        ("rate.median <= 1000/s", 12, "undecided"),
        ("rate.mean >= 1/s", 1, "not met"),
        ("rate.min >= 1/s", 1, "not met"),
        ("rate.max <= 1000/s", 1, "not met"),
        ("rate.median != 1000/s", 1, "not met"),
    ],
)
def test_a_failed_trial_is_worse_than_any_figure(build, requirement, failed, verdict):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE], "figures": growing, "repetitions": 18}
    failures = {("a=1", n): ("crashed", "") for n in range(1, failed + 1)}
    (one,) = judged(build(**plan, require=[requirement], failures=failures))
    (ruling,) = one.rulings
    assert ruling.verdict == verdict
    assert ruling.note.startswith(f"{failed} of 18 trials failed, which is worse than any figure")
    assert ruling.value is None or math.isfinite(ruling.value)


def under_steal(build, requirement, lost, figures=growing, repetitions=12, **changes):
    """The ruling where the hypervisor took part in the first trials."""
    mark = ("disturbed", "steal: the hypervisor took 12.0 % of the CPU time", "steal", 0.12, "%")
    marks = {("a=1", n): mark for n in range(1, lost + 1)}
    plan = {"parameters": {"a": [1]}, "metrics": [RATE], "figures": figures, "require": [requirement]}
    (one,) = judged(build(**plan, marks=marks, repetitions=repetitions, **changes))
    return one.rulings[0]


@pytest.mark.parametrize("lost", [7, 12])
@pytest.mark.parametrize(
    ("requirement", "verdict"),
    [("rate.median >= 1/s", MET), ("rate.median > 100/s", NOT), ("rate.median >= 6/s", OPEN)],
)
def test_where_too_few_count_or_none_all_trials_decide_and_say_so(build, requirement, verdict, lost):
    ruling = under_steal(build, requirement, lost)
    assert ruling.verdict is verdict
    assert ruling.note.startswith("decided by all 12 trials, under steal, median 12 %")
    assert (ruling.value, ruling.disturbance) == (6.5, "under steal, median 12 %")


def test_with_failures_all_trials_decide_too(build):
    failures = {("a=1", n): ("crashed", "") for n in (11, 12)}
    ruling = under_steal(build, "rate.median >= 1/s", 8, failures=failures)
    assert ruling.note.startswith("decided by all 10 trials")
    assert "2 of 12 trials failed" in ruling.note


def slow_while_disturbed(cell, repetition, rng):
    return {"rate": 1.0 if repetition <= 18 else 100.0 + repetition}


@pytest.mark.parametrize("requirement", ["rate.median >= 50/s", "rate.median < 50/s", "rate.min > 50/s"])
def test_a_verdict_that_disturbed_trials_would_turn_is_undecided(build, requirement):
    ruling = under_steal(build, requirement, 18, slow_while_disturbed, repetitions=24)
    assert (ruling.verdict, ruling.is_disturbance_sensitive) == (OPEN, True)
    assert ruling.note.startswith("depends on disturbed trials: ")


def test_disturbed_trials_that_only_widen_the_interval_do_not_undo_a_verdict(build):
    ruling = under_steal(build, "rate.median >= 7/s", 6)
    assert (ruling.verdict, ruling.is_disturbance_sensitive) == (MET, False)
    assert ruling.note == "not counted: 6 marked"


def test_undecided_and_missing_fail_unless_told_to_pass(build):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE], "figures": growing}
    undecided = judged(build(**plan, require=["rate.median >= 2/s", "rate.min >= 1/s"]))
    assert has_failed_requirements(undecided)
    assert not has_failed_requirements(undecided, "pass")
    assert has_failed_requirements(judged(build(**plan, require=["rate.min > 1/s"])), "pass")
    assert not has_failed_requirements(judged(build(**plan, require=["rate.min >= 1/s"])))
    assert not has_failed_requirements(())


def test_the_worst_cell_is_the_verdict_of_all(build):
    def figures(cell, repetition, rng):
        return {"rate": cell.parameters["a"] + repetition / 100}

    (one,) = judged(
        build(parameters={"a": [1, 2, 3]}, metrics=[RATE], figures=figures, require=["rate >= 2.01/s"])
    )
    assert [ruling.verdict for ruling in one.rulings] == [NOT, MET, MET]
    assert one.verdict is NOT


def test_a_damaged_requirement_is_one_clear_error(build):
    record = build(metrics=[RATE], figures=growing, require=["rate >= 1/s"])
    content = json.loads(record.folder.design.read_text())
    content["require"][0]["text"] = "rate >="
    record.folder.design.write_text(json.dumps(content))
    with pytest.raises(StoreError, match="cannot read a recorded requirement"):
        judged(record)


@pytest.mark.parametrize(
    ("having", "bound", "verdict"),
    [(0, "1 s", MISSING), (7, "1 s", MET), (6, "1 s", OPEN), (6, "1 ms", NOT)],
)
def test_a_quantile_of_too_few_samples_meets_no_requirement(build, having, bound, verdict):
    record = build(
        parameters={"a": [1]},
        metrics=latency_metrics("wait", "time"),
        repetitions=7,
        figures=lambda cell, repetition, rng: {"wait_p99": 0.1} if repetition <= having else {},
        short=lambda repetition: {"wait_p99": 37} if repetition > having else {},
        require=[f"wait_p99.median <= {bound}"],
    )
    ((ruling,),) = (one.rulings for one in judged(record))
    assert ruling.verdict is verdict
    assert ("wait_p99 needs 100 samples" in ruling.note) == (having < 7)


@pytest.mark.parametrize(
    ("requirement", "verdict"),
    [
        ("memory <= 6 MiB", MET),
        ("memory < 1 MiB", OPEN),
        ("memory >= 1 MiB", OPEN),
        ("memory > 6 MiB", NOT),
        ("memory.max == 6 MiB", OPEN),
        ("memory.max <= 6 MiB", MET),
    ],
)
def test_what_is_at_most_so_much_proves_no_more_than_that(build, requirement, verdict):
    memory = Metric("memory", "B", "lower")
    record = build(
        parameters={"a": [1]},
        metrics=[memory],
        figures=lambda cell, repetition, rng: {"memory": repetition * 2.0**20},
        at_most=["memory"],
        require=[requirement],
    )
    ((ruling,),) = (one.rulings for one in judged(record))
    assert ruling.verdict is verdict
    assert ("only an upper bound" in ruling.note) == (verdict is OPEN)
