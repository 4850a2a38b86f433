"""Whether a level of a search holds: as a requirement is judged, and what failures add to that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.keys.method import Repeat
from steelyard.model.keys.requirement import Requirement
from steelyard.model.metric import Mark
from steelyard.model.trial import Cell, Result, Trial
from steelyard.stats.condition import SMALLEST, TOO_MUCH, SearchRule, judge_level
from steelyard.stats.interval import smallest_n
from steelyard.stats.summary import summarise

CONDITION = Requirement.parse("latency <= 20 ms")


def results(*found: float | str) -> list[Result]:
    """A result for each: a figure, or the category of a failure, or the kind of a mark."""
    made = []
    for number, what in enumerate(found, 1):
        trial = Trial(Cell({"rate": 1}), number)
        if isinstance(what, float):
            made.append(Result(trial, "ok", 1.0, {"latency": what}))
        elif what in ("fallback", "disturbed", "incomplete"):
            mark: Any = Mark(what, "so")  # type: ignore[arg-type]
            made.append(Result(trial, "ok", 1.0, {"latency": 0.001}, (mark,)))
        else:
            made.append(Result(trial, "failed", 1.0, category=what))  # type: ignore[arg-type]
    return made


def judged(*found: float | str, text: str = "latency <= 20 ms") -> Any:
    return judge_level(Requirement.parse(text), results(*found))


@given(st.lists(st.floats(0.001, 0.1), min_size=6, max_size=20))
def test_without_failures_the_interval_is_that_of_a_requirement(values: list[float]) -> None:
    found, known = judged(*values), summarise(values)
    assert (found.value, found.interval) == (known.median, known.interval)
    assert known.interval is not None
    assert found.met == CONDITION.is_met_between(known.interval.low, known.interval.high)


@pytest.mark.parametrize(
    ("values", "met"),
    [([0.01] * 6, True), ([0.03] * 6, False), ([0.01] * 5 + [0.03], None), ([0.01] * 5, None), ([], None)],
)
def test_it_is_decided_by_the_whole_interval(values: Sequence[float], met: bool | None) -> None:
    assert judged(*values).met is met


@pytest.mark.parametrize("category", TOO_MUCH)
def test_a_failure_under_load_is_worse_than_any_figure(category: str) -> None:
    assert judged(*[category] * 6).met is False
    found = judged(*[0.01] * 8, category)
    assert (found.met, found.n, found.failed) == (True, 9, 1), "one of nine lies outside the interval"
    found = judged(*[0.01] * 5, category)
    assert (found.met, found.interval.high) == (None, math.inf)
    assert judged(*[900.0] * 5, category, text="latency >= 20 ms").interval.low == -math.inf


def test_what_fell_back_did_not_reach_the_level() -> None:
    found = judged(*["fallback"] * 6)
    assert (found.met, found.failed, found.left_out) == (False, 6, 0)


@pytest.mark.parametrize("what", ["tool-missing", "host-failed", "store-full", "disturbed", "incomplete"])
def test_what_says_nothing_of_the_level_does_not_count(what: str) -> None:
    found = judged(*[what] * 6)
    assert (found.met, found.n, found.left_out) == (None, 0, 6)
    assert judged(*[0.01] * 6, what).met is True


@pytest.mark.parametrize(
    ("text", "values", "met"),
    [
        ("latency.max <= 20 ms", [0.01, 0.03], False),
        ("latency.max <= 20 ms", [0.01], True),
        ("latency.max <= 20 ms", [0.01, "timed-out"], False),
        ("latency.min <= 20 ms", [0.01, "timed-out"], True),
        ("latency.mean <= 20 ms", [0.01, 0.01], True),
        ("latency.mean <= 20 ms", [0.01], None),
        ("latency.mean <= 20 ms", [0.01, 0.01, "crashed"], False),
        ("latency.mean <= 20 ms", [0.015, 0.025], None),
    ],
)
def test_mean_and_extremes(text: str, values: Sequence[Any], met: bool | None) -> None:
    assert judged(*values, text=text).met is met


def test_the_fewest_repetitions_are_those_of_the_interval() -> None:
    assert SMALLEST["median"] == smallest_n()


def rule(least: int, most: int, **more: Any) -> SearchRule:
    return SearchRule(CONDITION, Repeat.model_validate({"at_least": least, "at_most": most, **more}))


def test_an_undecided_level_is_measured_up_to_at_most_and_then_not_met() -> None:
    mixed = [0.01, 0.03] * 10
    assert rule(6, 10).is_met(results(*mixed[:6])) is None
    assert rule(6, 10).is_met(results(*mixed[:9])) is None
    assert rule(6, 10).is_met(results(*mixed[:10])) is False


def test_a_decided_level_is_left_at_once() -> None:
    assert rule(6, 10).is_met(results(*[0.01] * 5)) is None, "not before at_least"
    assert rule(6, 10).is_met(results(*[0.01] * 6)) is True
    assert rule(6, 10).is_met(results(*[0.03] * 6)) is False


def test_until_is_asked_of_levels_that_hold() -> None:
    until = {"metric": "latency", "within": "1%"}
    wide = [0.005, 0.010] * 10
    assert rule(6, 10, until=until).is_met(results(*wide[:9])) is None
    assert rule(6, 10, until=until).is_met(results(*wide[:10])) is True
    assert rule(6, 10, until=until).is_met(results(*[0.01] * 7)) is None
    assert rule(6, 10, until=until).is_met(results(*[0.01] * 8)) is True
    assert rule(6, 10, until=until).is_met(results(*[0.03, 0.09] * 3)) is False


@pytest.mark.parametrize("what", ["disturbed", "host-failed"])
def test_what_does_not_count_is_made_again(what: str) -> None:
    assert rule(6, 6).is_met(results(*[0.01] * 5, what)) is None
    assert rule(6, 6).is_met(results(*[0.01] * 5, what, 0.01)) is True
    assert rule(6, 6).count_repetitions(results(*[0.01] * 5, what)) == 5
    assert rule(6, 6).is_met(results(*[what] * 11)) is None
    assert rule(6, 6).is_met(results(*[what] * 12)) is False, "not for ever"
