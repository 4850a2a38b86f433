from __future__ import annotations

import pytest

from steelyard.analysis.comparison.compare import compare_runs
from steelyard.errors import UnknownName, UsageError
from steelyard.model.metric import Metric, latency_metrics
from steelyard.stats.verdict import Verdict

RATE = Metric("rate", "1/s", "higher")
TIME = Metric("time", "s", "lower")
PHASE = Metric("phase", "1", "none")


def compared(a, b, **more):
    return compare_runs([a], [b], **more)


def around(centre, share=0.02):
    def figures(cell, repetition, rng):
        size = centre * (1 + cell.parameters.get("a", 0))
        return {metric: rng.gauss(size, share * size) for metric in ("rate", "time", "phase")}

    return figures


def test_a_run_against_itself_has_no_detectable_difference(build):
    record = build(parameters={"a": [1, 2, 3]}, metrics=[RATE, TIME], figures=around(100))
    found = compared(record, record)
    assert len(found.compared) == 6
    assert {one.verdict for one in found.compared} == {Verdict.NO_DIFFERENCE}
    assert all(one.judged.comparison.ratio == 1 for one in found.compared)
    assert found.worst_verdict() is Verdict.NO_DIFFERENCE


def test_a_planted_slowdown_is_found_and_named_by_the_metrics_direction(build):
    plan = {"parameters": {"a": [1, 2]}, "metrics": [RATE, TIME, PHASE], "repetitions": 10}
    before, after = build(**plan, figures=around(100)), build(**plan, figures=around(85), seed=1)
    found = compared(before, after, metrics=["rate", "time", "phase"])
    by_metric = {
        metric: {one.verdict for one in found.compared if one.metric.name == metric}
        for metric in ("rate", "time", "phase")
    }
    assert by_metric == {"rate": {Verdict.WORSE}, "time": {Verdict.BETTER}, "phase": {Verdict.DIFFERENT}}
    assert found.worst_verdict() is Verdict.WORSE
    assert len(found.select_by_verdict(Verdict.WORSE)) == 2
    assert all(one.judged.comparison.ratio == pytest.approx(0.85, abs=0.03) for one in found.compared)


def test_too_few_trials_are_called_so(build):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE], "repetitions": 4}
    found = compared(build(**plan, figures=around(100)), build(**plan, figures=around(50)))
    assert found.worst_verdict() is Verdict.TOO_FEW


def test_cells_are_matched_by_their_levels_in_any_order(build):
    plan = {"metrics": [RATE], "figures": around(100)}
    before = build(**plan, parameters={"a": [1, 2], "b": ["x"]})
    after = build(**plan, parameters={"b": ["x"], "a": [2, 3]})
    found = compared(before, after)
    assert [one.cell.key for one in found.compared] == ["b=x a=2"]
    assert [cell.key for cell in found.list_unmatched_cells("a")] == ["a=1 b=x"]
    assert [cell.key for cell in found.list_unmatched_cells("b")] == ["b=x a=3"]


def test_levels_of_another_type_are_other_levels(build):
    plan = {"metrics": [RATE], "figures": lambda *_: {"rate": 1.0}}
    found = compared(build(**plan, parameters={"a": [1]}), build(**plan, parameters={"a": ["1"]}))
    assert found.compared == ()
    assert found.worst_verdict() is None


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (Metric("rate", "B/s", "higher"), "its unit is 1/s in"),
        (Metric("rate", "1/s", "higher", formula="a / b"), "its formula is measured in .*, a / b in"),
        (Metric("rate", "1/s", "lower"), "direction is"),
    ],
)
def test_metrics_of_another_unit_or_direction_are_refused_and_others_can_be_named(build, other, told):
    plan = {"parameters": {"a": [1]}, "figures": around(100)}
    before, after = build(**plan, metrics=[RATE, TIME]), build(**plan, metrics=[other, TIME])
    with pytest.raises(UsageError, match=told):
        compared(before, after)
    assert len(compared(before, after, metrics=["time"]).compared) == 1


def slowed(record, by):
    return lambda cell, repetition, rng: {"rate": record.trials[repetition - 1].result.metrics["rate"] / by}


def test_the_smallest_change_that_would_have_been_found_is_found_and_a_smaller_one_is_not(build):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE], "repetitions": 10}
    before = build(**plan, figures=around(100))
    (none,) = compared(before, before).compared
    assert none.verdict is Verdict.NO_DIFFERENCE
    assert none.detectable is not None
    seen = build(**plan, figures=slowed(before, 1 / (1 - none.detectable * 1.01)))
    hidden = build(**plan, figures=slowed(before, 1 / (1 - none.detectable * 0.95)))
    assert compared(before, seen).worst_verdict() is Verdict.WORSE
    assert compared(before, hidden).worst_verdict() is Verdict.NO_DIFFERENCE


def test_failed_trials_are_worse_than_any_figure_but_those_that_say_nothing_of_the_program(build):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE, PHASE], "repetitions": 12, "figures": around(100)}
    before = build(**plan)
    failures = {("a=1", n): ("crashed", "exit code 3") for n in range(1, 8)}
    (crashing,) = compared(before, build(**plan, seed=1, failures=failures), metrics=["rate"]).compared
    assert crashing.verdict is Verdict.WORSE
    assert "7 of 12 trials failed in b, which is worse than any figure" in crashing.judged.note
    assert crashing.judged.comparison.ratio == pytest.approx(1, abs=0.05), "figures are of what has one"
    lost = dict.fromkeys(failures, ("host-failed", "gone"))
    assert (
        compared(before, build(**plan, seed=1, failures=lost), metrics=["rate"]).worst_verdict()
        is Verdict.TOO_FEW
    )
    both = build(**plan, seed=1, failures=failures)
    assert compared(before, both, metrics=["rate"], failures=False).worst_verdict() is Verdict.TOO_FEW
    assert compared(before, both, metrics=["phase"]).worst_verdict() is Verdict.TOO_FEW, (
        "no direction is worse"
    )
    assert compared(both, before, metrics=["rate"]).worst_verdict() is Verdict.BETTER


def test_a_cell_of_which_all_trials_fail_is_worse(build):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE], "figures": around(100)}
    crash = {("a=1", n): ("crashed", "exit code 3") for n in range(1, 7)}
    (one,) = compared(build(**plan), build(**plan, failures=crash)).compared
    assert (one.verdict, one.judged.comparison.median_b) == (Verdict.WORSE, None)


def several(build, centres, **plan):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE], **plan}
    return [build(**plan, seed=seed, figures=around(centre)) for seed, centre in enumerate(centres)]


def test_several_runs_a_side_take_in_how_runs_differ(build):
    slow, fast = several(build, (80, 100, 120)), several(build, (90, 110, 132))
    (one,) = compare_runs(slow, fast).compared
    assert one.verdict is Verdict.NO_DIFFERENCE, "trials are alike within a run, and runs are not"
    assert compare_runs([slow[0]], [fast[0]]).worst_verdict() is Verdict.BETTER, (
        "which one run a side cannot know"
    )
    assert one.detectable > 0.2
    assert (one.judged.comparison.runs_a, one.judged.comparison.n_a) == (3, 18)
    steady, slower = several(build, (99, 100, 101)), several(build, (89, 90, 91))
    assert compare_runs(steady, slower).worst_verdict() is Verdict.WORSE
    assert compare_runs(steady, slower[:1]).worst_verdict() is Verdict.WORSE, "one run beside those before it"


def test_a_cell_that_one_of_several_runs_lacks_is_a_gap(build):
    before, after = several(build, (100, 100)), several(build, (100, 100), parameters={"a": [1, 2]})
    found = compare_runs([*before, after[0]], after)
    assert [(gap.cell.key, gap.which, len(gap.runs), gap.whole) for gap in found.gaps] == [
        ("a=2", "a", 2, False)
    ]


def test_a_chosen_metric_must_be_known_to_both(build):
    plan = {"parameters": {"a": [1]}, "figures": around(100)}
    before, after = build(**plan, metrics=[RATE, TIME]), build(**plan, metrics=[RATE])
    with pytest.raises(UnknownName, match="unknown metric 'raet'; did you mean 'rate'"):
        compared(before, after, metrics=["raet"])
    with pytest.raises(UnknownName, match="unknown metric 'time'"):
        compared(before, after, metrics=["time"])


def test_cells_without_figures_are_noted(build):
    plan = {"parameters": {"a": [1, 2]}, "metrics": [RATE], "figures": around(100)}
    found = compared(build(**plan), build(**plan, measured=lambda cell: cell.key == "a=2"))
    assert [one.cell.key for one in found.compared] == ["a=2"]
    (missing,) = found.missing_values
    assert (missing.cell.key, str(missing)) == ("a=1", "rate cannot be compared, in b: not measured")


def test_the_family_is_no_larger_than_the_trials_can_judge(build):
    def figures(cell, repetition, rng):
        return {metric.name: 1.0 + repetition / 100 for metric in metrics if metric.kind == "scalar"}

    metrics = [RATE, TIME, PHASE, *latency_metrics("latency", "time")]
    plan = {"parameters": {"a": list(range(9))}, "metrics": metrics, "figures": figures}
    # 6 against 6 can judge 23 comparisons: two metrics in nine cells, not three.
    few = build(**plan)
    found = compared(few, few)
    assert [one.metric.name for one in found.compared[::9]] == ["rate", "time"]
    assert found.left_out == ("latency_p50", "latency_p99", "phase", "latency_p95", "latency_p999")
    assert found.worst_verdict() is Verdict.NO_DIFFERENCE
    more = build(**plan, repetitions=10)
    assert [one.metric.name for one in compared(more, more).compared[::9]] == [
        "rate",
        "time",
        "latency_p50",
        "latency_p99",
    ]


def test_what_the_experiments_ask_about_is_compared_first(build):
    plan = {"parameters": {"a": list(range(20))}, "metrics": [RATE, TIME], "figures": around(100)}
    found = compared(build(**plan), build(**plan, require=["time <= 1 s"]))
    assert {one.metric.name for one in found.compared} == {"time"}
    assert found.left_out == ("rate",)


def test_at_least_one_metric_is_compared_however_many_cells_there_are(build):
    record = build(parameters={"a": list(range(40))}, metrics=[RATE, TIME], figures=around(100))
    found = compared(record, record)
    assert {one.metric.name for one in found.compared} == {"rate"}
    assert found.worst_verdict() is Verdict.TOO_FEW


def steal(numbers):
    return {("a=1", n): ("disturbed", "steal: the hypervisor took 12 % of the CPU time") for n in numbers}


def test_where_too_few_trials_count_all_of_them_are_compared_and_labelled(build):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE], "repetitions": 12}
    before = build(**plan, figures=around(100))
    (one,) = compared(before, build(**plan, figures=around(80), marks=steal(range(1, 10)))).compared
    assert (one.verdict, one.judged.comparison.n_b) == (Verdict.WORSE, 12)
    assert one.disturbance == "b under steal"
    (one,) = compared(before, build(**plan, figures=around(100), marks=steal(range(1, 3)))).compared
    assert (one.judged.comparison.n_b, one.disturbance) == (10, "")


def test_a_verdict_that_disturbed_trials_would_turn_is_undecided(build):
    def figures(cell, repetition, rng):
        return {"rate": rng.gauss(160 if repetition <= 20 else 260, 1)}

    plan = {"parameters": {"a": [1]}, "metrics": [RATE], "repetitions": 27}
    turned = build(**plan, figures=figures, marks=steal(range(1, 21)))
    (one,) = compared(build(**plan, figures=around(100, 0.01)), turned).compared
    assert one.verdict is Verdict.UNDECIDED
    assert one.judged.note == "depends on disturbed trials: better without them, worse with them"


def test_several_runs_a_side_are_compared_by_what_the_experiment_names(build):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE, TIME], "figures": around(100)}
    runs = [build(**plan, seed=n, require=["time <= 1 s"]) for n in range(4)]
    found = compare_runs(runs[:2], runs[2:])
    assert ([one.metric.name for one in found.compared], found.left_out) == (["time"], ("rate",))
    unnamed = [build(**plan, seed=n) for n in range(4)]
    assert [one.metric.name for one in compare_runs(unnamed[:2], unnamed[2:]).compared] == ["rate", "time"]
