"""The Mann-Whitney rank test of two samples, exact for the sizes that repetitions have."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.sample import check_values, doubled_midranks

EXACT_UP_TO = 60
"""Values in both samples together, up to which the exact distribution is computed (some milliseconds)."""


@dataclass(frozen=True, slots=True)
class RankTest:
    """The outcome of a two-sided Mann-Whitney test.

    `u` counts the pairs (a, b) with b above a, a tie as one half; without a difference it is about half of
    all pairs. `direction` is the sign of that deviation: 1 when b tends to be above a. `smallest_p` is the
    least p-value that samples of these sizes can have, reached by complete separation.
    """

    u: float
    direction: int
    p_value: float
    smallest_p: float
    exact: bool


def mann_whitney(a: Iterable[float], b: Iterable[float]) -> RankTest:
    """Test whether b tends to be above or below a.

    Up to 60 values in both samples together the p-value is exact: the share of all assignments of these
    values, ties included, to groups of these sizes whose U lies at least as far from its mean. Above that
    it is the normal approximation with corrections for ties and continuity.

    The test supposes independent repetitions and, as a test of equal medians, distributions of equal shape.

    Source: Mann & Whitney, Annals of Mathematical Statistics 18 (1947); ties as in Lehmann, Nonparametrics
    (1975), section 1.4. Raises ValueError as `sample.check_values` does.
    """
    first, second = check_values(a), check_values(b)
    n, m = len(first), len(second)
    doubled = doubled_midranks(first + second)
    # Twice the rank sum of b, less the least it could be, is twice U: whole numbers, so nothing is rounded.
    twice_u = sum(doubled[n:]) - m * (m + 1)
    exact = n + m <= EXACT_UP_TO
    p_value = _exact_p(tuple(sorted(doubled)), n, m, twice_u) if exact else _normal_p(doubled, n, m, twice_u)
    direction = (twice_u > n * m) - (twice_u < n * m)
    return RankTest(twice_u / 2, direction, p_value, min(1.0, 2 / math.comb(n + m, n)), exact)


def _exact_p(ordered_doubled: tuple[int, ...], n: int, m: int, twice_u: int) -> float:
    counts = _rank_sums(ordered_doubled, m)
    distance = np.abs(np.arange(len(counts)) - m * (m + 1) - n * m)
    as_far = counts[distance >= abs(twice_u - n * m)].sum()
    return min(1.0, float(as_far / counts.sum()))


@lru_cache(maxsize=256)
def _rank_sums(doubled: tuple[int, ...], size: int) -> NDArray[np.float64]:
    """How many subsets of `size` ranks have each sum; the index is the sum of the doubled ranks."""
    counts = np.zeros((size + 1, sum(doubled) + 1))
    counts[0, 0] = 1
    for rank in doubled:
        counts[1:, rank:] += counts[:-1, :-rank]
    return np.array(counts[size])


def _normal_p(doubled: Sequence[int], n: int, m: int, twice_u: int) -> float:
    total = n + m
    ties = sum(count**3 - count for count in Counter(doubled).values())
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance == 0:
        return 1.0
    # 1/2 is the continuity correction: U moves in steps of one.
    z = max(0.0, abs(twice_u - n * m) / 2 - 0.5) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))
