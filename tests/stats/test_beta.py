"""Our one special function says what scipy's says."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from steelyard.stats.beta import beta_cdf, beta_quantile, student_cdf, student_quantile

FREEDOMS = (1, 2, 3, 4, 5, 10, 19, 58, 200, 1000, 10_000, 1_000_000)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_student_cdf(freedom: int) -> None:
    for t in (0.0, 1e-9, 1e-3, 0.1, 0.5, 1, 1.96, 2.5, 4, 10, 37, 1e3):
        for side in (-t, t):
            assert student_cdf(freedom, side) == pytest.approx(
                special.stdtr(freedom, side), rel=1e-8, abs=1e-300
            )


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_student_quantile(freedom: int) -> None:
    for confidence in (0.001, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 1 - 0.05 / 400):
        share = 0.5 + confidence / 2
        assert student_quantile(freedom, share) == pytest.approx(special.stdtrit(freedom, share), rel=1e-8)


@given(st.integers(1, 400), st.floats(-200, 200))
def test_student_of_any(freedom: int, t: float) -> None:
    assert student_cdf(freedom, t) == pytest.approx(special.stdtr(freedom, t), rel=1e-8, abs=1e-300)


@given(st.floats(0.5, 1e4), st.floats(0.5, 1e4), st.floats(0, 1))
def test_beta_of_any(a: float, b: float, x: float) -> None:
    wanted = special.betainc(a, b, x)
    assert beta_cdf(a, b, x, 1 - x) == pytest.approx(wanted, rel=1e-8, abs=1e-14)


@pytest.mark.parametrize("of", [1, 2, 6, 37, 100, 1000, 50_000, 1_000_000])
@pytest.mark.parametrize("tail", [0.025, 0.005])
def test_ends_of_binomial_intervals(of: int, tail: float) -> None:
    for hits in sorted({1, of // 1000, of // 7, of // 2, of - 1, of} - {0}):
        low, high = (hits, of - hits + 1, tail), (hits + 1, of - hits, 1 - tail)
        assert beta_quantile(*low) == pytest.approx(special.betaincinv(*low), rel=1e-8)
        if hits < of:
            assert beta_quantile(*high) == pytest.approx(special.betaincinv(*high), rel=1e-8)


def test_what_is_known_without_any_library() -> None:
    """With one degree of freedom it is Cauchy's; after 0 of n the upper end is 1 - tail ** (1 / n)."""
    assert student_cdf(1, -1.0) == pytest.approx(0.25, rel=1e-14)
    assert student_quantile(1, 0.975) == pytest.approx(math.tan(math.pi * 0.475), rel=1e-12)
    assert beta_quantile(1, 100, 0.975) == pytest.approx(1 - 0.025 ** (1 / 100), rel=1e-12)
    assert (beta_cdf(2, 3, 0.0, 1.0), beta_cdf(2, 3, 1.0, 0.0)) == (0.0, 1.0)
