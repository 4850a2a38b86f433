"""Which values of a sample are outliers, by four declared policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from steelyard.stats.sample import check_values, median, quantile

Policy = Literal["none", "tukey", "mad", "extremes"]
POLICIES: tuple[Policy, ...] = get_args(Policy)

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ScreenedSample:
    """A sample in two parts, each in the order of measurement."""

    kept: tuple[float, ...]
    dropped: tuple[float, ...]


def screen(values: Iterable[float], policy: Policy = "none") -> ScreenedSample:
    """Part the outliers from a sample.

    - `none`: keeps everything. The default, because the median and its interval hardly feel outliers.
    - `tukey`: drops what lies more than 1.5 interquartile ranges outside the quartiles.
      Source: Tukey, Exploratory Data Analysis (1977), section 2D.
    - `mad`: drops what has a modified z-score 0.6745 |x - median| / MAD over 3.5, where MAD is the median
      absolute deviation. Source: Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC (1993).
    - `extremes`: drops one highest and one lowest value, from n=3 on. Source: XtreemOS deliverable D4.2.7,
      section 4.8.3, which repeats 12 times and keeps 10.

    Where the interquartile range or the MAD is zero (half of the values or more are equal), the spread is
    unknown and nothing is dropped: a single failure among nine zeros is a finding, not an outlier.

    At least one value is always kept. Raises ValueError for an unknown policy and as `sample.check_values`
    does.
    """
    numbers = check_values(values)
    if policy == "none":
        return ScreenedSample(tuple(numbers), ())
    if policy == "extremes":
        return _drop_extremes(numbers)
    if policy not in _BOUNDS:
        raise ValueError(f"unknown outlier policy '{policy}'; policies are {', '.join(POLICIES)}")
    low, high = _BOUNDS[policy](sorted(numbers))
    kept = tuple(number for number in numbers if low <= number <= high)
    return ScreenedSample(kept, tuple(number for number in numbers if not low <= number <= high))


def _tukey_bounds(ordered: list[float]) -> Bounds:
    first, third = quantile(ordered, 0.25), quantile(ordered, 0.75)
    if third == first:
        return ordered[0], ordered[-1]
    return first - 1.5 * (third - first), third + 1.5 * (third - first)


def _mad_bounds(ordered: list[float]) -> Bounds:
    middle = median(ordered)
    mad = median(sorted(abs(number - middle) for number in ordered))
    if mad == 0:
        return ordered[0], ordered[-1]
    reach = 3.5 * mad / 0.6745
    return middle - reach, middle + reach


_BOUNDS: dict[str, Callable[[list[float]], Bounds]] = {"tukey": _tukey_bounds, "mad": _mad_bounds}


def _drop_extremes(numbers: list[float]) -> ScreenedSample:
    if len(numbers) < 3:
        return ScreenedSample(tuple(numbers), ())
    by_size = sorted(range(len(numbers)), key=lambda position: (numbers[position], position))
    out = {by_size[0], by_size[-1]}
    kept = tuple(number for position, number in enumerate(numbers) if position not in out)
    return ScreenedSample(kept, tuple(numbers[position] for position in sorted(out)))
