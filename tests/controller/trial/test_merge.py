"""What copies say together."""

from __future__ import annotations

import pytest

from steelyard.controller.trial.merge import drop_short, merge_readings
from steelyard.model.metric import Mark, Metric, Reading, latency_metrics

RATE = Metric("rate", "1/s", "higher")
LONGEST = Metric("longest", "s", "lower", over_copies="max")
LATENCY = latency_metrics("latency", "of a request")


def test_rates_add_up_and_the_longest_is_the_longest() -> None:
    readings = {"a": Reading({"rate": 2.0, "longest": 1.0}), "b": Reading({"rate": 3.0, "longest": 4.0})}
    assert merge_readings([RATE, LONGEST], readings).values == {"rate": 5.0, "longest": 4.0}


def test_a_figure_that_one_copy_lacks_is_left_out() -> None:
    readings = {"a": Reading({"rate": 2.0, "longest": 1.0}), "b": Reading({"longest": 4.0})}
    assert merge_readings([RATE, LONGEST], readings).values == {"longest": 4.0}


def test_percentiles_come_from_the_added_histograms_and_are_never_averaged() -> None:
    quick = Reading({"latency_p50": 1.0, "latency_p99": 1.0}, {"latency": {1.0: 990}})
    slow = Reading({"latency_p50": 9.0}, {"latency": {9.0: 10}})
    found = merge_readings(LATENCY, {"a": quick, "b": slow})
    assert found.histograms["latency"] == {1.0: 990, 9.0: 10}
    assert found.values["latency_p50"] == 1.0
    assert found.values["latency_p999"] == 9.0


def test_a_quantile_of_too_few_observations_is_no_figure() -> None:
    values = {"latency_p50": 1.0, "latency_p95": 2.0, "latency_p99": 3.0, "latency_p999": 4.0, "rate": 9.0}
    found = drop_short([RATE, *LATENCY], Reading(values, {"latency": {1.0: 99}}))
    assert set(found.values) == {"rate", "latency_p50", "latency_p95"}
    assert found.short == {"latency_p99": 99, "latency_p999": 99}
    enough = drop_short(LATENCY, Reading(values, {"latency": {1.0: 1000}}))
    assert (enough.values, enough.short) == (values, {})
    assert drop_short(LATENCY, Reading(values)).values == values, "its tool tells no number"


def test_copies_have_enough_observations_together() -> None:
    copies = {name: Reading({}, {"latency": {1.0: 60}}, short={"latency_p99": 60}) for name in "ab"}
    found = merge_readings(LATENCY, copies)
    assert "latency_p99" in found.values
    assert found.short == {"latency_p999": 120}


def test_a_copy_without_its_histogram_marks_the_percentiles_of_all() -> None:
    one, nothing = Reading(histograms={"latency": {1.0: 200}}), Reading(histograms={"latency": {}})
    assert not merge_readings(LATENCY, {"a": one, "b": nothing}).marks, "it had nothing to count"
    (mark,) = merge_readings(LATENCY, {"a": one, "b": Reading(), "c": one}).marks
    assert mark.kind == "incomplete"
    assert mark.reason == "percentiles of latency leave out b, which has no histogram of it"
    assert not merge_readings(LATENCY, {"a": Reading(), "b": Reading()}).marks, "its tool tells none"


def test_marks_say_for_which_copies_they_hold() -> None:
    shallow, busy = Mark("fallback", "depth 3 of 8"), Mark("disturbed", "busy")
    readings = {"a": Reading(marks=(shallow,)), "b": Reading(marks=(shallow, busy)), "c": Reading()}
    reasons = [mark.reason for mark in merge_readings([], readings).marks]
    assert reasons == ["2 of 3 copies: depth 3 of 8", "b: busy"]


@pytest.mark.parametrize("count", [1, 2])
def test_facts_of_several_copies_are_kept_by_copy(count: int) -> None:
    readings = {name: Reading(facts={"engine": name}) for name in "ab"[:count]}
    facts = merge_readings([], readings).facts
    assert facts == ({"engine": "a"} if count == 1 else {"a": {"engine": "a"}, "b": {"engine": "b"}})
