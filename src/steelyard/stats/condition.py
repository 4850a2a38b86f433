"""Whether a condition holds at a level, from the repetitions there: what a search for a limit goes by.

As for a requirement, the whole interval must lie on one side of the bound. Beyond that a repetition that did
not come to its end is worse than any figure, which the median's interval by ranks can take in as it is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from steelyard.model.keys.method import Repeat, Until
from steelyard.model.keys.requirement import Requirement
from steelyard.model.trial import Result
from steelyard.stats.interval import Interval, mean_interval, median_ranks
from steelyard.stats.sample import median
from steelyard.stats.stopping import measure_precision

TOO_MUCH = ("crashed", "timed-out", "unreadable-output", "service-failed")
"""Failures that speak against the level; those of host, disk, tool or store say nothing of it."""
AGAIN = 2
"""How many times as many trials as were asked for a cell gets at most, where some say nothing of it."""
SMALLEST = {"median": 6, "mean": 2}
"""Repetitions below which there is no 95 % interval; an extreme needs none."""


@dataclass(frozen=True, slots=True)
class LevelVerdict:
    """What the repetitions say. `met` is None while the interval holds the bound, or there is none.

    `n` repetitions count, `failed` of them as failures, or because they fell back to something else than was
    asked; `left_out` say nothing of the level. `value` and the ends of `interval` are infinite where failures
    stand there.
    """

    met: bool | None
    value: float | None
    interval: Interval | None
    n: int
    failed: int
    left_out: int


def judge_level(requirement: Requirement, results: Collection[Result]) -> LevelVerdict:
    """Judge a level. Outlier policies have no say, as they must not hide what the condition forbids."""
    values = [
        result.metrics[requirement.metric]
        for result in results
        if result.is_poolable and requirement.metric in result.metrics
    ]
    failed = count_failures(results)
    worst = math.inf if requirement.operator in ("<", "<=") else -math.inf
    value, interval, met = _judge_values(requirement, sorted([*values, *[worst] * failed]))
    n = len(values) + failed
    return LevelVerdict(met, value, interval, n, failed, len(results) - n)


class SearchRule(NamedTuple):
    """How a search judges its levels."""

    requirement: Requirement
    repeat: Repeat

    def is_met(self, results: Collection[Result]) -> bool | None:
        """Whether a level holds; None while it is still measured. What stays undecided counts as not met."""
        level = judge_level(self.requirement, results)
        return level.met is True if self._is_settled(level, results) else None

    def count_repetitions(self, results: Collection[Result]) -> int:
        """How many repetitions count, of those that `repeat` asks for."""
        return judge_level(self.requirement, results).n

    def _is_settled(self, found: LevelVerdict, results: Collection[Result]) -> bool:
        """After `at_most` repetitions; from `at_least` on when decided, and precise where that is wanted.

        What says nothing of the level is made again, until there are twice as many trials as `at_most`. It is
        asked after each trial, so the stop is sequential.
        """
        if found.n < self.repeat.at_least:
            return len(results) >= AGAIN * self.repeat.at_most
        if found.n >= self.repeat.at_most or found.met is False:
            return True
        until = self.repeat.until
        enough = found.met is True and (until is None or is_precise(until, results))
        return enough or len(results) >= AGAIN * self.repeat.at_most


def is_precise(until: Until, results: Iterable[Result]) -> bool:
    """Whether the metric of a stop rule is known as precisely as it asks."""
    poolable = (result.metrics for result in results if result.is_poolable)
    values = [metrics[until.metric] for metrics in poolable if until.metric in metrics]
    return bool(values) and measure_precision(values, within=until.within, confidence=until.confidence).enough


def is_failure(result: Result) -> bool:
    """Whether a trial failed in a way that speaks against what was asked of it."""
    return result.status == "failed" and result.category in TOO_MUCH


def has_fallback(result: Result) -> bool:
    """Whether a trial did something else than was asked of it."""
    return result.status == "ok" and any(mark.kind == "fallback" for mark in result.marks)


def count_failures(results: Iterable[Result]) -> int:
    """How many repetitions speak against what was asked of them."""
    return sum(is_failure(result) or has_fallback(result) for result in results)


def is_reached(values: Collection[float], results: Iterable[Result]) -> bool:
    """Whether a level can do what is asked of it: more of its trials have a figure than fail."""
    return len(values) > count_failures(results)


def _judge_values(
    requirement: Requirement, ordered: list[float]
) -> tuple[float | None, Interval | None, bool | None]:
    """The statistic, its interval, and whether the condition holds."""
    if not ordered:
        return None, None, None
    match requirement.over_repetitions:
        case "min" | "max" as extreme:
            value = ordered[0] if extreme == "min" else ordered[-1]
            return value, None, requirement.is_met(value)
        case "mean":
            return _judge_mean(requirement, ordered)
    ranks = median_ranks(len(ordered))
    if ranks is None:
        return median(ordered), None, None
    interval = Interval(ordered[ranks.low - 1], ordered[ranks.high - 1], ranks.confidence, "order statistics")
    return median(ordered), interval, requirement.is_met_between(interval.low, interval.high)


def _judge_mean(
    requirement: Requirement, ordered: list[float]
) -> tuple[float | None, Interval | None, bool | None]:
    """One failure makes any mean as bad as can be."""
    if not all(map(math.isfinite, ordered)):
        return math.fsum(ordered), None, False
    interval = mean_interval(ordered)
    met = requirement.is_met_between(interval.low, interval.high) if interval else None
    return math.fsum(ordered) / len(ordered), interval, met
