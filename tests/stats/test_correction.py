from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.stats.correction import benjamini_hochberg, holm

p_lists = st.lists(st.floats(0, 1), max_size=30)


def test_holm_by_hand() -> None:
    """Ascending 0.01 x 4, 0.02 x 3, 0.03 x 2, 0.5 x 1, each at least its predecessor."""
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])


def test_none_and_one_are_left_alone() -> None:
    assert (holm([]), benjamini_hochberg([])) == ([], [])
    assert (holm([0.3]), benjamini_hochberg([0.3])) == ([0.3], [0.3])


@given(p_lists.filter(len))
def test_benjamini_hochberg_is_scipys(p_values: list[float]) -> None:
    assert benjamini_hochberg(p_values) == pytest.approx(list(stats.false_discovery_control(p_values)))


@given(p_lists)
def test_adjusting_keeps_the_order_and_never_helps(p_values: list[float]) -> None:
    for adjust in (holm, benjamini_hochberg):
        adjusted = adjust(p_values)
        assert all(p <= after <= 1 for p, after in zip(p_values, adjusted, strict=True))
        by_p = [after for _, after in sorted(zip(p_values, adjusted, strict=True))]
        assert by_p == sorted(by_p)


@given(p_lists)
def test_holm_lies_between_benjamini_hochberg_and_bonferroni(p_values: list[float]) -> None:
    bounds = zip(benjamini_hochberg(p_values), holm(p_values), p_values, strict=True)
    for lower, adjusted, p in bounds:
        assert lower - 1e-12 <= adjusted <= min(1, p * len(p_values))


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_what_is_no_probability_is_refused(adjust: object, bad: float) -> None:
    with pytest.raises(ValueError, match="not between 0 and 1"):
        adjust([0.5, bad])  # type: ignore[operator]
