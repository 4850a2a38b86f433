"""How far a suite is, by what was written down of it; its runs are not read, but for their states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.errors import UnknownName
from steelyard.store.layout import RunFolder, Store
from steelyard.store.reader import glance
from steelyard.store.suites import SuiteFolder
from steelyard.units import format_count

SuiteState = Literal["running", "complete", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class UnitProgress:
    """An experiment of a suite: its run, its run's state, and why its last session failed; each empty where
    there is none. `seconds` are those of all its sessions that have ended.
    """

    name: str
    file: str
    run: str
    state: str
    seconds: float
    failure: str


@dataclass(frozen=True, slots=True)
class SuiteProgress:
    """A suite that was begun, at `began` (s since 1970). `budget` is in s."""

    id: str
    name: str
    about: str
    budget: float | None
    not_tested: Mapping[str, str]
    began: float
    state: SuiteState
    units: tuple[UnitProgress, ...]

    @property
    def done(self) -> int:
        """How many of its experiments have a complete run."""
        return sum(unit.state == "complete" for unit in self.units)

    def describe(self) -> str:
        """`2 of 3 experiments done`"""
        return f"{self.done} of {format_count(len(self.units), 'experiment')} done"


def read_progress(folder: SuiteFolder, store: Store) -> SuiteProgress:
    """Where a suite stands. Raises StoreError.

    Whether it is live is asked before and after: one that ends or begins while it is read is not interrupted.
    """
    was_live = folder.is_live()
    lines = folder.read_lines()
    plan: Mapping[str, Any] = next((line for line in lines if line.get("kind") == "plan"), {})
    units = tuple(_read_units(plan, lines, store))
    return SuiteProgress(
        folder.id,
        str(plan.get("suite", "")),
        str(plan.get("about", "")),
        plan.get("budget"),
        {str(name): str(why) for name, why in dict(plan.get("not_tested") or {}).items()},
        float(lines[0].get("wall") or 0.0) if lines else 0.0,
        _judge_state(units, live=was_live or folder.is_live()),
        units,
    )


def find_runs(lines: Sequence[Mapping[str, Any]], store: Store) -> dict[str, RunFolder | str]:
    """The run of each unit that has one, by what was written down; of one that is gone, its name."""
    runs: dict[str, RunFolder | str] = {}
    for line in lines:
        if line.get("kind") == "run":
            name = str(line.get("run"))
            runs[str(line.get("unit"))] = name
            with suppress(UnknownName):
                runs[str(line.get("unit"))] = store.find(name)
    return runs


def _read_units(
    plan: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], store: Store
) -> Iterator[UnitProgress]:
    runs = find_runs(lines, store)
    for unit in plan.get("units") or ():
        name, run = str(unit.get("name")), runs.get(str(unit.get("name")))
        ended = [line for line in lines if line.get("kind") == "ended" and line.get("unit") == name]
        seconds = sum(float(line.get("seconds") or 0.0) for line in ended)
        failure = str(ended[-1].get("failure") or "") if ended else ""
        if isinstance(run, str):
            run, failure = None, f"its run {run} is not in the store"
        state = glance(run).state if run else ""
        yield UnitProgress(name, str(unit.get("file")), run.id if run else "", state, seconds, failure)


def _judge_state(units: Sequence[UnitProgress], *, live: bool) -> SuiteState:
    if live:
        return "running"
    if all(unit.state == "complete" for unit in units):
        return "complete"
    over = all(unit.state in ("complete", "failed") or (not unit.run and unit.failure) for unit in units)
    return "failed" if over else "interrupted"
