"""When enough repetitions have been made: the sequential stop on the median's precision."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.stats.interval import median_interval
from steelyard.stats.sample import checked, median

FIRST_LOOK = 6


@dataclass(frozen=True, slots=True)
class Precision:
    """How precisely a median is known after `n` repetitions.

    `width` is the relative half-width: the larger distance of an interval's end from the median, divided by
    |median|; None where there is no interval, infinite where the median is zero and the interval is not.
    `enough` says that it is at most `within`.
    """

    n: int
    width: float | None
    within: float
    enough: bool


def precise_enough(
    values: Iterable[float], *, within: float, confidence: float = 0.95, minimum: int = FIRST_LOOK
) -> Precision:
    """Whether a cell may stop repeating: its median's interval lies within ±`within` (a ratio) of it.

    Meant to be asked after every repetition; before `minimum` of them it never says yes, and `minimum` is
    at least 6, the first size at which a 95 % interval exists.

    Asking again and again until the answer is yes favours samples that look calm by luck, so the final
    interval covers the median less often than its ranks claim: measured 94 to 96 % on normal data of 2 to 8 %
    standard deviation, 6 to 20 repetitions, within 2 to 5 %, where a fixed number of repetitions covers 96 to
    99 %. `tests/stats/test_simulation.py` repeats it.

    Raises ValueError as `sample.checked` does, for `within` not above 0 and for a `minimum` below 6.
    """
    numbers = checked(values)
    if not within > 0:
        raise ValueError(f"within {within} is not above 0; 5 % is written 0.05")
    if minimum < FIRST_LOOK:
        raise ValueError(f"minimum {minimum} is below {FIRST_LOOK}, the first size with an interval")
    width = relative_half_width(numbers, confidence)
    enough = width is not None and len(numbers) >= minimum and width <= within
    return Precision(len(numbers), width, within, enough)


def relative_half_width(values: Iterable[float], confidence: float = 0.95) -> float | None:
    """The larger distance of an end of the median's interval from the median, divided by |median|."""
    ordered = sorted(checked(values))
    interval = median_interval(ordered, confidence=confidence)
    if interval is None:
        return None
    middle = median(ordered)
    reach = max(interval.high - middle, middle - interval.low)
    if middle == 0:
        return 0.0 if reach == 0 else math.inf
    return reach / abs(middle)
