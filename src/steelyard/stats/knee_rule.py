"""Whether a level of a search for a knee is enough: no later one is better by more than a tolerance.

A level is surely beaten, or surely not, by the whole interval of the ratio of medians. Repetitions of the
level that is measured now are added until it is; after `at_most` of them the medians decide, because the
search has to go somewhere. The answer does not rest on that: `stats.knee` judges all levels together.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from steelyard.model.keys.method import Repeat
from steelyard.model.trial import Result
from steelyard.stats.condition import AGAIN, count_failures, is_reached
from steelyard.stats.estimate import Estimate, ratio

Results = Collection[Result]


class KneeRule(NamedTuple):
    """How a search for a knee judges its levels; more of `metric` is better."""

    metric: str
    tolerance: float
    repeat: Repeat

    def is_met(self, current: Results, level: Results, *later: Results) -> bool | None:
        """Whether a level is enough; None while the `current` one of them needs more repetitions."""
        if not self._has_enough(current, self.repeat.at_least):
            return None
        verdicts = [self._is_beaten(level, one) for one in later]
        if any(verdict is True for verdict, _ in verdicts):
            return False
        if all(verdict is False for verdict, _ in verdicts):
            return True
        if not self._has_enough(current, self.repeat.at_most):
            return None
        return all(gain <= self.tolerance for _, gain in verdicts)

    def count_repetitions(self, results: Results) -> int:
        """How many repetitions count: those with a figure; at a level that is not reached failures, too."""
        values = self._values(results)
        return len(values) + (0 if is_reached(values, results) else count_failures(results))

    def _has_enough(self, results: Results, wanted: int) -> bool:
        """What says nothing of the level is made again, up to twice as many trials as `at_most`."""
        return self.count_repetitions(results) >= wanted or len(results) >= AGAIN * self.repeat.at_most

    def _is_beaten(self, level: Results, other: Results) -> tuple[bool | None, float]:
        """Whether the other is surely better by more than the tolerance, None if unsure; and the gain.

        A level that is not reached, or does nothing at all, gains nothing, and loses to any other.
        """
        before, after = self._figures(level), self._figures(other)
        if not is_reached(after, other) or min(after) <= 0:
            return False, 0.0
        if not is_reached(before, level) or min(before) <= 0:
            return True, float("inf")
        gain = ratio(before, after).transform(lambda times: times - 1)
        return _is_above(gain, self.tolerance), gain.value

    def _figures(self, results: Results) -> list[float]:
        """Those that count; where others disturb too many trials, all of them, as the search must go on."""
        values = self._values(results)
        if len(values) >= self.repeat.at_least:
            return values
        disturbed = (result.metrics for result in results if result.is_disturbed)
        return values + [metrics[self.metric] for metrics in disturbed if self.metric in metrics]

    def _values(self, results: Results) -> list[float]:
        poolable = (result.metrics for result in results if result.is_poolable)
        return [metrics[self.metric] for metrics in poolable if self.metric in metrics]


def _is_above(gain: Estimate, bound: float) -> bool | None:
    if gain.interval is None:
        return None
    return True if gain.interval.low > bound else False if gain.interval.high <= bound else None
