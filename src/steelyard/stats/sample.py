"""One sample of repetitions, and what every method here asks of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

SMALLEST, LARGEST = 1e-150, 1e150
SMALLEST_SAMPLE = 6
"""Below it a bootstrap of a median claims 95 % and covers 72 % (n=3) to 92 % (n=5): no interval is given."""


def check_values(values: Iterable[float]) -> list[float]:
    """The values as floats, in their order.

    Raises ValueError for an empty sample, for NaN and infinities, and for sizes outside 1e-150 … 1e150
    (zero is fine): squares and ratios of what passes are finite, so nothing later has to look again.
    """
    try:
        numbers = [float(value) for value in values]
    except OverflowError as error:
        raise ValueError("a value is too large to be a measurement (over 1e150)") from error
    if not numbers:
        raise ValueError("no values: at least one is needed")
    for position, number in enumerate(numbers):
        if number != 0 and not SMALLEST <= abs(number) <= LARGEST:
            raise ValueError(
                f"value {number} at position {position} is not a measurement (1e-150 … 1e150, or 0)"
            )
    return numbers


def check_confidence(confidence: float) -> float:
    """A confidence as a ratio, such as 0.95; raises ValueError outside 0 … 1 (both ends excluded)."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is not between 0 and 1; 95 % is written 0.95")
    return confidence


def format_percent(ratio: float) -> str:
    """0.95 as '95 %'."""
    return f"{100 * ratio:.6g} %"


def median(ordered: Sequence[float]) -> float:
    """The middle of ascending values; the mean of the middle two when their number is even."""
    upper = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[upper]
    return (ordered[upper - 1] + ordered[upper]) / 2


def quantile(ordered: Sequence[float], q: float) -> float:
    """Quantile q (0 … 1) of ascending values, linear between neighbours.

    This is definition 7 of Hyndman & Fan, Sample Quantiles in Statistical Packages, The American
    Statistician 50 (1996), which numpy and R use when nothing else is said.
    """
    place = q * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def doubled_midranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each value, counted from 1; tied values share the mean of their ranks.

    Doubled, because that keeps the halves that ties bring whole numbers.
    """
    counts = Counter(values)
    ranks: dict[float, int] = {}
    below = 0
    for value in sorted(counts):
        ranks[value] = 2 * below + counts[value] + 1
        below += counts[value]
    return [ranks[value] for value in values]
