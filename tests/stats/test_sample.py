from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.stats.sample import (
    check_confidence,
    check_values,
    doubled_midranks,
    format_percent,
    median,
    quantile,
)

numbers = st.lists(st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-9), min_size=1, max_size=40)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e151, -1e200, 5e-324, 10**400])
def test_what_is_no_measurement_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="measurement"):
        check_values([1.0, bad])


def test_empty_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        check_values([])


def test_order_and_zero_survive() -> None:
    assert check_values(iter([3, 0, -1])) == [3.0, 0.0, -1.0]


@pytest.mark.parametrize("bad", [0, 1, 95, -0.1, math.nan])
def test_confidence_is_a_ratio(bad: float) -> None:
    with pytest.raises(ValueError, match="not between 0 and 1"):
        check_confidence(bad)


def test_percent_is_printed_without_noise() -> None:
    assert [format_percent(0.95), format_percent(0.999), format_percent(0.07)] == ["95 %", "99.9 %", "7 %"]


@given(numbers)
def test_median_is_numpys(values: list[float]) -> None:
    assert median(sorted(values)) == pytest.approx(float(np.median(values)), rel=1e-12, abs=1e-12)


@given(numbers, st.floats(0, 1))
def test_quantile_is_numpys(values: list[float], q: float) -> None:
    expected = float(np.quantile(values, q))
    assert quantile(sorted(values), q) == pytest.approx(expected, rel=1e-9, abs=1e-6)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_midranks_are_scipys(values: list[int]) -> None:
    assert doubled_midranks(values) == [int(2 * rank) for rank in stats.rankdata(values)]
