"""Run the experiments of a suite that are not done yet."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from steelyard.controller.choices import RunChoices
from steelyard.controller.observer import BothObservers, Observer, Progress
from steelyard.controller.run import resume, start
from steelyard.errors import Interrupted, SteelyardError
from steelyard.spec.suites import LoadedSuite, SuiteUnit
from steelyard.store.layout import RunFolder, Store
from steelyard.store.reader import glance
from steelyard.store.suites import SuiteFolder
from steelyard.suites.progress import find_runs

Announce = Callable[[SuiteUnit, int, int], Observer]


class SuiteRunner:
    """Goes through a suite; what fails stops nothing but itself."""

    def __init__(self, folder: SuiteFolder, loaded: LoadedSuite, store: Store, choices: RunChoices) -> None:
        self._folder, self._loaded, self._store, self._choices = folder, loaded, store, choices
        lines = folder.read_lines()
        self._spent = sum(float(line.get("seconds") or 0.0) for line in lines if line.get("kind") == "ended")
        self._runs = find_runs(lines, store)

    def run(self, announce: Announce) -> None:
        """Every unit in its order, as long as the budget lasts. `announce` says who observes each.

        Raises Interrupted when a signal ended a unit; what had finished is kept, and the next session goes
        on.
        """
        with self._folder.lock():
            for number, unit in enumerate(self._loaded.units, start=1):
                if self._is_over(unit) or self._left() <= 0:
                    continue
                self._run_unit(unit, announce(unit, number, len(self._loaded.units)))

    def _is_over(self, unit: SuiteUnit) -> bool:
        run = self._runs.get(unit.name)
        return isinstance(run, RunFolder) and glance(run).state == "complete"

    def _left(self) -> float:
        """Seconds of the budget."""
        budget = self._loaded.suite.budget
        return float("inf") if budget is None else budget - self._spent

    def _run_unit(self, unit: SuiteUnit, observer: Observer) -> None:
        began, left = time.monotonic(), self._left()
        choices = replace(
            self._choices,
            site=unit.site or self._choices.site,
            seconds=None if left == float("inf") else left,
        )
        failure = ""
        try:
            self._measure(unit, choices, BothObservers(_Noter(self._folder, unit), observer))
        except Interrupted as error:
            if self._left() - (time.monotonic() - began) > 0:
                raise
            failure = error.message  # by the budget
        except SteelyardError as error:
            failure = error.message
        finally:
            seconds = time.monotonic() - began
            self._spent += seconds
            self._folder.add_line(kind="ended", unit=unit.name, seconds=seconds, failure=failure)

    def _measure(self, unit: SuiteUnit, choices: RunChoices, observer: Observer) -> None:
        run = self._runs.get(unit.name)
        if isinstance(run, RunFolder):
            resume(run, self._store, choices=choices, observer=observer)
        else:
            start(
                unit.experiment, unit.text, self._store, choices=choices, observer=observer, origin=unit.file
            )


class _Noter(Observer):
    """Writes down which run a unit has, as soon as there is one."""

    def __init__(self, folder: SuiteFolder, unit: SuiteUnit) -> None:
        self._folder, self._unit = folder, unit

    def on_start(self, folder: RunFolder, progress: Progress, seed: int) -> None:
        """The run is there."""
        self._folder.add_line(kind="run", unit=self._unit.name, run=folder.id)

    def on_end(self, folder: RunFolder, state: str, reason: str) -> None:
        """Also of one that ended before its first trial."""
        self._folder.add_line(kind="run", unit=self._unit.name, run=folder.id)
