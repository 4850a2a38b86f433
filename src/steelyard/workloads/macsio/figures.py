"""Dumps and what they say together, whichever program made them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from steelyard.plugin import Metric, ParseFailure

_ENDS: dict[str, Callable[[Sequence[float]], float]] = {"min": min, "mean": fmean, "max": max}


@dataclass(frozen=True, slots=True)
class DumpTiming:
    """One dump: its bytes, and the smallest, mean and largest time over the ranks."""

    size: float
    least: float
    mean: float
    most: float


def dump_metrics() -> tuple[Metric, ...]:
    """The rate first, then what it comes from."""
    spreads = [
        Metric(f"{name}_{end}", unit, better, f"{about}: {end} over dumps", over_copies=end)  # type: ignore[arg-type]
        for name, unit, better, about in (
            ("dump_rate", "B/s", "higher", "a dump's bytes over its slowest rank's time"),
            ("dump_time", "s", "lower", "time of a dump, until its slowest rank is done"),
        )
        for end in _ENDS
    ]
    return (
        Metric("rate", "B/s", "higher", "all bytes over the time of all dumps"),
        *spreads,
        Metric(
            "rank_time_min",
            "s",
            "lower",
            "shortest time of a rank for a dump",
            "scalar",
            "min",
            secondary=True,
        ),
        Metric(
            "rank_time_mean", "s", "lower", "mean time of a rank for a dump", "scalar", "mean", secondary=True
        ),
        Metric(
            "rank_time_max",
            "s",
            "lower",
            "longest time of a rank for a dump",
            "scalar",
            "max",
            secondary=True,
        ),
        Metric("summed_rate", "B/s", "higher", "sum of the ranks' own rates", secondary=True),
        Metric(
            "overall_rate", "B/s", "higher", "all bytes from first start to last end, computation included"
        ),
        Metric("elapsed", "s", "lower", "from first start to last end", over_copies="max"),
        Metric("bytes", "B", "none", "data of all dumps and ranks"),
    )


def compute_figures(dumps: Sequence[DumpTiming], elapsed: float, summed: float) -> dict[str, float]:
    """The values of those metrics. Raises ParseFailure where there is nothing to divide by."""
    if not dumps or not elapsed > 0 or not all(dump.most > 0 for dump in dumps):
        raise ParseFailure("the output has no dump, or one that took no time")
    size = sum(dump.size for dump in dumps)
    times = [dump.most for dump in dumps]
    return {
        "rate": size / sum(times),
        **_spread("dump_rate", (dump.size / dump.most for dump in dumps)),
        **_spread("dump_time", times),
        "rank_time_min": min(dump.least for dump in dumps),
        "rank_time_mean": fmean(dump.mean for dump in dumps),
        "rank_time_max": max(times),
        "summed_rate": summed,
        "overall_rate": size / elapsed,
        "elapsed": elapsed,
        "bytes": size,
    }


def _spread(name: str, numbers: Iterable[float]) -> dict[str, float]:
    listed = list(numbers)
    return {f"{name}_{end}": choose(listed) for end, choose in _ENDS.items()}
