from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.stats.autocorrelation import independence, lag1

sequences = st.lists(st.integers(-1000, 1000).map(float), min_size=1, max_size=30)


def test_a_ramp_is_called_a_drift_with_its_direction() -> None:
    assert "drift upwards" in independence(range(8)).warning
    assert "drift downwards" in independence(range(8, 0, -1)).warning


def test_slow_waves_are_neighbours_that_resemble_each_other() -> None:
    wave = np.sin(np.linspace(0, 4 * np.pi, 30))
    found = independence(wave.tolist())
    assert "neighbouring repetitions resemble each other" in found.warning
    assert found.lag1 is not None
    assert found.lag1 > 0.8


def test_alternation_narrows_no_interval_and_gives_no_warning() -> None:
    assert independence([1, 2] * 10).warning == ""


@pytest.mark.parametrize("values", [[1.0], [1, 2], [5.0] * 20, [1, 2, 3, 4, 5]])
def test_constant_or_few_values_cannot_be_judged(values: list[float]) -> None:
    found = independence(values)
    assert (found.neighbours_p, found.trend_p, found.warning) == (None, None, "")


def test_lag1_is_the_textbook_sum() -> None:
    assert lag1([1, 2, 3, 4]) == pytest.approx((1.5 * 0.5 - 0.5 * 0.5 + 0.5 * 1.5) / 5)


@given(st.lists(st.integers(0, 10**6), min_size=8, max_size=30, unique=True))
def test_the_trend_is_kendalls(values: list[int]) -> None:
    """scipy's asymptotic Kendall has no continuity correction: ours must be the same score made smaller."""
    tau = stats.kendalltau(range(len(values)), values, method="asymptotic")
    found = independence(values)
    assert found.trend_p is not None
    assert found.trend_p >= tau.pvalue - 1e-12
    exact = stats.kendalltau(range(len(values)), values, method="exact")
    assert found.trend_p == pytest.approx(exact.pvalue, abs=0.03)


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
    assert ("upwards" in here.warning) == ("downwards" in back.warning)
