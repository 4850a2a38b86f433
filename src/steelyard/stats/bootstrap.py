"""Bootstrap intervals: of the ratio and difference of two medians, and of any derived figure.

For two medians nothing is drawn at random. All n**n resamples of n values can be summed up in closed form, so
the same numbers give the same interval without a seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.interval import Interval
from steelyard.stats.sample import SMALLEST_SAMPLE, check_confidence, check_values

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CLOSED_FORM_UP_TO = 100
POINTS = 400
"""A median's distribution keeps at most this many points, so that two of them meet in 160,000 at most."""


def ratio_of_medians(a: Iterable[float], b: Iterable[float], *, confidence: float = 0.95) -> Interval | None:
    """The bootstrap interval of median(b) / median(a); None below 6 values in either sample.

    Percentile form, exact in both samples up to 100 values. It asks nothing of the shapes: the samples may
    differ in spread and skewness. Source: Efron, Bootstrap Methods, Annals of Statistics 7 (1979), section
    3; Maritz & Jarrett, Journal of the American Statistical Association 73 (1978), for the closed form.

    Raises ValueError as `sample.check_values` does and for values of `a` at or below zero.
    """
    below = check_values(a)
    if min(below) <= 0:
        raise ValueError(f"a ratio needs values above zero to divide by, not {min(below)}")
    return _combine(np.divide, below, check_values(b), confidence)


def difference_of_medians(
    a: Iterable[float], b: Iterable[float], *, confidence: float = 0.95
) -> Interval | None:
    """The same for median(b) - median(a), for values of any sign."""
    return _combine(np.subtract, check_values(a), check_values(b), confidence)


def bootstrap_interval(
    samples: Sequence[Sequence[float]],
    statistic: Callable[..., Floats],
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 4000,
) -> Interval | None:
    """The percentile bootstrap interval of `statistic(*samples)`, for costs, speed-ups and other figures.

    `statistic` is called once, with one array of shape (resamples, n_i) for each sample, and returns shape
    (resamples,). Every sample is drawn from by itself. None when a sample has fewer than 6 values.

    Percentile and not BCa, because a median jumps from value to value, which makes the acceleration that
    BCa takes from a jackknife meaningless. Source: Efron & Tibshirani, An Introduction to the Bootstrap
    (1993), chapters 13 and 14.

    Raises ValueError as `sample.check_values` does, and when the statistic returns another shape or is not
    finite for some resample (a ratio whose denominator can be zero).
    """
    check_confidence(confidence)
    arrays = [np.array(check_values(sample)) for sample in samples]
    if min(map(len, arrays)) < SMALLEST_SAMPLE:
        return None
    drawn = [array[rng.integers(0, len(array), (resamples, len(array)))] for array in arrays]
    results = statistic(*drawn)
    if results.shape != (resamples,):
        raise ValueError(f"the statistic returned shape {results.shape}, not ({resamples},)")
    if not np.isfinite(results).all():
        raise ValueError("the statistic is not finite for some resamples; is there a zero to divide by?")
    low, high = np.quantile(results, [0.5 - confidence / 2, 0.5 + confidence / 2])
    return Interval(float(low), float(high), confidence, "bootstrap")


def _combine(operation: np.ufunc, a: list[float], b: list[float], confidence: float) -> Interval | None:
    check_confidence(confidence)
    if min(len(a), len(b)) < SMALLEST_SAMPLE:
        return None
    (values_a, weights_a), (values_b, weights_b) = _median_distribution(a), _median_distribution(b)
    values = operation.outer(values_b, values_a).ravel()
    order = np.argsort(values)
    values, weights = values[order], np.outer(weights_b, weights_a).ravel()[order]
    tail = 0.5 - confidence / 2
    # Both tails are counted from their own end, so that exchanging a and b mirrors the interval.
    low, high = _find_tail(values, weights, tail), _find_tail(values[::-1], weights[::-1], tail)
    return Interval(low, high, confidence, "bootstrap")


def _find_tail(values: Floats, weights: Floats, tail: float) -> float:
    return float(values[np.searchsorted(np.cumsum(weights), tail)])


def _median_distribution(values: list[float]) -> tuple[Floats, Floats]:
    """The values that a resample's median can take, ascending, and the probability of each."""
    ordered = np.sort(values)
    lower, upper, weights = _middle_pairs(len(values))
    support = (ordered[lower] + ordered[upper]) / 2
    order = np.argsort(support)
    support, weights = support[order], weights[order]
    if len(support) <= POINTS:
        return support, weights
    middles = (np.arange(POINTS) + 0.5) / POINTS
    at = np.minimum(np.searchsorted(np.cumsum(weights), middles), len(support) - 1)
    return support[at], np.full(POINTS, 1 / POINTS)


@lru_cache(maxsize=256)
def _middle_pairs(n: int) -> tuple[Ints, Ints, Floats]:
    """Indices of the two values whose mean is a resample's median, and the probability of each pair.

    For an odd n, and by approximation for a large one, both are the same value.
    """
    if n > CLOSED_FORM_UP_TO or n % 2:
        single = _normal_order_masses(n) if n > CLOSED_FORM_UP_TO else _order_masses(n, n // 2 + 1)
        return np.arange(n), np.arange(n), single
    half, edges = n // 2, np.arange(n + 1) / n
    # The lower half of the draws ends exactly at value i, and the upper half begins exactly at value j.
    ends = np.diff(edges**half)
    begins = -np.diff((1 - edges) ** half)
    joint = np.triu(math.comb(n, half) * np.outer(ends, begins), 1)
    np.fill_diagonal(joint, _order_masses(n, half) - joint.sum(axis=1))
    lower, upper = np.nonzero(joint > 1e-12)
    weights = joint[lower, upper]
    return lower, upper, weights / weights.sum()


def _order_masses(n: int, k: int) -> Floats:
    """The probability, for each of n values, of being the k-th smallest draw of a resample."""
    share = np.arange(n + 1)[:, None] / n
    drawn = np.arange(k, n + 1)
    ways = np.array([float(math.comb(n, count)) for count in drawn])
    at_most = (ways * share**drawn * (1 - share) ** (n - drawn)).sum(axis=1)
    return np.asarray(np.diff(at_most))


def _normal_order_masses(n: int) -> Floats:
    """The same for the median of a large n, through the normal approximation of the binomial."""
    middle = (n + 1) / 2
    steps = ((i - middle + 0.5) / math.sqrt(2 * i * (n - i) / n) for i in range(1, n))
    return np.diff([0.0, *(math.erfc(-step) / 2 for step in steps), 1.0])
