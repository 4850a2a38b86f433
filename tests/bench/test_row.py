"""The arithmetic of a comparison."""

from __future__ import annotations

import statistics

import pytest
from bench.row import Row, growth, minus, percentile, ratio
from hypothesis import given
from hypothesis import strategies as st

figures = st.lists(st.floats(1e-9, 1e6), min_size=1, max_size=9)


def test_ratio_goes_turn_by_turn() -> None:
    # The machine is ten times slower in the second turn, and so is the peer.
    assert ratio([2.0, 20.0, 2.0], [1.0, 10.0, 1.0]) == 2.0


def test_ratio_is_not_that_of_the_medians_where_turns_can_be_paired() -> None:
    ours, theirs = [1.0, 2.0, 9.0], [1.0, 4.0, 3.0]
    assert ratio(ours, theirs) == 1.0
    assert statistics.median(ours) / statistics.median(theirs) != 1.0


def test_ratio_of_medians_where_there_were_no_turns() -> None:
    assert ratio([4.0], [1.0, 2.0, 3.0]) == 2.0


@pytest.mark.parametrize("theirs", [[], [0.0], [1.0, -0.1]])
def test_no_ratio_to_nothing(theirs: list[float]) -> None:
    assert ratio([1.0], theirs) is None


@given(figures, st.floats(0.01, 100))
def test_ratio_to_a_multiple_of_itself(ours: list[float], factor: float) -> None:
    found = ratio([figure * factor for figure in ours], ours)
    assert found == pytest.approx(factor)


def test_minus_goes_turn_by_turn() -> None:
    assert minus([5.0, 7.0], [1.0, 2.0]) == (4.0, 5.0)


def test_minus_refuses_what_were_no_turns() -> None:
    with pytest.raises(ValueError, match="shorter"):
        minus([5.0, 7.0], [1.0])


def test_growth_leaves_out_what_is_paid_once() -> None:
    start, each = 1.5, 0.25
    assert growth(start + 1 * each, start + 20 * each, 19) == pytest.approx(each)


@pytest.mark.parametrize(
    ("ours", "limit", "verdict", "missed"),
    [
        ((1.0, 2.0, 9.0), 2.0, "within", False),  # the median counts, and the limit itself is allowed
        ((1.0, 2.1, 3.0), 2.0, "not within", True),
        ((1.0,), None, "no limit", False),
        ((), 2.0, "not measured", True),
    ],
)
def test_verdict(ours: tuple[float, ...], limit: float | None, verdict: str, missed: bool) -> None:
    row = Row("trial", "what", "1", ours, limit=limit)
    assert row.verdict == verdict
    assert row.missed is missed


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        ((2.0, 2.0), (2.0, 2.0), "within"),
        ((2.6, 2.6), (2.0, 2.0), "not within"),
        ((2.0, 2.0), (), "not measured"),  # without a peer there is no ratio
    ],
)
def test_a_limit_of_the_ratio(ours: tuple[float, ...], theirs: tuple[float, ...], verdict: str) -> None:
    assert Row("sessions", "what", "s", ours, "peer", theirs, most=1.2).verdict == verdict


def test_both_limits_count() -> None:
    row = Row("sessions", "what", "1", (2.0,), "peer", (4.0,), limit=1.0, most=1.2)
    assert row.verdict == "not within"


def test_no_limit_is_a_time() -> None:
    with pytest.raises(ValueError, match="`most`"):
        Row("start", "what", "s", (1.0,), limit=2.0)


@pytest.mark.parametrize(("percent", "expected"), [(0, 1.0), (50, 2.0), (75, 3.0), (99, 4.0), (100, 4.0)])
def test_percentile_is_one_of_the_figures(percent: float, expected: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], percent) == expected
