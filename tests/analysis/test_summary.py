from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.analysis.cell_metric import explain_too_few
from steelyard.analysis.summary import summarise_run
from steelyard.model.metric import Metric, latency_metrics
from steelyard.stats.sample import LARGEST

RATE = Metric("rate", "1/s", "higher")
BUSY = (HealthCheck.function_scoped_fixture,)


def growing(cell, repetition, rng):
    return {"rate": float(repetition)}


def test_the_figures_are_those_of_the_trials(build):
    record = build(parameters={"a": [1, 2]}, metrics=[RATE], figures=growing, repetitions=7)
    summary = summarise_run(record)
    assert [cell.cell.key for cell in summary.cells] == ["a=1", "a=2"]
    for cell in summary.cells:
        one = cell.metrics["rate"]
        assert cell.n == 7
        assert one.values == tuple(map(float, range(1, 8)))
        assert one.summary.median == 4
        assert one.summary.mean == pytest.approx(4)
        assert one.summary.sd == pytest.approx(statistics.stdev(range(1, 8)))
        assert (one.summary.interval.low, one.summary.interval.high) == (1, 7)
    assert summary.trials == 14


def test_failed_and_marked_trials_are_counted_and_never_pooled(build):
    record = build(
        parameters={"a": [1]},
        metrics=[RATE],
        figures=growing,
        repetitions=6,
        failures={("a=1", 6): ("crashed", "it broke")},
        marks={("a=1", 1): ("disturbed", "foreign CPU load"), ("a=1", 2): ("fallback", "buffered")},
    )
    (cell,) = summarise_run(record).cells
    assert (cell.n, cell.failures, cell.marks) == (3, 1, 2)
    assert cell.metrics["rate"].values == (3, 4, 5)
    assert cell.metrics["rate"].trials == (3, 4, 5)
    assert [(tally.what, tally.reasons, tally.trials) for tally in cell.failed] == [
        ("crashed", ("it broke",), (6,))
    ]
    assert [(tally.what, tally.reasons, tally.trials) for tally in cell.marked] == [
        ("disturbed", ("foreign CPU load",), (1,)),
        ("fallback", ("buffered",), (2,)),
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"measured": lambda cell: cell.key != "a=1"}, "not measured"),
        ({"failures": {("a=1", n): ("crashed", "") for n in (1, 2)}}, "no trial counts: 2 failed"),
        ({"marks": {("a=1", n): ("disturbed", "x") for n in (1, 2)}}, "no trial counts: 2 marked"),
        (
            {"figures": lambda cell, *_: {} if cell.key == "a=1" else {"rate": 1.0}},
            "no trial has a value for rate",
        ),
    ],
)
def test_a_cell_without_figures_stays_and_says_why(build, changes, reason):
    record = build(
        **{"parameters": {"a": [1, 2]}, "metrics": [RATE], "figures": growing, "repetitions": 2} | changes
    )
    first, second = summarise_run(record).cells
    assert first.metrics["rate"].summary is None
    assert first.metrics["rate"].reason == reason
    assert second.metrics["rate"].summary is not None


def test_an_absurd_figure_costs_its_own_cell_only(build):
    def figures(cell, repetition, rng):
        return {"rate": 1e200 if cell.key == "a=1" else 1.0}

    first, second = summarise_run(build(parameters={"a": [1, 2]}, metrics=[RATE], figures=figures)).cells
    assert first.metrics["rate"].summary is None
    assert "1e+200" in first.metrics["rate"].reason
    assert second.metrics["rate"].summary.median == 1


def test_where_only_marked_trials_have_figures_their_median_is_told_apart(build):
    record = build(
        parameters={"a": [1, 2]},
        metrics=[RATE],
        figures=lambda cell, repetition, rng: {"rate": 1e300 if cell.key == "a=2" else float(repetition)},
        repetitions=3,
        marks={(key, n): ("disturbed", "x") for key in ("a=1", "a=2") for n in (1, 2, 3)},
    )
    first, absurd = summarise_run(record).cells
    assert (first.n, first.metrics["rate"].summary, first.metrics["rate"].marked_median) == (0, None, 2)
    assert absurd.metrics["rate"].marked_median is None
    other = summarise_run(build(parameters={"a": [1]}, metrics=[RATE], figures=growing)).cells[0]
    assert other.metrics["rate"].marked_median is None


def test_below_six_trials_there_is_no_interval_but_a_reason(build):
    (cell,) = summarise_run(
        build(parameters={"a": [1]}, metrics=[RATE], figures=growing, repetitions=3)
    ).cells
    assert cell.metrics["rate"].summary.interval is None
    assert cell.metrics["rate"].summary.interval_reason == "no 95 % interval, n=3"


def test_the_policy_of_the_file_holds_unless_another_is_asked_for(build):
    def figures(cell, repetition, rng):
        return {"rate": 1000.0 if repetition == 4 else 10.0 + repetition}

    record = build(parameters={"a": [1]}, metrics=[RATE], figures=figures, repetitions=9, outliers="tukey")
    one = summarise_run(record).cells[0].metrics["rate"]
    assert (one.summary.n, one.summary.dropped, one.outlier_trials) == (8, 1, (4,))
    everything = summarise_run(record, outliers="none").cells[0].metrics["rate"]
    assert (everything.summary.n, everything.summary.dropped, everything.outlier_trials) == (9, 0, ())
    with pytest.raises(ValueError, match="unknown outlier policy"):
        summarise_run(record, outliers="sometimes")


def test_of_equal_outliers_as_many_are_named_as_were_dropped(build):
    def figures(cell, repetition, rng):
        return {"rate": 5.0 if repetition <= 2 else 10.0 + repetition}

    record = build(parameters={"a": [1]}, metrics=[RATE], figures=figures, repetitions=9, outliers="extremes")
    assert summarise_run(record).cells[0].metrics["rate"].outlier_trials == (1, 9)


def test_a_stop_rule_is_called_sequential(build):
    until = {"metric": "rate", "within": "5%", "confidence": "95%"}
    summary = summarise_run(build(metrics=[RATE], figures=growing, until=until))
    goal = "stopped at the required precision (sequential: rate known within 5%"
    assert summary.sequential.startswith(goal)
    assert summarise_run(build(metrics=[RATE], figures=growing)).sequential == ""


def test_histograms_are_no_columns(build):
    whole = Metric("latency", "s", "lower", kind="histogram")
    assert [m.name for m in summarise_run(build(metrics=[whole, RATE], figures=growing)).metrics] == ["rate"]


@settings(max_examples=40, deadline=None, suppress_health_check=BUSY)
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=12))
def test_whatever_was_measured_the_summary_stands(build, values):
    def figures(cell, repetition, rng):
        return {"rate": values[repetition - 1]}

    record = build(parameters={"a": [1]}, metrics=[RATE], figures=figures, repetitions=len(values))
    one = summarise_run(record).cells[0].metrics["rate"]
    measurable = all(value == 0 or 1 / LARGEST <= abs(value) <= LARGEST for value in values)
    assert (one.summary is not None) == measurable
    if one.summary:
        assert one.summary.n == len(values)
        assert one.summary.minimum <= one.summary.median <= one.summary.maximum
        assert math.isfinite(one.summary.mean)
    else:
        assert "is not a measurement" in one.reason


P99 = latency_metrics("wait", "time")[3]


def test_a_quantile_of_too_few_samples_is_no_figure_and_says_so(build):
    record = build(
        parameters={"a": [1]},
        metrics=[P99],
        figures=lambda *_: {},
        short=lambda repetition: {"wait_p99": 30 + repetition},
    )
    one = summarise_run(record).cells[0].metrics["wait_p99"]
    assert one.summary is None
    assert one.reason == "wait_p99 needs 100 samples; 6 trials had 31 to 36"


def test_a_quantile_that_no_cell_has_samples_for_takes_no_column_unless_it_is_asked_for(build):
    run = {
        "parameters": {"a": [1, 2]},
        "metrics": latency_metrics("wait", "time"),
        "short": lambda repetition: {"wait_p99": 37},
    }

    def columns(figures, **more):
        summary = summarise_run(build(**run, figures=figures, **more))
        return [metric.name for metric in summary.list_columns(summary.primary)]

    assert columns(lambda *_: {"wait_p50": 0.1}) == ["wait_p50"]
    asked = ["wait_p99.median <= 1 s"]
    assert columns(lambda *_: {"wait_p50": 0.1}, require=asked) == ["wait_p99", "wait_p50"]


def test_a_quantile_that_is_all_there_is_keeps_its_column(build):
    record = build(
        parameters={"a": [1]}, metrics=[P99], figures=lambda *_: {}, short=lambda _: {"wait_p99": 37}
    )
    summary = summarise_run(record)
    assert list(summary.list_columns(summary.primary)) == [P99]


def test_trials_with_enough_samples_do_not_hide_those_without(build):
    record = build(
        parameters={"a": [1]},
        metrics=[P99],
        repetitions=7,
        figures=lambda cell, repetition, rng: {"wait_p99": 0.1} if repetition > 1 else {},
        short=lambda repetition: {"wait_p99": 37} if repetition == 1 else {},
    )
    one = summarise_run(record).cells[0].metrics["wait_p99"]
    assert (len(one.values), one.short_sample_counts) == (6, (37,))
    assert (
        explain_too_few(one.metric, one.short_sample_counts)
        == one.reason
        == "wait_p99 needs 100 samples; 1 trial had 37"
    )
    assert one.shown_summary is None, "those that have enough are the quick ones"
