"""When enough repetitions have been made: the sequential stop on the median's precision."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.stats.interval import median_interval
from steelyard.stats.sample import check_values, median

FIRST_LOOK = 6
STRICTER = 5
"""The stop is judged at a confidence that leaves this many times less room for error than the one shown."""


@dataclass(frozen=True, slots=True)
class Precision:
    """How precisely a median is known after `n` repetitions.

    `width` is the relative half-width of the interval that decides: the larger distance of its ends from the
    median, divided by |median|; None where there is no interval, infinite where the median is zero and the
    interval is not. `enough` says that it is at most `within`.
    """

    n: int
    width: float | None
    within: float
    enough: bool


def measure_precision(
    values: Iterable[float], *, within: float, confidence: float = 0.95, minimum: int = FIRST_LOOK
) -> Precision:
    """Whether a cell may stop repeating: its median's interval lies within ±`within` (a ratio) of it.

    Meant to be asked after every repetition. Asking until the answer is yes favours samples that look calm by
    luck. So the interval that decides is stricter than the one that is shown: for 95 % it is that of 99 %,
    which exists from 8 repetitions on. With the very interval that is shown, cells would miss their median up
    to twice as often as it says. The simulation `coverage.sequential` (bench/simulations.py) measures it, and
    `coverage.early` what no rule can mend: of the few cells of a scattered or two-valued metric that stop
    early, many do so because they look precise by chance.

    Before `minimum` repetitions, at least 6, it never says yes.

    Raises ValueError as `sample.check_values` does, for `within` not above 0 and for a `minimum` below 6.
    """
    numbers = check_values(values)
    if not within > 0:
        raise ValueError(f"within {within} is not above 0; 5 % is written 0.05")
    if minimum < FIRST_LOOK:
        raise ValueError(f"minimum {minimum} is below {FIRST_LOOK}, the first size with an interval")
    width = relative_half_width(numbers, 1 - (1 - confidence) / STRICTER)
    enough = width is not None and len(numbers) >= minimum and width <= within
    return Precision(len(numbers), width, within, enough)


def relative_half_width(values: Iterable[float], confidence: float = 0.95) -> float | None:
    """The larger distance of an end of the median's interval from the median, divided by |median|."""
    ordered = sorted(check_values(values))
    interval = median_interval(ordered, confidence=confidence)
    if interval is None:
        return None
    middle = median(ordered)
    reach = max(interval.high - middle, middle - interval.low)
    if middle == 0:
        return 0.0 if reach == 0 else math.inf
    return reach / abs(middle)
