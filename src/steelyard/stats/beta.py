"""The incomplete beta function, and with it Student's t: what intervals and tests of means and shares need.

A library that has it (scipy) would be a third of an installation, which is much for one function. This is its
continued fraction (NIST Digital Library of Mathematical Functions, 8.17.22), evaluated from the front as
Lentz does (Applied Optics 15, 1976; with Thompson & Barnett's care for zeros, Journal of Computational
Physics 64, 1986). `tests/stats/test_beta.py` holds every function here against scipy's: they agree to eight
digits or more up to a million attempts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

_TINY = 1e-300
_PRECISION = 1e-15
_STEPS = 1_000_000  # it takes some multiple of the root of the larger parameter


@lru_cache(maxsize=4096)
def student_cdf(freedom: float, t: float) -> float:
    """The probability that Student's t of so many degrees of freedom is at most `t`."""
    square = t * t
    beyond = beta_cdf(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square)) / 2
    return beyond if t < 0 else 1 - beyond


@lru_cache(maxsize=4096)
def student_quantile(freedom: float, share: float) -> float:
    """The t that so much of the distribution does not exceed; `share` is between 0.5 and 1."""
    low, high = 0.0, 1.0
    while student_cdf(freedom, -high) > 1 - share:
        low, high = high, 2 * high
    return _bisect(lambda t: student_cdf(freedom, -t) <= 1 - share, low, high)


@lru_cache(maxsize=4096)
def beta_quantile(a: float, b: float, share: float) -> float:
    """The x at which `beta_cdf(a, b, x)` is `share`."""
    return _bisect(lambda x: beta_cdf(a, b, x, 1 - x) >= share, 0.0, 1.0)


def beta_cdf(a: float, b: float, x: float, rest: float) -> float:
    """The regularised incomplete beta function I_x(a, b); `rest` is 1 - x, which may be known better."""
    if x <= 0 or rest <= 0:
        return float(rest <= 0)
    if x > (a + 1) / (a + b + 2):  # beyond its mean it converges slowly, and its mirror image fast
        return 1 - beta_cdf(b, a, rest, x)
    ways = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    log_rest = math.log1p(-x) if x < 0.5 else math.log(rest)
    return math.exp(ways + a * math.log(x) + b * log_rest) / (a * _fraction(a, b, x))


def _fraction(a: float, b: float, x: float) -> float:
    """1 + d1 / (1 + d2 / (1 + …)) with the coefficients of 8.17.23."""
    value, above, below = 1.0, 1.0, 0.0
    for step in range(1, _STEPS):
        m, odd = divmod(step, 2)
        if odd:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        below = 1 / (1 + d * below or _TINY)
        above = 1 + d / above or _TINY
        value *= above * below
        if abs(above * below - 1) < _PRECISION:
            return value
    raise ArithmeticError(f"the incomplete beta function of {a}, {b} at {x} does not converge")


def _bisect(is_beyond: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition begins to hold, as exactly as numbers can say it."""
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if is_beyond(middle) else (middle, high)
    return high
