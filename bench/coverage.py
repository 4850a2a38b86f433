"""How often intervals hold the truth, and how often a comparison of equals raises an alarm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from bench.worlds import World
from steelyard.stats.comparison import Comparison, compare
from steelyard.stats.interval import median_interval
from steelyard.stats.outliers import Policy
from steelyard.stats.stopping import precise_enough
from steelyard.stats.summary import summarise
from steelyard.stats.verdict import Verdict, verdicts

ALARMS = {Verdict.BETTER, Verdict.WORSE}


def share(hits: Iterable[bool]) -> float:
    """How many of them are true."""
    found = list(hits)
    return sum(found) / len(found)


def median_coverage(world: World, n: int, samples: int, seed: int = 1) -> float:
    """Of the median's interval after a fixed number of repetitions."""
    intervals = (median_interval(row) for row in world.rows(seed, samples, n))
    return share(interval is not None and world.median in interval for interval in intervals)


def policy_coverage(policy: Policy, world: World, n: int, samples: int, seed: int = 8) -> float:
    """Of the interval of what an outlier policy leaves."""
    intervals = [summarise(row, outliers=policy).interval for row in world.rows(seed, samples, n)]
    return share(world.median in interval for interval in intervals if interval is not None)


class Stopped(NamedTuple):
    """A cell under a stop rule: how many repetitions it got, and whether its interval holds the median."""

    n: int
    holds: bool


def stopped(
    world: World, within: float, most: int, samples: int, seed: int = 9, *, judged: float = 0.95
) -> list[Stopped]:
    """Cells of 6 to `most` repetitions that are asked after each of them, with this confidence.

    The interval that is looked at in the end is that of 95 % in any case.
    """
    return [_stopped(row, within, world.median, judged) for row in world.rows(seed, samples, most)]


def _stopped(row: list[float], within: float, median: float, judged: float) -> Stopped:
    n = 6
    while n < len(row) and not precise_enough(row[:n], within=within, confidence=judged).enough:
        n += 1
    interval = median_interval(row[:n])
    return Stopped(n, interval is not None and median in interval)


def family(a: World, b: World, seed: int, pairs: int, n: int) -> list[Comparison]:
    """Comparisons of cells of one world with cells of another."""
    rows = zip(a.rows(seed, pairs, n), b.rows(seed + 1, pairs, n), strict=True)
    return [compare(row, other, better="higher") for row, other in rows]


def false_alarm_rate(world: World, n: int, families: int, seed: int = 10) -> float:
    """The share of A/A runs of 20 pairs each that raise even one alarm."""
    judged = (verdicts(family(world, world, seed + 2 * k, 20, n)) for k in range(families))
    return share(any(one.verdict in ALARMS for one in run) for run in judged)
