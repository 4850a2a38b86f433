"""Student's t of the difference of two means: of two groups of figures, or of pairs of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from steelyard.stats.beta import student_cdf, student_quantile
from steelyard.stats.comparison import Better
from steelyard.stats.detectable import LARGEST
from steelyard.stats.interval import Interval, mean_and_sd


class Contrast(NamedTuple):
    """Two means, the standard error of their difference, and its degrees of freedom.

    Without a degree of freedom nothing is known of the error, and there is no interval and no p-value.
    """

    mean_a: float
    mean_b: float
    error: float
    freedom: int

    @classmethod
    def from_groups(cls, a: Sequence[float], b: Sequence[float]) -> Contrast:
        """Two groups with one variance: even a single figure has the spread of the other group."""
        mean_a, mean_b = (math.fsum(side) / len(side) for side in (a, b))
        freedom = len(a) + len(b) - 2
        squares = math.fsum((value - mean_a) ** 2 for value in a) + math.fsum(
            (value - mean_b) ** 2 for value in b
        )
        error = math.sqrt(squares / max(freedom, 1) * (1 / len(a) + 1 / len(b)))
        return cls(mean_a, mean_b, error, freedom)

    @classmethod
    def from_pairs(cls, a: Sequence[float], b: Sequence[float]) -> Contrast:
        """Pairs of figures: what both of a pair share is in no difference."""
        differences = [after - before for before, after in zip(a, b, strict=True)]
        mean, sd = mean_and_sd(differences)
        mean_a = math.fsum(a) / len(a)
        return cls(mean_a, mean_a + mean, (sd or 0.0) / math.sqrt(len(a)), len(a) - 1)

    @property
    def difference(self) -> float:
        """The mean of b less that of a."""
        return self.mean_b - self.mean_a

    @property
    def direction(self) -> int:
        """Its sign."""
        return (self.difference > 0) - (self.difference < 0)

    def half_width(self, confidence: float) -> float | None:
        """Half the width of the interval of the difference."""
        if self.freedom < 1:
            return None
        return student_quantile(self.freedom, 0.5 + confidence / 2) * self.error

    def interval(
        self, confidence: float, method: str, shown: Callable[[float], float] = float
    ) -> Interval | None:
        """The interval of the difference, with `shown` taking its ends to the scale that is shown."""
        reach = self.half_width(confidence)
        if reach is None:
            return None
        low, high = self.difference - reach, self.difference + reach
        return Interval(shown(low), shown(high), confidence, method)

    @property
    def p_value(self) -> float | None:
        """Two-sided."""
        if self.freedom < 1:
            return None
        if self.error == 0:
            return 1.0 if self.difference == 0 else 0.0
        return 2 * student_cdf(self.freedom, -abs(self.difference) / self.error)

    def smallest_change(self, better: Better, alpha: float) -> float | None:
        """Of a contrast of logarithms: the least change for the worse (0.05 is 5 %) seen at `alpha`.

        None where nothing is known of the error, and where 16 times as much would not do.
        """
        reach = self.half_width(1 - alpha)
        if reach is None or reach > math.log(LARGEST):
            return None
        return abs(math.expm1((-1 if better == "higher" else 1) * reach))
