"""Whether two figures put the same things in the same order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from steelyard.stats.beta import student_cdf
from steelyard.stats.sample import check_values, doubled_midranks

SMALLEST = 3
EXACT_UP_TO = 8
"""Pairs up to which every order is looked at: 8! are 40,320."""


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """`rho` is 1 for the same order and -1 for the opposite one; None where all values of one side are equal.

    `p_value` is two-sided: how often chance alone gives as strong an order; None without `rho`.
    """

    n: int
    rho: float | None
    p_value: float | None


def spearman(a: Sequence[float], b: Sequence[float]) -> RankCorrelation:
    """Spearman's rank correlation of pairs; ties share the mean of their ranks.

    The p-value is exact up to 8 pairs (over all orders) and Student's t above.

    Source: Spearman, The Proof and Measurement of Association between Two Things, American Journal of
    Psychology 15 (1904); ties and t as in Kendall & Gibbons, Rank Correlation Methods, 5th ed. (1990).
    Raises ValueError as `sample.check_values` does, for fewer than 3 pairs and for unequal numbers.
    """
    if len(a) != len(b) or len(a) < SMALLEST:
        raise ValueError(f"a rank correlation needs at least {SMALLEST} pairs, not {len(a)} and {len(b)}")
    first, second = _centre_ranks(check_values(a)), _centre_ranks(check_values(b))
    scale = math.sqrt(_dot(first, first) * _dot(second, second))
    if scale == 0:
        return RankCorrelation(len(a), None, None)
    rho = max(-1.0, min(1.0, _dot(first, second) / scale))
    p_value = _exact_p(first, second) if len(a) <= EXACT_UP_TO else _student_p(rho, len(a))
    return RankCorrelation(len(a), rho, p_value)


def _centre_ranks(values: list[float]) -> list[int]:
    """Doubled ranks about their mean: whole numbers, so that equal orders are found equal."""
    return [rank - (len(values) + 1) for rank in doubled_midranks(values)]


def _dot(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _exact_p(a: list[int], b: list[int]) -> float:
    strength = abs(_dot(a, b))
    return sum(abs(_dot(a, order)) >= strength for order in permutations(b)) / math.factorial(len(b))


def _student_p(rho: float, n: int) -> float:
    if abs(rho) == 1:
        return 2 / math.factorial(n)
    return 2 * student_cdf(n - 2, -abs(rho) * math.sqrt((n - 2) / (1 - rho * rho)))
