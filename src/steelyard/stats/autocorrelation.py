"""Whether repetitions look independent, which every interval and test here supposes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from steelyard.stats.sample import checked, doubled_midranks

SMALLEST_SAMPLE = 6


@dataclass(frozen=True, slots=True)
class Independence:
    """How repetitions, in the order in which they were made, depend on each other.

    `lag1` is the correlation of each with the next (-1 … 1; about -1/n without any dependence), None for
    constant or fewer than 3 values. `neighbours_p` and `trend_p` are the p-values of the two tests, None
    below 6 values. `warning` is a sentence for people, empty when there is nothing to warn of.
    """

    n: int
    lag1: float | None
    neighbours_p: float | None
    trend_p: float | None
    warning: str


def independence(values: Iterable[float], *, alpha: float = 0.01) -> Independence:
    """Look for drift and for neighbours that resemble each other, in the order of measurement.

    Two tests on ranks, so that no distribution is supposed: Mann-Kendall for a trend (two-sided), and the
    rank version of von Neumann's ratio for neighbours that are too alike (one-sided, because only that
    makes intervals too narrow). `alpha` holds for each test and is strict, because a report asks it of
    every cell: independent repetitions are warned of in 0.4 % (n=6) to 1.4 % (n=20).

    Silence proves little. A lag-1 correlation of 0.8 is noticed in 3, 25 and 77 % (n=6, 10, 20), one of 0.5
    in 1, 9 and 34 %. Many short cells of one run are better asked together: each value divided by its cell's
    median, in the order in which the trials were made. `tests/stats/test_simulation.py` repeats it.

    Source: Mann, Econometrica 13 (1945); Kendall, Rank Correlation Methods (1975); Bartels, The Rank
    Version of von Neumann's Ratio Test, Journal of the American Statistical Association 77 (1982).
    Raises ValueError as `sample.checked` does.
    """
    numbers = checked(values)
    correlation = lag1(numbers)
    if len(numbers) < SMALLEST_SAMPLE or correlation is None:
        return Independence(len(numbers), correlation, None, None, "")
    neighbours, (trend, sign) = _neighbours_p(numbers), _trend_p(numbers)
    warning = ""
    if trend <= alpha:
        warning = f"the repetitions drift {'upwards' if sign > 0 else 'downwards'} (trend p={trend:.2g})"
    elif neighbours <= alpha:
        warning = f"neighbouring repetitions resemble each other (lag-1 correlation {correlation:.2f})"
    if warning:
        warning += "; the intervals are too narrow"
    return Independence(len(numbers), correlation, neighbours, trend, warning)


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


def _trend_p(numbers: list[float]) -> tuple[float, int]:
    """Mann-Kendall's two-sided p-value, with corrections for ties and continuity, and the trend's sign."""
    n = len(numbers)
    score = sum(
        (later > earlier) - (later < earlier)
        for position, earlier in enumerate(numbers)
        for later in numbers[position + 1 :]
    )
    ties = sum(count * (count - 1) * (2 * count + 5) for count in Counter(numbers).values())
    variance = (n * (n - 1) * (2 * n + 5) - ties) / 18
    z = max(0, abs(score) - 1) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2)), (score > 0) - (score < 0)
