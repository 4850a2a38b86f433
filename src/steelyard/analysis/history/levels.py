"""The levels of one metric in one cell: where they change, by how much, and whether that is for the worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.model.metric import Metric
from steelyard.stats.comparison import Comparison
from steelyard.stats.interval import Interval
from steelyard.stats.over_time.change_points import SMALLEST_SEGMENT, ChangePoint, find_change_points
from steelyard.stats.several_runs import compare_several_runs
from steelyard.stats.verdict import Verdict
from steelyard.store.decisions import Decision


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """What one run says: the median of its trials that count, with its interval.

    `segment` counts from 0. With `aside` it is shown and not used, for that reason; `median` is then that of
    all trials, and None where there is none.
    """

    run: str
    label: str
    started: float
    segment: int
    median: float | None
    interval: Interval | None
    n: int
    aside: str = ""

    @property
    def figure(self) -> float:
        """The median of a point that is used, which has one."""
        assert self.median is not None  # noqa: S101 - see above
        return self.median


@dataclass(frozen=True, slots=True)
class LevelChange:
    """The runs from `run` on differ from those before them, in one segment.

    `label` is its commit, or another tag's value; `before` and `after` count the runs of both levels.
    `comparison` has their figures. `factor` is how many times as clear it had to be, since neighbours are
    alike; 1 where they are not. `is_current`: the newest run is on this level.
    """

    run: str
    label: str
    before: int
    after: int
    comparison: Comparison
    p_value: float
    factor: float
    is_current: bool
    decision: Decision | None = None

    @property
    def verdict(self) -> Verdict:
        """Better, worse, or different where neither direction is better."""
        better, up = self.comparison.better, self.comparison.direction > 0
        if better == "none":
            return Verdict.DIFFERENT
        return Verdict.BETTER if (better == "higher") == up else Verdict.WORSE

    @property
    def is_alarm(self) -> bool:
        """Whether somebody has to look: it is worse (or other), still so, and nobody expected it."""
        return self.is_current and self.decision is None and self.verdict is not Verdict.BETTER


def find_changes(
    points: Sequence[HistoryPoint],
    metric: Metric,
    decisions: Mapping[str, Decision],
    *,
    family: int,
    newest: bool,
) -> list[LevelChange]:
    """The changes in the points of one segment that are used, in their order.

    `family` is how many series are asked at once; `newest` says that the newest run is in this segment.
    """
    if not points:
        return []
    places = find_change_points([point.figure for point in points], family=family)
    ends = [0, *(one.at for one in places), len(points)]
    return [
        _describe_change(
            one,
            points[first:last],
            points,
            metric,
            decisions,
            newest=newest and last == len(points),
        )
        for one, first, last in zip(places, ends, ends[2:], strict=False)
    ]


def _describe_change(
    one: ChangePoint,
    both: Sequence[HistoryPoint],
    points: Sequence[HistoryPoint],
    metric: Metric,
    decisions: Mapping[str, Decision],
    *,
    newest: bool,
) -> LevelChange:
    """A change among `points`, where `both` are those of the level before it and the one after."""
    first = points[one.at]
    middle = both.index(first)
    sides = [[(point.figure,) for point in side] for side in (both[:middle], both[middle:])]
    return LevelChange(
        first.run,
        first.label,
        middle,
        len(both) - middle,
        compare_several_runs(*sides, better=metric.better),
        one.p_value,
        one.factor,
        newest,
        _find_decision([point.run for point in points], one.at, decisions),
    )


def _find_decision(runs: Sequence[str], at: int, decisions: Mapping[str, Decision]) -> Decision | None:
    """What was decided of the change at this place; where it begins may move by some runs as more come in."""
    near = sorted(range(len(runs)), key=lambda place: abs(place - at))[: 2 * SMALLEST_SEGMENT - 1]
    known = (decisions[runs[place]] for place in near if runs[place] in decisions)
    return next((one for one in known if one.verdict == "expected"), None)
