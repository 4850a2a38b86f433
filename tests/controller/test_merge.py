"""What copies say together."""

from __future__ import annotations

import pytest

from steelyard.controller.merge import merged
from steelyard.model.metric import Mark, Metric, Reading, latency_metrics

RATE = Metric("rate", "1/s", "higher")
LONGEST = Metric("longest", "s", "lower", over_copies="max")
LATENCY = latency_metrics("latency", "of a request")


def test_rates_add_up_and_the_longest_is_the_longest() -> None:
    readings = {"a": Reading({"rate": 2.0, "longest": 1.0}), "b": Reading({"rate": 3.0, "longest": 4.0})}
    assert merged([RATE, LONGEST], readings).values == {"rate": 5.0, "longest": 4.0}


def test_a_figure_that_one_copy_lacks_is_left_out() -> None:
    readings = {"a": Reading({"rate": 2.0, "longest": 1.0}), "b": Reading({"longest": 4.0})}
    assert merged([RATE, LONGEST], readings).values == {"longest": 4.0}


def test_percentiles_come_from_the_added_histograms_and_are_never_averaged() -> None:
    quick = Reading({"latency_p50": 1.0, "latency_p99": 1.0}, {"latency": {1.0: 990}})
    slow = Reading({"latency_p50": 9.0, "latency_p99": 9.0}, {"latency": {9.0: 10}})
    found = merged(LATENCY, {"a": quick, "b": slow})
    assert found.histograms["latency"] == {1.0: 990, 9.0: 10}
    assert found.values["latency_p50"] == 1.0
    assert found.values["latency_p999"] == 9.0


def test_marks_say_for_which_copies_they_hold() -> None:
    shallow, busy = Mark("fallback", "depth 3 of 8"), Mark("disturbed", "busy")
    readings = {"a": Reading(marks=(shallow,)), "b": Reading(marks=(shallow, busy)), "c": Reading()}
    reasons = [mark.reason for mark in merged([], readings).marks]
    assert reasons == ["2 of 3 copies: depth 3 of 8", "b: busy"]


@pytest.mark.parametrize("count", [1, 2])
def test_facts_of_several_copies_are_kept_by_copy(count: int) -> None:
    readings = {name: Reading(facts={"engine": name}) for name in "ab"[:count]}
    facts = merged([], readings).facts
    assert facts == ({"engine": "a"} if count == 1 else {"a": {"engine": "a"}, "b": {"engine": "b"}})
