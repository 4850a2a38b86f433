"""What a comparison without a difference could have seen: the smallest change that it would have found."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from steelyard.stats.comparison import Better, Comparison
from steelyard.stats.ranks import mann_whitney
from steelyard.stats.sample import median

LARGEST = 16.0
"""Factors beyond it are not looked for: what would not have shown a change of 16 times shows nothing."""
_STEPS = 24  # halvings of the logarithm: the answer is known within 0.00002 %


def smallest_change(
    a: Sequence[float], b: Sequence[float], found: Comparison, *, alpha: float
) -> float | None:
    """The least change for the worse (0.05 is 5 %) that values as scattered as these would have shown.

    b is moved to the median of a and then scaled until the test, at `alpha`, and the interval both see it. A
    metric of which no direction is better is scaled upwards. A change of just this size is found every other
    time, a larger one more often. None without a ratio or an interval, and where 16 times would not do.
    """
    if found.ratio is None or found.ratio_interval is None:
        return None
    low, high = found.ratio_interval.low / found.ratio, found.ratio_interval.high / found.ratio
    centred = [value * median(sorted(a)) / median(sorted(b)) for value in b]

    def is_seen(factor: float) -> bool:
        test = mann_whitney(a, [value * factor for value in centred])
        return test.p_value <= alpha and (low * factor > 1 if factor > 1 else high * factor < 1)

    return _bisect(is_seen, found.better)


def _bisect(is_seen: Callable[[float], bool], better: Better) -> float | None:
    """The least change for the worse for which `is_seen(factor)` holds, by bisection."""
    worse = 1 / LARGEST if better == "higher" else LARGEST
    if not is_seen(worse):
        return None
    hidden, seen = 0.0, 1.0  # powers of the worst factor
    for _ in range(_STEPS):
        middle = (hidden + seen) / 2
        hidden, seen = (hidden, middle) if is_seen(math.pow(worse, middle)) else (middle, seen)
    return abs(math.pow(worse, seen) - 1)
