from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.stats.interval import (
    Interval,
    explain_no_interval,
    mean_and_sd,
    mean_interval,
    median_interval,
    median_ranks,
    smallest_n,
)
from steelyard.stats.sample import median

numbers = st.lists(st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6), min_size=1, max_size=60)
confidences = st.floats(0.5, 0.999)


@pytest.mark.parametrize(
    ("n", "low", "achieved"),
    [(6, 1, 31 / 32), (7, 1, 63 / 64), (8, 1, 127 / 128), (9, 2, 0.9609375), (10, 2, 0.978515625)],
)
def test_ranks_for_few_repetitions(n: int, low: int, achieved: float) -> None:
    ranks = median_ranks(n)
    assert ranks is not None
    assert (ranks.low, ranks.high, ranks.confidence) == (low, n + 1 - low, achieved)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_no_interval_below_six(n: int) -> None:
    assert median_interval(range(n)) is None
    assert explain_no_interval(n, 0.95) == f"no 95 % interval, n={n}"


def test_smallest_sizes() -> None:
    assert [smallest_n(0.95), smallest_n(0.99), smallest_n(0.95, trimmed=1)] == [6, 8, 9]


@given(st.integers(1, 300), confidences, st.integers(0, 2))
def test_ranks_are_the_narrowest_that_reach(n: int, confidence: float, trimmed: int) -> None:
    """Against scipy's binomial distribution: reached, and one rank narrower would not be."""

    def reached(low: int) -> float:
        return float(stats.binom.cdf(n - low, n, 0.5) - stats.binom.cdf(low - 1, n, 0.5))

    ranks = median_ranks(n, confidence, trimmed)
    first = 1 + trimmed
    if ranks is None:
        assert first > n // 2 or reached(first) < confidence
        return
    assert ranks.low >= first
    assert ranks.confidence == pytest.approx(reached(ranks.low), abs=1e-9)
    assert ranks.confidence >= confidence
    assert ranks.low == n // 2 or reached(ranks.low + 1) < confidence + 1e-9


def test_a_large_sample_stays_cheap_and_right() -> None:
    ranks = median_ranks(100_001)
    assert ranks is not None
    assert ranks.high - ranks.low == pytest.approx(1.96 * math.sqrt(100_001), rel=0.01)


@given(numbers, confidences)
def test_interval_holds_the_samples_median(values: list[float], confidence: float) -> None:
    interval = median_interval(values, confidence=confidence)
    assert interval is None or median(sorted(values)) in interval


@given(st.lists(st.integers(-(10**6), 10**6), min_size=6, max_size=40), st.integers(1, 1000))
def test_interval_scales_with_the_unit(values: list[int], factor: int) -> None:
    here, scaled = median_interval(values), median_interval([value * factor for value in values])
    assert here is not None
    assert scaled == Interval(here.low * factor, here.high * factor, here.confidence, here.method)


def test_trimmed_values_are_counted_in() -> None:
    """9 values without their extremes: ranks 2 and 8 of the nine, with the confidence of nine."""
    whole, rest = median_interval(range(9)), median_interval(range(1, 8), trimmed=1)
    assert whole == rest == Interval(1, 7, 0.9609375, "order statistics")
    assert median_interval(range(1, 7), trimmed=1) is None


@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=40), confidences)
def test_mean_interval_is_students(values: list[float], confidence: float) -> None:
    interval = mean_interval(values, confidence=confidence)
    assert interval is not None
    mean, sd = mean_and_sd(values)
    assert sd is not None
    reach = stats.t.ppf(0.5 + confidence / 2, len(values) - 1) * sd / math.sqrt(len(values))
    assert interval.low == pytest.approx(mean - reach, rel=1e-9, abs=1e-6)
    assert interval.high == pytest.approx(mean + reach, rel=1e-9, abs=1e-6)


def test_one_value_has_no_mean_interval_and_no_sd() -> None:
    assert mean_interval([3.0]) is None
    assert mean_and_sd([3.0]) == (3.0, None)
