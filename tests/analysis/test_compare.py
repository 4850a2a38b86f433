from __future__ import annotations

import pytest

from steelyard.analysis.compare import compare_runs
from steelyard.errors import UnknownName
from steelyard.model.metric import Metric, latency_metrics
from steelyard.stats.verdict import Verdict

RATE = Metric("rate", "1/s", "higher")
TIME = Metric("time", "s", "lower")
PHASE = Metric("phase", "1", "none")


def around(centre, share=0.02):
    def figures(cell, repetition, rng):
        size = centre * (1 + cell.parameters.get("a", 0))
        return {metric: rng.gauss(size, share * size) for metric in ("rate", "time", "phase")}

    return figures


def test_a_run_against_itself_has_no_detectable_difference(build):
    record = build(parameters={"a": [1, 2, 3]}, metrics=[RATE, TIME], figures=around(100))
    found = compare_runs(record, record)
    assert len(found.compared) == 6
    assert {one.verdict for one in found.compared} == {Verdict.NO_DIFFERENCE}
    assert all(one.judged.comparison.ratio == 1 for one in found.compared)
    assert found.worst() is Verdict.NO_DIFFERENCE


def test_a_planted_slowdown_is_found_and_named_by_the_metrics_direction(build):
    plan = {"parameters": {"a": [1, 2]}, "metrics": [RATE, TIME, PHASE], "repetitions": 10}
    before, after = build(**plan, figures=around(100)), build(**plan, figures=around(85), seed=1)
    found = compare_runs(before, after, metrics=["rate", "time", "phase"])
    by_metric = {
        metric: {one.verdict for one in found.compared if one.metric.name == metric}
        for metric in ("rate", "time", "phase")
    }
    assert by_metric == {"rate": {Verdict.WORSE}, "time": {Verdict.BETTER}, "phase": {Verdict.DIFFERENT}}
    assert found.worst() is Verdict.WORSE
    assert len(found.having(Verdict.WORSE)) == 2
    assert all(one.judged.comparison.ratio == pytest.approx(0.85, abs=0.03) for one in found.compared)


def test_too_few_trials_are_called_so(build):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE], "repetitions": 4}
    found = compare_runs(build(**plan, figures=around(100)), build(**plan, figures=around(50)))
    assert found.worst() is Verdict.TOO_FEW


def test_cells_are_matched_by_their_levels_in_any_order(build):
    plan = {"metrics": [RATE], "figures": around(100)}
    before = build(**plan, parameters={"a": [1, 2], "b": ["x"]})
    after = build(**plan, parameters={"b": ["x"], "a": [2, 3]})
    found = compare_runs(before, after)
    assert [one.cell.key for one in found.compared] == ["b=x a=2"]
    assert [cell.key for cell in found.only_a] == ["a=1 b=x"]
    assert [cell.key for cell in found.only_b] == ["b=x a=3"]


def test_levels_of_another_type_are_other_levels(build):
    plan = {"metrics": [RATE], "figures": lambda *_: {"rate": 1.0}}
    found = compare_runs(build(**plan, parameters={"a": [1]}), build(**plan, parameters={"a": ["1"]}))
    assert found.compared == ()
    assert found.worst() is None


def test_metrics_of_another_unit_are_not_compared(build):
    plan = {"parameters": {"a": [1]}, "figures": around(100)}
    found = compare_runs(
        build(**plan, metrics=[RATE]), build(**plan, metrics=[Metric("rate", "B/s", "higher"), TIME])
    )
    assert found.compared == ()
    assert "its unit is 1/s" in found.notes[0]


def test_a_chosen_metric_must_be_known_to_both(build):
    plan = {"parameters": {"a": [1]}, "figures": around(100)}
    before, after = build(**plan, metrics=[RATE, TIME]), build(**plan, metrics=[RATE])
    with pytest.raises(UnknownName, match="unknown metric 'raet'; did you mean 'rate'"):
        compare_runs(before, after, metrics=["raet"])
    with pytest.raises(UnknownName, match="unknown metric 'time'"):
        compare_runs(before, after, metrics=["time"])


def test_cells_without_figures_are_noted(build):
    plan = {"parameters": {"a": [1, 2]}, "metrics": [RATE], "figures": around(100)}
    found = compare_runs(build(**plan), build(**plan, measured=lambda cell: cell.key == "a=2"))
    assert [one.cell.key for one in found.compared] == ["a=2"]
    assert found.notes == ("a=1: rate cannot be compared, in b: not measured",)


def test_the_family_is_no_larger_than_the_trials_can_judge(build):
    def figures(cell, repetition, rng):
        return {metric.name: 1.0 + repetition / 100 for metric in metrics if metric.kind == "scalar"}

    metrics = [RATE, TIME, PHASE, *latency_metrics("latency", "time")]
    plan = {"parameters": {"a": list(range(9))}, "metrics": metrics, "figures": figures}
    # 6 against 6 can judge 23 comparisons: two metrics in nine cells, not three.
    few = build(**plan)
    found = compare_runs(few, few)
    assert [one.metric.name for one in found.compared[::9]] == ["rate", "time"]
    assert found.left_out == ("latency_p50", "latency_p99", "phase", "latency_p95", "latency_p999")
    assert found.worst() is Verdict.NO_DIFFERENCE
    more = build(**plan, repetitions=10)
    assert [one.metric.name for one in compare_runs(more, more).compared[::9]] == [
        "rate",
        "time",
        "latency_p50",
        "latency_p99",
    ]


def test_what_the_experiments_ask_about_is_compared_first(build):
    plan = {"parameters": {"a": list(range(20))}, "metrics": [RATE, TIME], "figures": around(100)}
    found = compare_runs(build(**plan), build(**plan, require=["time <= 1 s"]))
    assert {one.metric.name for one in found.compared} == {"time"}
    assert found.left_out == ("rate",)


def test_at_least_one_metric_is_compared_however_many_cells_there_are(build):
    record = build(parameters={"a": list(range(40))}, metrics=[RATE, TIME], figures=around(100))
    found = compare_runs(record, record)
    assert {one.metric.name for one in found.compared} == {"rate"}
    assert found.worst() is Verdict.TOO_FEW
