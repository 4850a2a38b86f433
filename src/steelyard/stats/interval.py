"""Confidence intervals of one sample: of its median by ranks, of its mean by Student's t."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from steelyard.stats.beta import student_quantile
from steelyard.stats.sample import check_confidence, check_values, format_percent


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval, in the unit of the values.

    `confidence` is a ratio: what the ranks really achieve where `method` is exact (0.969 for n=6), and what
    was asked for where it is an approximation (`student t`, `bootstrap`).
    """

    low: float
    high: float
    confidence: float
    method: str

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class RankPair:
    """A pair of ranks, counted from 1 in ascending order, and the confidence that they achieve."""

    low: int
    high: int
    confidence: float


@lru_cache(maxsize=4096)
def median_ranks(n: int, confidence: float = 0.95, trimmed: int = 0) -> RankPair | None:
    """The narrowest symmetric pair of ranks that holds the median with at least `confidence`.

    The number of values below the population's median is binomial (n, 1/2) whatever the distribution, so
    ranks r and n+1-r hold it with the probability of r … n-r successes; ties only add to it. The steps are
    coarse, so what is achieved lies above what was asked: 96.9 % for n=6, 98.4 % for n=7, 99.2 % for n=8,
    96.1 % for n=9, 97.9 % for n=10. None when no pair achieves it, for 95 % below n=6.

    With `trimmed`, that many values at either end are unknown and their ranks cannot be used.

    Source: David & Nagaraja, Order Statistics, 3rd ed. (2003), section 7.1; Hahn & Meeker, Statistical
    Intervals (1991), section 5.2.
    """
    check_confidence(confidence)
    everything = 1 << n
    low = n // 2
    ways = math.comb(n, low)
    inside = 2 * ways if n % 2 else ways
    while low > 1 + trimmed and inside / everything < confidence:
        ways = ways * low // (n - low + 1)
        low -= 1
        inside += 2 * ways
    if low < 1 + trimmed or inside / everything < confidence:
        return None
    return RankPair(low, n + 1 - low, inside / everything)


def median_interval(
    values: Iterable[float], *, confidence: float = 0.95, trimmed: int = 0
) -> Interval | None:
    """The exact order-statistic interval of the median, or None where there is none (see `median_ranks`).

    `trimmed` says that the sample has already lost that many of its lowest and as many of its highest
    values. The interval then counts them in, because an interval of the rest alone would claim too much:
    6 values left of 8 hold the median with 93.0 %, not with the 96.9 % of an untouched sample of 6.

    Measured on 40,000 samples each: the interval covers what its ranks claim on normal, lognormal and bimodal
    data alike, 95.6 to 97.0 % for n=6, 9, 12, 15, 20, 30 and up to 99.3 % for n=7, 8, 10, where no pair of
    ranks comes closer. Repetitions that depend on each other break it, as they break every other
    interval: with a lag-1 correlation of 0.3, 0.5, 0.8 it covers about 91, 83 and 58 %. That is what
    `autocorrelation` looks for. `tests/stats/test_simulation.py` repeats all of this.

    Raises ValueError as `sample.check_values` does.
    """
    ordered = sorted(check_values(values))
    ranks = median_ranks(len(ordered) + 2 * trimmed, confidence, trimmed)
    if ranks is None:
        return None
    low, high = ordered[ranks.low - 1 - trimmed], ordered[ranks.high - 1 - trimmed]
    return Interval(low, high, ranks.confidence, "order statistics")


def smallest_n(confidence: float = 0.95, trimmed: int = 0) -> int:
    """The fewest values with which a median has an interval: 6 at 95 %, 8 at 99 %, 9 at 95 % trimmed by 1."""
    check_confidence(confidence)
    n = 2
    while median_ranks(n, confidence, trimmed) is None:
        n += 1
    return n


def explain_no_interval(n: int, confidence: float) -> str:
    """What is printed in an interval's place: 'no 95 % interval, n=3'."""
    return f"no {format_percent(confidence)} interval, n={n}"


def mean_interval(values: Iterable[float], *, confidence: float = 0.95) -> Interval | None:
    """Student's t interval of the mean; None below n=2.

    Exact for normal values only; skewed ones are covered less often (lognormal with sigma 0.5, n=6: about
    91 %), which is why the median and its ranks stand first everywhere in Steelyard.

    Source: Student, The Probable Error of a Mean, Biometrika 6 (1908).
    """
    numbers = check_values(values)
    check_confidence(confidence)
    n = len(numbers)
    if n < 2:
        return None
    mean, sd = mean_and_sd(numbers)
    reach = student_quantile(n - 1, 0.5 + confidence / 2) * (sd or 0.0) / math.sqrt(n)
    return Interval(mean - reach, mean + reach, confidence, "student t")


def mean_and_sd(numbers: list[float]) -> tuple[float, float | None]:
    """Mean and sample standard deviation (n-1 in the denominator); the latter is None for one value."""
    mean = math.fsum(numbers) / len(numbers)
    if len(numbers) < 2:
        return mean, None
    squares = math.fsum((number - mean) ** 2 for number in numbers)
    return mean, math.sqrt(squares / (len(numbers) - 1))
