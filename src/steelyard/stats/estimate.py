"""A derived figure: a value with its interval, or with the reason why it has none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from steelyard.stats.interval import Interval
from steelyard.stats.sample import SMALLEST_SAMPLE, check_values, median


@dataclass(frozen=True, slots=True)
class Estimate:
    """`interval` is None where there is none, and then `reason` says why; it is empty otherwise."""

    value: float
    interval: Interval | None
    reason: str = ""

    def transform(self, figure: Callable[[float], float]) -> Estimate:
        """The same of a monotone function of the figure, such as one minus it."""
        if self.interval is None:
            return replace(self, value=figure(self.value))
        ends = sorted((figure(self.interval.low), figure(self.interval.high)))
        return Estimate(figure(self.value), replace(self.interval, low=ends[0], high=ends[1]))


def ratio(a: Iterable[float], b: Iterable[float], *, confidence: float = 0.95) -> Estimate:
    """How many times median(a) median(b) is, with the bootstrap interval of `ratio_of_medians`.

    It exists from 6 values on either side on. Raises ValueError as `sample.check_values` does, and for values
    of `a` at or below zero.
    """
    from steelyard.stats.bootstrap import ratio_of_medians  # loads numpy

    below, above = check_values(a), check_values(b)
    interval = ratio_of_medians(below, above, confidence=confidence)
    value = median(sorted(above)) / median(sorted(below))
    return Estimate(value, interval, "" if interval else explain_too_few(len(below), len(above)))


def explain_too_few(*sizes: int) -> str:
    """Why there is no interval: `no interval, n=3 against n=6; at least 6 each are needed`."""
    text = " against ".join(f"n={size}" for size in sizes)
    return f"no interval, {text}; at least {SMALLEST_SAMPLE}{' each' * (len(sizes) > 1)} are needed"
