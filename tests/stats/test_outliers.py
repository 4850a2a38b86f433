from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.outliers import POLICIES, Policy, screen

CALM = [10.0, 10.2, 9.9, 10.1, 9.8, 10.3, 10.0]
numbers = st.lists(st.integers(-1000, 1000).map(float), min_size=1, max_size=30)
policies = st.sampled_from(POLICIES)


@pytest.mark.parametrize("policy", ["tukey", "mad"])
@pytest.mark.parametrize("outlier", [100.0, -100.0])
def test_a_far_value_is_dropped_and_the_order_kept(policy: Policy, outlier: float) -> None:
    screened = screen([*CALM[:3], outlier, *CALM[3:]], policy)
    assert screened.dropped == (outlier,)
    assert screened.kept == tuple(CALM)


@pytest.mark.parametrize("policy", ["none", "tukey", "mad"])
def test_calm_values_are_kept(policy: Policy) -> None:
    assert screen(CALM, policy).kept == tuple(CALM)


def test_the_fences_stand_where_tukey_put_them() -> None:
    """Quartiles of 0 … 8 are 2 and 6, so the upper fence is 12: on it is in, beyond it is out."""
    assert screen([*range(8), 12], "tukey").dropped == ()
    assert screen([*range(8), 12.5], "tukey").dropped == (12.5,)


def test_the_modified_z_score_cuts_at_3_5() -> None:
    """Median 4, MAD 2: the reach is 3.5 x 2 / 0.6745 = 10.38."""
    assert screen([*range(8), 14.3], "mad").dropped == ()
    assert screen([*range(8), 14.5], "mad").dropped == (14.5,)


def test_extremes_drops_one_of_each() -> None:
    screened = screen([5, 1, 9, 9, 1, 4], "extremes")
    assert screened.kept == (5, 9, 1, 4)
    assert screened.dropped == (1, 9)


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0]])
def test_extremes_leaves_fewer_than_three_alone(values: list[float]) -> None:
    assert screen(values, "extremes").kept == tuple(values)


@pytest.mark.parametrize("policy", ["tukey", "mad"])
def test_without_a_spread_nothing_is_an_outlier(policy: Policy) -> None:
    assert screen([0.0] * 9 + [1.0], policy).dropped == ()


def test_unknown_policy_is_named() -> None:
    with pytest.raises(ValueError, match="'sigma'; policies are none, tukey, mad, extremes"):
        screen(CALM, "sigma")  # type: ignore[arg-type]


@given(numbers, policies)
def test_nothing_is_lost_and_something_is_kept(values: list[float], policy: Policy) -> None:
    screened = screen(values, policy)
    assert sorted(screened.kept + screened.dropped) == sorted(values)
    assert screened.kept


@given(numbers, policies, st.integers(1, 50))
def test_units_do_not_matter(values: list[float], policy: Policy, power: int) -> None:
    """Scaling by a power of two is exact in floating point, so the same values must fall."""
    factor = 2.0**power
    scaled = screen([value * factor for value in values], policy)
    assert scaled.dropped == tuple(value * factor for value in screen(values, policy).dropped)
