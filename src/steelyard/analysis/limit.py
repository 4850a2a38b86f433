"""The limit that a run with `find` has found, for each combination of the other parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from steelyard.analysis.requirements import RequirementVerdict
from steelyard.analysis.summary import CellSummary, RunSummary
from steelyard.model.keys.find import Search, SearchBounds, SearchGoal, searches
from steelyard.model.keys.method import Repeat
from steelyard.model.keys.requirement import Requirement
from steelyard.model.keys.walk import Walk
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell, Result, show_level
from steelyard.stats.condition import LevelVerdict, SearchRule, judge_level
from steelyard.store.reader import RunRecord

Kind = Literal["bracket", "none", "all", "unfinished"]
_VERDICTS = {
    True: RequirementVerdict.MET,
    False: RequirementVerdict.NOT_MET,
    None: RequirementVerdict.UNDECIDED,
}


@dataclass(frozen=True, slots=True)
class ProbedLevel:
    """A level that was probed; `text` as it stands in the cell, `place` as a number.

    `n` repetitions count, `failed` of them as failures; `left_out` say nothing of the level. `value` and the
    interval from `low` to `high` are in the metric's unit, None where there is none or it is a failure.
    """

    cell: Cell
    text: str
    place: float
    verdict: RequirementVerdict
    n: int
    failed: int
    left_out: int
    value: float | None
    low: float | None
    high: float | None
    confidence: float | None


@dataclass(frozen=True, slots=True)
class Limit:
    """One search. `label` tells it from others, `levels` are in ascending order.

    `kind`: a `bracket` was found; `none` of the levels holds; `all` do, so the limit lies beyond the bounds;
    or the search is `unfinished`. `holds` is the last level at which the condition holds, `fails` the next
    at which it does not, or was left undecided; at `surely` it surely does not. `oddities` are sentences.
    """

    label: str
    kind: Kind
    levels: tuple[ProbedLevel, ...]
    holds: ProbedLevel | None
    fails: ProbedLevel | None
    surely: ProbedLevel | None
    oddities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LimitStudy:
    """What was searched for, and what was found. `bound` is that of the condition, in the metric's unit.

    `low` and `high` are the bounds of `parameter`, `within` a ratio; `repetitions` of a level, at least and
    at most.
    """

    parameter: str
    goal: str
    condition: str
    metric: Metric
    bound: float
    low: float
    high: float
    within: float
    repetitions: tuple[int, int]
    limits: tuple[Limit, ...]

    def sentence(self, limit: Limit) -> str:
        """What was found in a search."""
        what = "highest" if self.goal == "maximize" else "lowest"
        where = f" ({limit.label})" if limit.label else ""
        return f"{what} {self.parameter} while {self.condition}{where}: {self.answer(limit)}"

    def answer(self, limit: Limit) -> str:
        """The limit in words: always a bracket, or on which side of the bounds it lies."""
        up = self.goal == "maximize"
        match limit.kind:
            case "all":
                return f"{'>=' if up else '<='} {_text(limit.holds)}, a bound of the search; it holds there"
            case "none":
                return f"none: at {_text(limit.fails)} it {_describe_failing(limit.fails)}"
            case "unfinished":
                so_far = f"it holds at {_text(limit.holds)}" if limit.holds else "no level is known to hold"
                return f"not found yet: {so_far}"
        return self._bracket(limit)

    def _bracket(self, limit: Limit) -> str:
        """Its far end is the nearest level at which the condition surely does not hold."""
        holds, fails, surely = map(_text, (limit.holds, limit.fails, limit.surely))
        open_ = f"; {fails} is undecided, which counts as not met" if _is_undecided(limit.fails) else ""
        if limit.surely is None:
            return f"{holds} holds{open_}; no level was significantly beyond the limit"
        return f"between {holds}, which holds, and {surely}, which does not{open_}"


def limit_study(record: RunRecord, summary: RunSummary) -> LimitStudy:
    """What a run that searched for a limit has found. Raises KeyError, UsageError for a damaged record."""
    sought = SearchGoal.from_record(record.design["find"])
    condition = Requirement.parse(record.design["find"]["while"])
    rule = SearchRule(condition, Repeat.model_validate(record.design["repeat"]))
    cells = {cell.cell.key: cell for cell in summary.cells}
    all_searches = searches(sought, [cell.cell for cell in summary.cells])
    varying = _find_varying(all_searches, sought.parameter)
    return LimitStudy(
        sought.parameter,
        sought.bounds.goal,
        condition.text,
        record.metrics[condition.metric],
        condition.bound.value,
        sought.bounds.low,
        sought.bounds.high,
        sought.bounds.within,
        (rule.repeat.at_least, rule.repeat.at_most),
        tuple(_limit(search, rule, cells, varying) for search in all_searches),
    )


def _limit(search: Search, rule: SearchRule, cells: dict[str, CellSummary], varying: Sequence[str]) -> Limit:
    def is_met(at: Cell) -> bool | None:
        cell = cells.get(at.key)
        return rule.is_met(_results(cell)) if cell else None

    def move_to_low(cell: Cell) -> Cell:
        return Search(search.parameter, search.bounds, cell).cell_at(search.bounds.low)

    walk = search.walk(is_met)
    own = [cell for cell in cells.values() if move_to_low(cell.cell).key == search.first.key]
    probed = [_build_level(search, cell, judge_level(rule.requirement, _results(cell))) for cell in own]
    levels = tuple(sorted(probed, key=lambda one: one.place))
    by_place = {one.place: one for one in levels}
    up = search.bounds.goal == "maximize"
    ends = (walk.below, walk.above) if up else (walk.above, walk.below)
    holds, fails = (None if end is None else by_place[float(end)] for end in ends)
    label = " ".join(f"{name}={show_level(search.first.parameters[name])}" for name in varying)
    surely = _find_sure_failure(levels, holds, up=up)
    return Limit(
        label, _kind(search.bounds, walk), levels, holds, fails, surely, _find_oddities(levels, up=up)
    )


def _kind(bounds: SearchBounds, walk: Walk) -> Kind:
    if walk.current is not None or not walk.finished_levels:
        return "unfinished"
    if walk.below is not None and walk.above is not None:
        return "bracket"
    return "all" if (walk.above is None) == (bounds.goal == "maximize") else "none"


def _build_level(search: Search, cell: CellSummary, found: LevelVerdict) -> ProbedLevel:
    level = cell.cell.parameters[search.parameter]
    interval = found.interval
    return ProbedLevel(
        cell.cell,
        show_level(level),
        float(str(level)),
        _VERDICTS[found.met],
        found.n,
        found.failed,
        found.left_out,
        _finite_or_none(found.value),
        _finite_or_none(interval.low) if interval else None,
        _finite_or_none(interval.high) if interval else None,
        interval.confidence if interval else None,
    )


def _results(cell: CellSummary) -> list[Result]:
    return [trial.result for trial in cell.trials]


def _finite_or_none(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _find_sure_failure(
    levels: Sequence[ProbedLevel], holds: ProbedLevel | None, *, up: bool
) -> ProbedLevel | None:
    """The level nearest to the limit at which the condition surely does not hold."""
    beyond = [
        one
        for one in (levels if up else reversed(levels))
        if one.verdict is RequirementVerdict.NOT_MET and (holds is None or (one.place > holds.place) == up)
    ]
    return beyond[0] if beyond else None


def _find_oddities(levels: Sequence[ProbedLevel], *, up: bool) -> tuple[str, ...]:
    """Levels that hold beyond one that surely does not: the condition was taken to change its mind once."""
    ordered = levels if up else levels[::-1]
    oddities = []
    for at, one in enumerate(ordered):
        before = [other for other in ordered[:at] if other.verdict is RequirementVerdict.NOT_MET]
        if one.verdict is RequirementVerdict.MET and before:
            oddities.append(
                f"not monotonic: it holds at {one.text} but not at {before[-1].text}; either the condition"
                " has no single limit, or the system changed in between"
            )
    return tuple(oddities)


def _find_varying(found: Sequence[Search], searched: str) -> list[str]:
    names = found[0].first.parameters if found else {}
    levels = {name: {show_level(one.first.parameters[name]) for one in found} for name in names}
    return [name for name in names if name != searched and len(levels[name]) > 1]


def _text(level: ProbedLevel | None) -> str:
    return level.text if level else "–"


def _is_undecided(level: ProbedLevel | None) -> bool:
    return level is not None and level.verdict is RequirementVerdict.UNDECIDED


def _describe_failing(level: ProbedLevel | None) -> str:
    return "is undecided, which counts as not met" if _is_undecided(level) else "does not hold"
