from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.stats.over_time.autocorrelation import change, find_alarms, independence, lag1

sequences = st.lists(st.integers(-1000, 1000).map(float), min_size=1, max_size=30)


def test_a_ramp_is_a_drift_with_its_size() -> None:
    (up,), (down,) = find_alarms([range(8, 16)]), find_alarms([range(15, 7, -1)])
    assert up is not None
    assert down is not None
    assert (up.kind, up.size) == ("drift", pytest.approx(7 / 11.5))
    assert (down.kind, down.size) == ("drift", pytest.approx(-7 / 11.5))
    assert up.adjusted_p == pytest.approx(4 / 40320, rel=0.01)


def test_slow_waves_are_neighbours_that_are_alike_and_say_how_much_too_narrow_intervals_are() -> None:
    wave = np.sin(np.linspace(0, 4 * np.pi, 30))
    (found,) = find_alarms([wave.tolist()])
    assert found is not None
    assert found.kind == "neighbours"
    correlation = lag1(wave.tolist())
    assert found.size == pytest.approx(np.sqrt((1 + correlation) / (1 - correlation)) - 1)


def test_alternation_narrows_no_interval_and_gives_no_alarm() -> None:
    assert find_alarms([[1, 2] * 10]) == [None]


def test_a_family_raises_no_more_alarms_for_being_large() -> None:
    ramp, calm = list(range(1, 7)), [3.0, 1, 4, 1.5, 5, 2]
    assert find_alarms([ramp])[0] is not None
    assert find_alarms([ramp, *[calm] * 50]) == [None] * 51


@pytest.mark.parametrize("values", [[1.0], [1, 2], [5.0] * 20, [1, 2, 3, 4, 5]])
def test_constant_or_few_values_cannot_be_judged(values: list[float]) -> None:
    found = independence(values)
    assert (found.neighbours_p, found.trend_p) == (None, None)
    assert find_alarms([values]) == [None]


def test_a_change_is_no_share_of_a_median_at_zero() -> None:
    assert change([-1.0, 0.0, 1.0]) is None
    assert change([10.0, 11.0, 99.0, 13.0]) == pytest.approx(3 / 12)


def test_lag1_is_the_textbook_sum() -> None:
    assert lag1([1, 2, 3, 4]) == pytest.approx((1.5 * 0.5 - 0.5 * 0.5 + 0.5 * 1.5) / 5)


@given(st.lists(st.integers(0, 10**6), min_size=8, max_size=30, unique=True))
def test_the_trend_is_kendalls(values: list[int]) -> None:
    exact = stats.kendalltau(range(len(values)), values, method="exact")
    assert independence(values).trend_p == pytest.approx(exact.pvalue)


def test_with_ties_or_many_values_the_trend_is_near_kendalls() -> None:
    """scipy's asymptotic test has no continuity correction: ours is the same score made smaller."""
    many = np.random.default_rng(1).normal(size=80).tolist()
    for values in (many, [1.0, 1, 2, 3, 2, 4, 5, 5]):
        tau = stats.kendalltau(range(len(values)), values, method="asymptotic")
        found = independence(values).trend_p
        assert found is not None
        assert tau.pvalue <= found <= tau.pvalue + 0.03


def test_the_neighbour_test_is_near_its_exact_distribution() -> None:
    """All 5,040 orders of 7 values: at most 1 % of them may be called dependent at 1 %."""
    p_values = [independence(order).neighbours_p for order in itertools.permutations(range(7))]
    small = sum(p is not None and p <= 0.01 for p in p_values) / len(p_values)
    assert 0.002 < small <= 0.01


@given(sequences, st.integers(-100, 100), st.integers(0, 20))
def test_units_do_not_matter(values: list[float], shift: int, power: int) -> None:
    here, moved = independence(values), independence([(value + shift) * 2.0**power for value in values])
    assert (here.trend_p, here.neighbours_p) == (moved.trend_p, moved.neighbours_p)
    assert here.lag1 == pytest.approx(moved.lag1, abs=1e-9)
    assert here.lag1 is None or -1 <= here.lag1 <= 1


@given(sequences)
def test_reversal_turns_a_trend_and_keeps_the_rest(values: list[float]) -> None:
    here, back = independence(values), independence(values[::-1])
    assert here.trend_p == back.trend_p
    assert here.neighbours_p == pytest.approx(back.neighbours_p)
