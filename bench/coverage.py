"""How often intervals hold the truth, and how often a comparison of equals raises an alarm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from bench.worlds import Rows, World
from steelyard.stats.comparison import Comparison, compare
from steelyard.stats.interval import median_interval
from steelyard.stats.outliers import Policy
from steelyard.stats.over_time.autocorrelation import find_alarms
from steelyard.stats.pairs import compare_pairs
from steelyard.stats.sample import median
from steelyard.stats.stopping import measure_precision
from steelyard.stats.summary import summarise
from steelyard.stats.verdict import Verdict, judge_comparisons

ALARMS = {Verdict.BETTER, Verdict.WORSE}
CHANGE = 1.1
"""How many times as much b is where pairs differ."""
BLOCKS = 0.1
"""How much blocks differ from each other: the standard deviation of the logarithm."""


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
    while n < len(row) and not measure_precision(row[:n], within=within, confidence=judged).enough:
        n += 1
    interval = median_interval(row[:n])
    return Stopped(n, interval is not None and median in interval)


def family(a: World, b: World, seed: int, pairs: int, n: int) -> list[Comparison]:
    """Comparisons of cells of one world with cells of another."""
    rows = zip(a.rows(seed, pairs, n), b.rows(seed + 1, pairs, n), strict=True)
    return [compare(row, other, better="higher") for row, other in rows]


def false_alarm_rate(world: World, n: int, families: int, seed: int = 10) -> float:
    """The share of A/A runs of 20 pairs each that raise even one alarm."""
    judged = (judge_comparisons(family(world, world, seed + 2 * k, 20, n)) for k in range(families))
    return share(any(one.verdict in ALARMS for one in run) for run in judged)


def in_blocks(
    world: World, n: int, samples: int, seed: int, change: float = 1.0
) -> Iterator[tuple[list[float], list[float]]]:
    """Samples of a and b: what a block does falls on both of its pair, and b is `change` times as much."""
    rng = np.random.default_rng([seed, n])
    blocks = np.exp(rng.normal(0, BLOCKS, (samples, n)))
    a, b = (np.array(world.rows(seed + side, samples, n)) * blocks for side in (1, 2))
    yield from zip(a.tolist(), (b * change).tolist(), strict=True)


def pair_coverage(world: World, n: int, samples: int, seed: int = 11) -> float:
    """Of the interval of the ratio of pairs."""
    found = (compare_pairs(a, b, better="higher") for a, b in in_blocks(world, n, samples, seed, CHANGE))
    return share(one.ratio_interval is not None and CHANGE in one.ratio_interval for one in found)


def pair_alarm_rate(world: World, n: int, families: int, seed: int = 12, cells: int = 20) -> float:
    """The share of A/A runs of 20 cells each, measured in blocks, that raise even one alarm."""
    found = [compare_pairs(a, b, better="higher") for a, b in in_blocks(world, n, families * cells, seed)]
    runs = (judge_comparisons(found[start : start + cells]) for start in range(0, len(found), cells))
    return share(any(one.verdict in ALARMS for one in run) for run in runs)


def drift_alarm_rate(world: World, n: int, runs: int, seed: int = 13, cells: int = 5) -> float:
    """The share of steady runs of so many cells that raise any alarm, in a cell or in all together."""
    rows = world.rows(seed, runs * cells, n)
    steady = (rows[start : start + cells] for start in range(0, len(rows), cells))
    return share(any(find_alarms([*run, _together(run)])) for run in steady)


def _together(run: Rows) -> list[float]:
    """Block by block, as shares of the cells' medians."""
    shares = [[value / median(sorted(row)) for value in row] for row in run]
    return [value for block in zip(*shares, strict=True) for value in block]
