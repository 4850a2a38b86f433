"""Where a series of figures, one for each run, changes its level and stays there.

The split at which the values before it and those after lie farthest apart, then the same within both parts.
A permutation test decides whether a split is one.

Dividing again, and testing by permutation, is that of E-divisive means (Matteson & James, A Nonparametric
Approach for Multiple Change Point Analysis of Multivariate Data, Journal of the American Statistical
Association 109, 2014), used for benchmarks as in Daly et al., The Use of Change Point Detection to Identify
Software Performance Regressions in a Continuous Integration System (ICPE 2020). Its statistic, distances of
all pairs, was measured beside Student's t of robust scores and not taken: decision 0101.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.over_time.autocorrelation import independence
from steelyard.stats.sample import check_values

Floats = NDArray[np.float64]

SMALLEST_SEGMENT = 4
"""A level takes at least so many values, so that a spike is none."""
FEWEST = 2 * SMALLEST_SEGMENT
_LEVEL, _AT = 0.002, 40
_PERMUTATIONS, _BATCH = 10_000, 100
_TO_SD, _LARGEST = 1.4826, 4.0
_ALIKE = 0.05
"""The p-value from which on values are taken to resemble their neighbours."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """`at` is the place of the first value of the new level.

    `factor`: how many times as clear the change had to be, since neighbours are alike; 1 where they are not.
    """

    at: int
    p_value: float
    factor: float


def find_change_points(values: Sequence[float], *, family: int = 1) -> list[ChangePoint]:
    """The change points of a series, in their order; none below 8 values.

    Meant to be asked again after each run: `choose_level` keeps the false alarms of all looks together low.
    `family` is how many series are asked at once: each must then be so many times as clear. Where values on
    one level resemble their neighbours, levels must lie farther apart. The permutations are seeded by the
    values, so that one history gives one answer. Raises ValueError as `sample.check_values` does.
    """
    numbers = check_values(values)
    points = _divide(numbers, family, 1.0)
    factor = _choose_factor(numbers, points)
    return points if factor == 1.0 else _divide(numbers, family, factor)


def choose_level(n: int) -> float:
    """The largest p-value that counts among n values, where each further value brings another look.

    0.2 % at 40 values; less before, when a look sees much that the last did not, and less after, when
    many looks have been taken and a change is clearer. `history.*` in `analysis/claims.json` has what comes
    of it.
    """
    return _LEVEL * min((n / _AT) ** 2, _AT / n)


def _divide(values: Sequence[float], family: int, factor: float) -> list[ChangePoint]:
    """Split the series, then both parts, until no part has a split."""
    points: list[ChangePoint] = []
    parts = [(0, len(values))]
    while parts:
        first, last = parts.pop()
        if point := _split(values[first:last], family, factor):
            middle = first + point.at
            points.append(ChangePoint(middle, point.p_value, factor))
            parts += [(first, middle), (middle, last)]
    return sorted(points, key=lambda point: point.at)


def _split(values: Sequence[float], family: int, factor: float) -> ChangePoint | None:
    """The split of one part of a series; None where it has none."""
    n = len(values)
    if n < FEWEST or min(values) == max(values):
        return None
    scores = _score(values)
    largest = _find_farthest(scores[None, :])[0]
    total = _PERMUTATIONS * family
    allowed = choose_level(n) / family * total - 1  # the order that was measured is one of them
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(scores.tobytes()).digest()[:8]))
    beyond = 0
    for _ in range(total // _BATCH):
        others = _find_farthest(rng.permuted(np.tile(scores, (_BATCH, 1)), axis=1))
        beyond += int((factor * others >= largest * (1 - 1e-9)).sum())
        if beyond > allowed:
            return None
    return ChangePoint(_locate(values), (beyond + 1) / total, factor)


def _score(values: Sequence[float]) -> Floats:
    """Deviations from the median in robust standard deviations, none larger than 4, so that a spike is one
    value among others; less their mean.
    """
    away = np.array(values) - np.median(values)
    spread = _TO_SD * np.median(np.abs(away)) or np.abs(away).mean()
    clipped = np.clip(away / spread, -_LARGEST, _LARGEST)
    scores: Floats = clipped - clipped.mean()
    return scores


def _find_farthest(scores: Floats) -> Floats:
    """For each row, Student's t of its two parts where that is largest."""
    n = scores.shape[1]
    first = np.arange(SMALLEST_SEGMENT, n - SMALLEST_SEGMENT + 1)
    sums = scores.cumsum(axis=1)[:, first - 1]
    between = (sums**2 * (n / (first * (n - first)))).max(axis=1)
    within = np.maximum((scores**2).sum(axis=1) - between, 1e-12)
    farthest: Floats = np.sqrt((n - 2) * between / within)
    return farthest


def _locate(values: Sequence[float]) -> int:
    """Where two levels leave the least of what the figures deviate."""
    places = range(SMALLEST_SEGMENT, len(values) - SMALLEST_SEGMENT + 1)
    return min(places, key=lambda at: _sum_deviations(values[:at]) + _sum_deviations(values[at:]))


def _sum_deviations(values: Sequence[float]) -> float:
    part = np.array(values)
    return float(np.abs(part - np.median(part)).sum())


def _choose_factor(values: Sequence[float], points: Sequence[ChangePoint]) -> float:
    """By how much means of neighbours that are alike vary more than means of others.

    By what is left when all levels are taken off, as a change of level alone makes neighbours alike. Source:
    Box & Jenkins, Time Series Analysis (1970), for a process in which each value keeps a share of the last.
    """
    parts = np.split(np.array(values), [point.at for point in points])
    left = independence(np.concatenate([part - np.median(part) for part in parts]).tolist())
    if left.lag1 is None or left.neighbours_p is None or left.neighbours_p > _ALIKE or left.lag1 <= 0:
        return 1.0
    kept = min(0.9, left.lag1 + (1 + 3 * left.lag1) / len(values))  # a short series shows too little of it
    return math.sqrt((1 + kept) / (1 - kept))
