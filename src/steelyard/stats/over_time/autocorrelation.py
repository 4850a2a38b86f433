"""Whether repetitions look independent, which every interval and test here supposes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Literal

from steelyard.stats.correction import holm
from steelyard.stats.sample import check_values, doubled_midranks, median

SMALLEST_SAMPLE = 6
ALPHA = 0.05
_EXACT_UP_TO = 60


@dataclass(frozen=True, slots=True)
class Independence:
    """How repetitions, in the order in which they were made, depend on each other.

    `lag1` is the correlation of each with the next (-1 … 1; about -1/n without any dependence), None for
    constant or fewer than 3 values. `neighbours_p` and `trend_p` are the p-values of the two tests, None
    below 6 values.
    """

    n: int
    lag1: float | None
    neighbours_p: float | None
    trend_p: float | None


@dataclass(frozen=True, slots=True)
class Alarm:
    """What makes the intervals of a series too narrow: a `drift` over it, or `neighbours` that are alike.

    `adjusted_p` is Holm's. `size`: how far the values went from the first to the last, as a share of their
    median (-0.05: down by 5 %), or by how much too narrow neighbours make an interval (0.2: it should be 1.2
    times as wide). None where that cannot be told.
    """

    kind: Literal["drift", "neighbours"]
    adjusted_p: float
    size: float | None


def find_alarms(series: Sequence[Sequence[float]], *, alpha: float = ALPHA) -> list[Alarm | None]:
    """Which of these series drift, or have neighbours that are alike: the worse for each, or None.

    Both tests of all series are one family under Holm's correction, so that among any number of series that
    do neither, an alarm is raised with a probability of `alpha` at most: see `alarms.drift` in
    `analysis/claims.json`. Raises ValueError as `sample.check_values` does.
    """
    results = [independence(values) for values in series]
    adjusted = _adjust_all([p for one in results for p in (one.trend_p, one.neighbours_p)])
    return [
        _alarm(values, one, trend, neighbours, alpha)
        for values, one, trend, neighbours in zip(series, results, adjusted[::2], adjusted[1::2], strict=True)
    ]


def _adjust_all(tests: Sequence[float | None]) -> list[float]:
    """P-values after Holm's correction; a test that could not be made alarms nobody, and is none of them."""
    corrected = iter(holm([p for p in tests if p is not None]))
    return [1.0 if p is None else next(corrected) for p in tests]


def _alarm(
    values: Sequence[float], found: Independence, trend: float, neighbours: float, alpha: float
) -> Alarm | None:
    if trend <= alpha:
        return Alarm("drift", trend, change(values))
    if neighbours <= alpha:
        return Alarm("neighbours", neighbours, _estimate_narrowing(found.lag1))
    return None


def _estimate_narrowing(correlation: float | None) -> float | None:
    """By how much an interval should be wider where each value keeps this share of the one before."""
    if correlation is None or not 0 < correlation < 1:
        return None
    return math.sqrt((1 + correlation) / (1 - correlation)) - 1


def change(values: Sequence[float]) -> float | None:
    """How far values go from the first to the last, as a share of their median; None where that is no share.

    The median slope of all pairs, which outliers hardly move. Source: Theil, A Rank-Invariant Method of
    Linear and Polynomial Regression Analysis (1950); Sen, Journal of the American Statistical Association 63
    (1968).
    """
    middle = median(sorted(values))
    if middle <= 0 or len(values) < 2:
        return None
    slopes = [
        (later - earlier) / (after - place)
        for place, earlier in enumerate(values)
        for after, later in enumerate(values[place + 1 :], start=place + 1)
    ]
    return median(sorted(slopes)) * (len(values) - 1) / middle


def independence(values: Iterable[float]) -> Independence:
    """Test for drift and for neighbours that resemble each other, in the order of measurement.

    Two tests on ranks, so that no distribution is supposed: Mann-Kendall for a trend (two-sided; exact up to
    60 values without ties), and the rank version of von Neumann's ratio for neighbours that are too alike
    (one-sided, because only that makes intervals too narrow).

    Silence proves little. In a series asked alone, `find_alarms` notices a lag-1 correlation of 0.8 in 16, 42
    and 86 % (n=6, 10, 20), one of 0.5 in 9, 20 and 49 %. Many short cells of one run are better asked
    together: each value divided by its cell's median, in the order in which the trials were made.
    `tests/stats/test_simulation.py` repeats it.

    Source: Mann, Econometrica 13 (1945); Kendall, Rank Correlation Methods (1975); Bartels, The Rank
    Version of von Neumann's Ratio Test, Journal of the American Statistical Association 77 (1982).
    Raises ValueError as `sample.check_values` does.
    """
    numbers = check_values(values)
    correlation = lag1(numbers)
    if len(numbers) < SMALLEST_SAMPLE or correlation is None:
        return Independence(len(numbers), correlation, None, None)
    return Independence(len(numbers), correlation, _neighbours_p(numbers), _trend_p(numbers))


def lag1(numbers: Sequence[float]) -> float | None:
    """The lag-1 autocorrelation; None for constant values and for fewer than 3.

    Source: Box & Jenkins, Time Series Analysis (1970), section 2.1.
    """
    if len(numbers) < 3 or min(numbers) == max(numbers):
        return None
    mean = math.fsum(numbers) / len(numbers)
    # Scaled first, so that the squares of tiny deviations do not vanish.
    widest = max(abs(number - mean) for number in numbers)
    away = [(number - mean) / widest for number in numbers]
    products = math.fsum(here * after for here, after in pairwise(away))
    return products / math.fsum(deviation**2 for deviation in away)


def _neighbours_p(numbers: list[float]) -> float:
    n = len(numbers)
    ranks = doubled_midranks(numbers)
    steps = sum((after - here) ** 2 for here, after in pairwise(ranks))
    ratio = steps / sum((rank - (n + 1)) ** 2 for rank in ranks)
    variance = 4 * (n - 2) * (5 * n * n - 2 * n - 9) / (5 * n * (n + 1) * (n - 1) ** 2)
    return math.erfc((2 - ratio) / math.sqrt(2 * variance)) / 2


def _trend_p(numbers: list[float]) -> float:
    """Mann-Kendall's two-sided p-value; with ties or many values approximate, corrected for both."""
    n = len(numbers)
    score = sum(
        (later > earlier) - (later < earlier)
        for position, earlier in enumerate(numbers)
        for later in numbers[position + 1 :]
    )
    counts = Counter(numbers)
    if len(counts) == n <= _EXACT_UP_TO:
        return min(1.0, 2 * _share_of_orders(n, (n * (n - 1) // 2 - abs(score)) // 2))
    ties = sum(count * (count - 1) * (2 * count + 5) for count in counts.values())
    variance = (n * (n - 1) * (2 * n + 5) - ties) / 18
    return math.erfc(max(0, abs(score) - 1) / math.sqrt(2 * variance))


@lru_cache(maxsize=1024)
def _share_of_orders(n: int, inversions: int) -> float:
    """The share of all orders of n values that have at most so many inversions."""
    ways = [1] + [0] * inversions
    for values in range(2, n + 1):
        sums = list(accumulate(ways))
        ways = [total - (sums[at - values] if at >= values else 0) for at, total in enumerate(sums)]
    return sum(ways) / math.factorial(n)
