"""The search for a workload's limit: `find: {maximize: rate, while: read_p99 <= 20ms}`, and its levels.

The searched parameter is declared by its bounds, `rate: {between: [1000, 64000]}`. From the low bound the
level is doubled until the condition no longer holds (for `minimize`: until it holds) or the high bound is
reached; then the bracket is halved, on a logarithmic scale, until it is narrower than `within`. So all levels
that can ever be probed form a tree, which is known before the first trial.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from steelyard.errors import UsageError
from steelyard.model.keys.levels import Levels
from steelyard.model.keys.requirement import Requirement
from steelyard.model.part import Part
from steelyard.model.trial import Cell
from steelyard.units import Share

Level = int | float
WIDEST = 1e9
"""How many times the low bound the high one may be; 30 doublings."""
FINEST, COARSEST = 0.001, 1.0


class Find(Part):
    """What is searched for. One of `maximize` and `minimize` names the parameter."""

    maximize: str | None = Field(None, description="The parameter whose highest passing level to find")
    minimize: str | None = Field(None, description="The parameter whose lowest passing level to find")
    while_: str = Field(
        alias="while", description="The condition that must hold, as in `require`: read_p99.median <= 20ms"
    )
    within: Share = Field(
        Share(0.05), description="How far apart the ends of the bracket may be, for example 5%"
    )

    @field_validator("while_")
    @classmethod
    def _check_condition(cls, value: str) -> str:
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

    @model_validator(mode="after")
    def _check_goal(self) -> Self:
        if (self.maximize is None) == (self.minimize is None):
            raise ValueError("find has exactly one of the keys 'maximize', 'minimize'")
        return self

    @property
    def goal(self) -> str:
        """`maximize` or `minimize`."""
        return "minimize" if self.maximize is None else "maximize"

    @property
    def parameter(self) -> str:
        """The parameter that is searched."""
        return self.maximize or self.minimize or ""

    @property
    def requirement(self) -> Requirement:
        """The condition."""
        return Requirement.parse(self.while_)


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
        return None if below is None or self.is_narrow(below, above) else self._middle(below, above)

    def is_narrow(self, below: Level, above: Level) -> bool:
        """Whether a bracket is as narrow as was asked, or holds no further level."""
        return above <= below * (1 + self.within) or (self.whole and above - below <= 1)

    def walk(self, met: Callable[[Level], bool | None]) -> Walk:
        """The way of a search. `met` says whether a level holds; None while it is still measured."""
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

    def count_probes(self, below: Level | None = None, above: Level | None = None) -> tuple[int, int]:
        """How many levels there are still to probe, at least and at most."""
        return _count_probes(self, below, above)

    def _middle(self, below: Level, above: Level) -> Level:
        """Between both, on a logarithmic scale: round, but no further off than a quarter of `within`."""
        middle = self._tidy(math.sqrt(below * above), math.ceil(1 + math.log10(2 / self.within)))
        return min(max(middle, below + 1), above - 1) if self.whole else middle

    def _tidy(self, level: float, digits: int) -> Level:
        tidy = float(f"{level:.{digits}g}")
        return round(tidy) if self.whole else tidy


class Walk(NamedTuple):
    """How far a search has come. `current` is the level that it measures now; None when it is over."""

    finished_levels: tuple[Level, ...]
    current: Level | None
    below: Level | None
    above: Level | None

    @property
    def levels(self) -> tuple[Level, ...]:
        """All levels so far, in the order in which they were probed."""
        return self.finished_levels if self.current is None else (*self.finished_levels, self.current)


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

    def walk(self, met: Callable[[Cell], bool | None]) -> Walk:
        """How far it has come; see `Bounds.walk`."""
        return self.bounds.walk(lambda level: met(self.cell_at(level)))

    @property
    def ends(self) -> tuple[Cell, Cell]:
        """The cells at both bounds."""
        return self.first, self.cell_at(self.bounds.high)


class SearchGoal(NamedTuple):
    """What a run was told to find, as its record has it."""

    parameter: str
    requirement: Requirement
    bounds: SearchBounds

    def record(self) -> dict[str, Any]:
        """For `design.json`."""
        condition = self.requirement
        own = {"parameter": self.parameter, "while": condition.text, "metric": condition.metric}
        return own | {name: getattr(self.bounds, name) for name in SearchBounds.__dataclass_fields__}

    @classmethod
    def from_record(cls, found: Mapping[str, Any]) -> SearchGoal:
        """From there. Raises KeyError, UsageError."""
        bounds = SearchBounds(**{name: found[name] for name in SearchBounds.__dataclass_fields__})
        return cls(found["parameter"], Requirement.parse(found["while"]), bounds)

    @classmethod
    def of(cls, find: Find, parameters: Mapping[str, Levels]) -> SearchGoal:
        """From the file."""
        return cls(find.parameter, find.requirement, SearchBounds.of(find, parameters[find.parameter]))


def searches(sought: SearchGoal, cells: Iterable[Cell]) -> tuple[Search, ...]:
    """A search for each combination of the other parameters, in the order of the cells."""
    by_key: dict[str, Search] = {}
    for cell in cells:
        first = Cell({**cell.parameters, sought.parameter: sought.bounds.low})
        by_key.setdefault(first.key, Search(sought.parameter, sought.bounds, first))
    return tuple(by_key.values())
