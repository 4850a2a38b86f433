from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.comparison import compare

OLD = [100, 101, 99, 102, 98, 100]
NEW = [90, 91, 89, 92, 88, 90]
samples = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=12)


def test_figures_of_a_clear_change() -> None:
    comparison = compare(OLD, NEW, better="higher")
    assert (comparison.median_a, comparison.median_b) == (100, 90)
    assert (comparison.ratio, comparison.difference, comparison.direction) == (0.9, -10, -1)
    assert comparison.p_value == pytest.approx(2 / 924)
    assert comparison.ratio_interval is not None
    assert comparison.ratio_interval.low < 0.9 < comparison.ratio_interval.high < 1
    assert comparison.has_agreeing_interval


@pytest.mark.parametrize("odd", [0, -5])
def test_without_positive_values_the_difference_speaks(odd: float) -> None:
    comparison = compare([odd, 1, 2, 3, 4, 5], [21, 22, 23, 24, 25, 26], better="lower")
    assert (comparison.ratio, comparison.ratio_interval) == (None, None)
    assert comparison.ratio_reason == f"no ratio: a value is {odd}, and ratios need values above zero"
    assert comparison.difference == 21
    assert comparison.has_agreeing_interval


def test_too_few_still_give_the_ratio_but_no_interval() -> None:
    comparison = compare(OLD[:5], NEW, better="higher")
    assert comparison.ratio == 0.9
    assert (comparison.ratio_interval, comparison.difference_interval) == (None, None)
    assert (comparison.p_value, comparison.is_testable, comparison.has_agreeing_interval) == (
        None,
        False,
        False,
    )


@given(samples, samples)
def test_exchange_turns_everything_round(a: list[float], b: list[float]) -> None:
    here, back = compare(a, b, better="higher"), compare(b, a, better="higher")
    assert here.direction == -back.direction
    assert here.difference == -back.difference
    assert here.p_value == pytest.approx(back.p_value)
    assert (here.ratio is None) == (back.ratio is None) == (min(a + b) <= 0)
