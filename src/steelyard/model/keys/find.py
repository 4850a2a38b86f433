"""The search for a workload's limit: `find: {maximize: rate, while: read_p99 <= 20ms}`, and its levels.

The searched parameter is declared by its bounds, `rate: {between: [1000, 64000]}`. From the low bound the
level is doubled until the condition no longer holds (for `minimize`: until it holds) or the high bound is
reached; then the bracket is halved, on a logarithmic scale, until it is narrower than `within`. So all levels
that can ever be probed form a tree, which is known before the first trial.

`find: {knee: requests, of: iops}` searches for the level beyond which more brings nothing: `knee_walk`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from steelyard.errors import UsageError
from steelyard.model.keys import knee_walk
from steelyard.model.keys.levels import Levels
from steelyard.model.keys.requirement import Requirement
from steelyard.model.keys.walk import Level, Walk
from steelyard.model.part import Part
from steelyard.model.trial import Cell
from steelyard.units import Share

WIDEST = 1e9
"""How many times the low bound the high one may be; 30 doublings."""
FINEST, COARSEST = 0.001, 1.0
TOLERANCE = 0.05
GOALS = ("maximize", "minimize", "knee")
_NEEDED = {
    "of": "the metric whose knee to find, for example 'of: iops'",
    "while_": "the condition that must hold, for example 'while: wall.median <= 20ms'",
}


class Find(Part):
    """What is searched for. One of `maximize`, `minimize` and `knee` names the parameter."""

    maximize: str | None = Field(None, description="The parameter whose highest passing level to find")
    minimize: str | None = Field(None, description="The parameter whose lowest passing level to find")
    knee: str | None = Field(
        None, description="The parameter whose smallest level to find beyond which more brings no gain"
    )
    while_: str | None = Field(
        None,
        alias="while",
        description="The condition that must hold, as in `require`: read_p99.median <= 20ms",
    )
    of: str | None = Field(None, description="The metric whose knee to find; more of it must be better")
    tolerance: Share = Field(
        Share(TOLERANCE), description="With `knee`: the largest gain that counts as no gain, for example 5%"
    )
    within: Share = Field(
        Share(0.05), description="How far apart the ends of the bracket may be, for example 5%"
    )

    @field_validator("while_")
    @classmethod
    def _check_condition(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            requirement = Requirement.parse(value)
        except UsageError as error:
            raise ValueError(error.message) from None
        if requirement.operator in ("==", "!="):
            raise ValueError(
                f"'{value}': a limit needs one of <=, <, >=, >; {requirement.operator} has no direction"
            )
        return value

    @field_validator("within")
    @classmethod
    def _check_within(cls, value: Share) -> Share:
        if not FINEST <= value <= COARSEST:
            raise ValueError(f"{value} must be between 0.1% and 100%")
        return value

    @field_validator("tolerance")
    @classmethod
    def _check_tolerance(cls, value: Share) -> Share:
        if not 0 <= value < 1:
            raise ValueError(
                f"{value} must be between 0% and 99%: a doubled level at best doubles its figure"
            )
        return value

    @model_validator(mode="after")
    def _check_goal(self) -> Self:
        if sum(getattr(self, goal) is not None for goal in GOALS) != 1:
            raise ValueError("find has exactly one of the keys 'maximize', 'minimize', 'knee'")
        needed, others = ("of", ("while_",)) if self.knee else ("while_", ("of", "tolerance"))
        wrong = [other.strip("_") for other in others if other in self.model_fields_set]
        faults = [f"'{other}' does not go with '{self.goal}'; remove it" for other in wrong]
        if getattr(self, needed) is None:
            faults.append(f"'{self.goal}' needs '{needed.strip('_')}', {_NEEDED[needed]}")
        if faults:
            raise ValueError("find: " + "; ".join(faults))
        return self

    @property
    def goal(self) -> str:
        """`maximize`, `minimize` or `knee`."""
        return next(goal for goal in GOALS if getattr(self, goal) is not None)

    @property
    def parameter(self) -> str:
        """The parameter that is searched."""
        return self.maximize or self.minimize or self.knee or ""

    @property
    def requirement(self) -> Requirement | None:
        """The condition; a knee has none."""
        return Requirement.parse(self.while_) if self.while_ else None

    @property
    def metric(self) -> str:
        """The metric that decides."""
        return self.requirement.metric if self.requirement else self.of or ""

    def __str__(self) -> str:
        """`maximize rate while read_p99 <= 20ms`."""
        if self.knee:
            return f"knee of {self.of} over {self.parameter}, tolerance {self.tolerance}"
        return f"{self.goal} {self.parameter} while {self.while_}"


@dataclass(frozen=True, slots=True)
class SearchBounds:
    """Between which levels, how finely and in which direction is searched. `whole`: only whole numbers.

    `below` and `above`, in all methods, are the ends of the bracket so far: the highest level at which the
    search went up, and the lowest at which it went down; None where there is none yet.
    """

    low: Level
    high: Level
    within: float
    whole: bool
    goal: str

    @classmethod
    def of(cls, find: Find, levels: Levels) -> SearchBounds:
        """From the file. Bounds that are whole numbers make whole levels; `1.0` is none."""
        low, high = levels.between or (1, 1)
        whole = levels.integer or (isinstance(low, int) and isinstance(high, int))
        kind = round if whole else float
        return cls(kind(low), kind(high), float(find.within), whole, find.goal)

    def is_upward(self, *, met: bool) -> bool:
        """Whether the search goes up from a level: it is looked for beyond what holds, or what does not."""
        return met == (self.goal == "maximize")

    def next_level(self, below: Level | None, above: Level | None) -> Level | None:
        """The next level to probe; None when the search is over."""
        if above is None:
            if below is None:
                return self.low
            return None if below >= self.high else min(self._tidy(2 * below, 12), self.high)
        return None if below is None or self.is_narrow(below, above) else self.middle(below, above)

    def is_narrow(self, below: Level, above: Level) -> bool:
        """Whether a bracket is as narrow as was asked, or holds no further level."""
        return above <= below * (1 + self.within) or (self.whole and above - below <= 1)

    def walk(self, met: Callable[..., bool | None]) -> Walk:
        """The way of a search. `met` says whether a level holds; None while it is still measured.

        For a knee it is asked as `knee_walk` says.
        """
        if self.goal == "knee":
            return knee_walk.walk(self, met)
        settled: list[Level] = []
        below: Level | None = None
        above: Level | None = None
        while (level := self.next_level(below, above)) is not None:
            holds = met(level)
            if holds is None:
                break
            settled.append(level)
            below, above = (level, above) if self.is_upward(met=holds) else (below, level)
        return Walk(tuple(settled), level, below, above)

    def count_levels(self) -> tuple[int, int]:
        """How many levels a whole search has, at least and at most."""
        return self.count_left(self.walk(lambda *_: None))

    def count_left(self, walk: Walk) -> tuple[int, int]:
        """How many levels a search has still to settle, with the current one, at least and at most."""
        if walk.current is None:
            return 0, 0
        if self.goal == "knee":
            return knee_walk.count_left(self, walk)
        return self.count_probes(walk.below, walk.above)

    def count_probes(self, below: Level | None = None, above: Level | None = None) -> tuple[int, int]:
        """How many levels there are still to probe, at least and at most."""
        return _count_probes(self, below, above)

    def middle(self, below: Level, above: Level) -> Level:
        """Between both, on a logarithmic scale: round, but no further off than a quarter of `within`."""
        middle = self._tidy(math.sqrt(below * above), math.ceil(1 + math.log10(2 / self.within)))
        return min(max(middle, below + 1), above - 1) if self.whole else middle

    def _tidy(self, level: float, digits: int) -> Level:
        tidy = float(f"{level:.{digits}g}")
        return round(tidy) if self.whole else tidy


@lru_cache(maxsize=1 << 17)
def _count_probes(bounds: SearchBounds, below: Level | None, above: Level | None) -> tuple[int, int]:
    level = bounds.next_level(below, above)
    if level is None:
        return 0, 0
    up, down = _count_probes(bounds, level, above), _count_probes(bounds, below, level)
    return 1 + min(up[0], down[0]), 1 + max(up[1], down[1])


@dataclass(frozen=True, slots=True)
class Search:
    """One search, for one combination of the other parameters. `first` is its cell at the low bound."""

    parameter: str
    bounds: SearchBounds
    first: Cell

    def cell_at(self, level: Level) -> Cell:
        """The cell of a level."""
        return Cell({**self.first.parameters, self.parameter: level})

    def walk(self, met: Callable[..., bool | None]) -> Walk:
        """How far it has come; see `SearchBounds.walk`."""
        return self.bounds.walk(lambda *levels: met(*map(self.cell_at, levels)))

    @property
    def ends(self) -> tuple[Cell, Cell]:
        """The cells at both bounds."""
        return self.first, self.cell_at(self.bounds.high)


class SearchGoal(NamedTuple):
    """What a run was told to find, as its record has it: a requirement's limit, or the knee `of` a metric."""

    parameter: str
    requirement: Requirement | None
    bounds: SearchBounds
    of: str = ""
    tolerance: float = TOLERANCE

    @property
    def metric(self) -> str:
        """The metric that decides."""
        return self.requirement.metric if self.requirement else self.of

    def record(self) -> dict[str, Any]:
        """For `design.json`."""
        condition = self.requirement.text if self.requirement else None
        own = {"parameter": self.parameter, "while": condition, "metric": self.metric}
        bounds = {name: getattr(self.bounds, name) for name in SearchBounds.__dataclass_fields__}
        return {**own, **bounds, "tolerance": self.tolerance}

    @classmethod
    def from_record(cls, found: Mapping[str, Any]) -> SearchGoal:
        """From there. Raises KeyError, UsageError."""
        bounds = SearchBounds(**{name: found[name] for name in SearchBounds.__dataclass_fields__})
        requirement = Requirement.parse(found["while"]) if found["while"] else None
        tolerance = float(found.get("tolerance", TOLERANCE))  # older records have none
        of = "" if requirement else str(found["metric"])
        return cls(found["parameter"], requirement, bounds, of, tolerance)

    @classmethod
    def from_file(cls, find: Find, parameters: Mapping[str, Levels]) -> SearchGoal:
        """From the file."""
        bounds = SearchBounds.of(find, parameters[find.parameter])
        return cls(find.parameter, find.requirement, bounds, find.of or "", float(find.tolerance))


def searches(sought: SearchGoal, cells: Iterable[Cell]) -> tuple[Search, ...]:
    """A search for each combination of the other parameters, in the order of the cells."""
    by_key: dict[str, Search] = {}
    for cell in cells:
        first = Cell({**cell.parameters, sought.parameter: sought.bounds.low})
        by_key.setdefault(first.key, Search(sought.parameter, sought.bounds, first))
    return tuple(by_key.values())
