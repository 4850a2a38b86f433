"""Two samples of the same figure, side by side: ratio, difference, and a rank test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from steelyard.stats.bootstrap import SMALLEST_SAMPLE, difference_of_medians, ratio_of_medians
from steelyard.stats.interval import Interval
from steelyard.stats.ranks import mann_whitney
from steelyard.stats.sample import checked, median

Better = Literal["higher", "lower", "none"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How sample b stands to sample a.

    `ratio` is median b / median a, a plain number; None where values at or below zero occur, and then
    `ratio_reason` says so. `difference` is median b - median a in the figure's unit. The intervals are None
    below 6 values in either sample, and then there is no `p_value` either. `direction` is 1 when the test
    sees b above a, -1 below, 0 neither. `smallest_p` is the least p-value that samples of these sizes can
    have. What it all means among other comparisons, `verdict.verdicts` says.
    """

    better: Better
    n_a: int
    n_b: int
    median_a: float
    median_b: float
    ratio: float | None
    ratio_interval: Interval | None
    ratio_reason: str
    difference: float
    difference_interval: Interval | None
    p_value: float | None
    smallest_p: float
    direction: int

    @property
    def enough(self) -> bool:
        """Whether both samples have the 6 values that an interval and a test need."""
        return self.p_value is not None

    @property
    def interval_agrees(self) -> bool:
        """Whether the shown interval lies wholly on the side to which the test points."""
        interval, equal = self.difference_interval, 0.0
        if self.ratio_interval is not None:
            interval, equal = self.ratio_interval, 1.0
        if interval is None or self.direction == 0:
            return False
        return interval.low > equal if self.direction > 0 else interval.high < equal


def compare(
    a: Iterable[float], b: Iterable[float], *, better: Better, confidence: float = 0.95
) -> Comparison:
    """Compare b with a, the baseline.

    The ratio is that of the medians, which a reader can check against the table, with a bootstrap interval:
    for n=6 … 20 it covers 92.8 to 97.6 % in all cases tried. Moses' rank interval, which inverts the test,
    was measured beside it and not taken. It is somewhat narrower where both samples have the same shape and
    one mode, but covers too little where spreads or shapes differ: 87 % for sd 2 %, n=20 against sd 6 %,
    n=6, and 93 % for normal against exponential noise, n=20 (`tests/stats/test_simulation.py`).

    The p-value is that of a two-sided Mann-Whitney test, exact up to 60 values together. Give all values:
    ranks need no outlier policy, and dropping values before a test makes it see differences too often.

    `better` is the metric's direction. Raises ValueError as `sample.checked` does.
    """
    first, second = checked(a), checked(b)
    middle_a, middle_b = median(sorted(first)), median(sorted(second))
    reason = _why_no_ratio(first, second)
    test = mann_whitney(first, second)
    return Comparison(
        better=better,
        n_a=len(first),
        n_b=len(second),
        median_a=middle_a,
        median_b=middle_b,
        ratio=None if reason else middle_b / middle_a,
        ratio_interval=None if reason else ratio_of_medians(first, second, confidence=confidence),
        ratio_reason=reason,
        difference=middle_b - middle_a,
        difference_interval=difference_of_medians(first, second, confidence=confidence),
        p_value=test.p_value if min(len(first), len(second)) >= SMALLEST_SAMPLE else None,
        smallest_p=test.smallest_p,
        direction=test.direction,
    )


def _why_no_ratio(a: list[float], b: list[float]) -> str:
    smallest = min(*a, *b)
    return f"no ratio: a value is {smallest:g}, and ratios need values above zero" if smallest <= 0 else ""
