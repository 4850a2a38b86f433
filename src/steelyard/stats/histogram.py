"""Counts over bins: what percentiles over copies and hosts come from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate

LARGEST_COUNT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Histogram:
    """Bins in ascending order, each its representative value and how many observations it holds.

    fio's json+ is one: its bins are the middles of ranges 1/64 wide, so any figure from it carries up to
    0.8 % of rounding. Empty bins are left out, so equal contents compare equal. Two histograms merge by
    adding counts; percentiles never do, which is why copies and hosts are merged before one is taken.

    Built by `of` and `from_histograms`, which check what they are given.
    """

    bins: tuple[tuple[float, int], ...] = ()

    @classmethod
    def of(cls, counts: Mapping[float, int] | Mapping[str, int], *, divisor: float = 1.0) -> Histogram:
        """From representative value to count; the values may be JSON's text keys.

        `divisor` brings a tool's unit to the metric's: 1e9 for nanoseconds to seconds. Keys that become
        equal add up. Raises ValueError, naming the bin, for a key that is no finite number and for a count
        that is no whole number between 0 and 2**63-1.
        """
        total: Counter[float] = Counter()
        for key, count in counts.items():
            total[_check_key(key) / divisor] += _check_count(key, count)
        return cls._from_counts(total)

    @classmethod
    def from_histograms(cls, histograms: Iterable[Histogram]) -> Histogram:
        """The sum of many, in any order; of none it is empty."""
        total: Counter[float] = Counter()
        for histogram in histograms:
            for value, count in histogram.bins:
                total[value] += count
        return cls._from_counts(total)

    @classmethod
    def _from_counts(cls, total: Mapping[float, int]) -> Histogram:
        return cls(tuple(sorted((value, count) for value, count in total.items() if count)))

    def to_json(self) -> dict[str, int]:
        """A mapping that JSON keeps without loss and `of` reads back."""
        return {repr(value): count for value, count in self.bins}

    @property
    def count(self) -> int:
        """The number of observations."""
        return sum(count for _, count in self.bins)

    @property
    def mean(self) -> float:
        """The mean of the representative values. Raises ValueError when the histogram is empty."""
        count = self._require_count()
        return math.fsum(value * (share / count) for value, share in self.bins)

    def quantile(self, q: float) -> float:
        """The smallest bin value that at least the share q (0 … 1) of the observations does not exceed.

        The nearest-rank definition, which fio uses for the percentiles that it prints; it always answers
        with a bin that holds something. q=0 is the lowest one, q=1 the highest.
        Raises ValueError when the histogram is empty and for a q outside 0 … 1.
        """
        if not 0 <= q <= 1:
            raise ValueError(f"quantile {q} is not between 0 and 1; the 99th percentile is 0.99")
        # 0.07 x 100 is 7.000000000000001 in floating point and must not ask for an eighth observation.
        wanted = q * self._require_count() * (1 - 1e-12)
        running = accumulate(count for _, count in self.bins)
        reached = (value for (value, _), so_far in zip(self.bins, running, strict=True) if so_far >= wanted)
        return next(reached, self.bins[-1][0])

    def _require_count(self) -> int:
        count = self.count
        if not count:
            raise ValueError("the histogram is empty: it has no mean and no quantiles")
        return count


def _check_key(key: float | str) -> float:
    try:
        value = float(key)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"histogram bin {str(key)[:40]!r} is not a number") from error
    if not math.isfinite(value):
        raise ValueError(f"histogram bin {str(key)[:40]!r} is not finite")
    return value


def _check_count(key: float | str, count: object) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= LARGEST_COUNT:
        raise ValueError(f"histogram bin {str(key)[:40]!r} has no valid count: {str(count)[:40]!r}")
    return count
