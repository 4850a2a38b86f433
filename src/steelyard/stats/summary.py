"""The figures shown for one metric of one cell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from steelyard.stats.interval import Interval, explain_no_interval, mean_and_sd, median_interval, smallest_n
from steelyard.stats.outliers import Policy, screen
from steelyard.stats.sample import median


@dataclass(frozen=True, slots=True)
class Summary:
    """What repetitions say about one figure, in the figure's unit.

    `n` values are summarised out of `n_total`; `dropped` were set aside by the policy `outliers`. `sd` has
    n-1 in its denominator and is None for a single value. `interval` is the median's; where there is none,
    `interval_reason` says why, and it is empty otherwise.
    """

    n: int
    n_total: int
    dropped: int
    outliers: Policy
    median: float
    mean: float
    sd: float | None
    minimum: float
    maximum: float
    interval: Interval | None
    interval_reason: str


def summarise(values: Iterable[float], *, confidence: float = 0.95, outliers: Policy = "none") -> Summary:
    """Summarise the repetitions of one metric in one cell.

    Every figure is of the values that the policy keeps. The median's interval is exact with the policies
    `none` and `extremes` (which knows that one value is missing at either end, and therefore starts at
    n_total=9 for 95 %). After `tukey` and `mad` it is that of the kept values, its method says so, and it
    covers less than it claims, far less on bimodal data, of which a whole mode may be dropped: the
    simulations `coverage.tukey` and `coverage.mad` (bench/simulations.py) measure it.

    Raises ValueError as `sample.check_values` does, for a confidence outside 0 … 1 and for an unknown policy.
    """
    parts = screen(values, outliers)
    ordered = sorted(parts.kept)
    trimmed = 1 if outliers == "extremes" and parts.dropped else 0
    interval = median_interval(ordered, confidence=confidence, trimmed=trimmed)
    if interval and parts.dropped and not trimmed:
        interval = replace(interval, method=f"{interval.method} after {outliers}")
    mean, sd = mean_and_sd(ordered)
    return Summary(
        n=len(ordered),
        n_total=len(ordered) + len(parts.dropped),
        dropped=len(parts.dropped),
        outliers=outliers,
        median=median(ordered),
        mean=mean,
        sd=sd,
        minimum=ordered[0],
        maximum=ordered[-1],
        interval=interval,
        interval_reason=_explain_no_interval(interval, len(ordered), len(parts.dropped), confidence, trimmed),
    )


def _explain_no_interval(
    interval: Interval | None, n: int, dropped: int, confidence: float, trimmed: int
) -> str:
    if interval is not None:
        return ""
    reason = explain_no_interval(n, confidence)
    if dropped:
        reason += f" of {n + dropped}"
    if trimmed:
        reason += f" (excluding highest and lowest, it needs {smallest_n(confidence, trimmed)})"
    return reason
