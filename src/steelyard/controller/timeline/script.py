"""A function that yields the entries of a timeline: what it knows, what it is told, what it may say."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import ValidationError

from steelyard.errors import TrialFailure
from steelyard.model.experiment import Experiment
from steelyard.model.keys.timeline import SCRIPT, Entry, widen_entry
from steelyard.model.trial import Cell, Scalar
from steelyard.plugins import find_line
from steelyard.spec.checks.snapshots import snapshot_faults
from steelyard.spec.checks.timeline import TimelineChecker
from steelyard.spec.faults import explain_errors
from steelyard.units import Duration

States = Mapping[str, float | bool]
_SECONDS = ("at", "for", "within")


class EntryOutcome(NamedTuple):
    """What came of an entry, in seconds.

    `asked` and `began` count from the beginning of its phase; `asked` is None for one with `when`.
    """

    asked: float | None
    began: float
    took: float
    facts: Mapping[str, Any]


@dataclass(slots=True)
class Ongoing:
    """What a function knows of its trial.

    `random` is seeded by the run, the cell and the repetition. `elapsed` (seconds of the phase) and `states`
    (what services tell of themselves: `ring.settled`, `ring.load_bytes`) are those of the moment at which the
    function was last asked for an entry.
    """

    parameters: Mapping[str, Scalar]
    random: random.Random
    elapsed: float = 0.0
    states: States = field(default_factory=dict)


class TimelineScript:
    """One play of a function, in one trial. `during` is the phase of entries that name none."""

    def __init__(self, entry: Entry, experiment: Experiment, cell: Cell, seed: int) -> None:
        self._entry, self._experiment, self._cell = entry, experiment, cell
        self._ongoing = Ongoing(dict(cell.parameters), random.Random(seed))
        function = entry.function
        if function is None:
            raise TrialFailure("event-failed", f"the function {entry.options['use']} was never loaded")
        self._file, self._steps = function.__code__.co_filename, function(self._ongoing)

    def next_entry(self, elapsed: float, states: States, outcome: EntryOutcome | None) -> Entry | None:
        """What it wants now; None at its end. Raises TrialFailure with its line, or what is wrong with it."""
        self._ongoing.elapsed, self._ongoing.states = elapsed, states
        try:
            given = self._steps.send(outcome)
        except StopIteration:
            return None
        except (Exception, SystemExit) as error:
            raise self._make_error(error) from error
        return self._check_entry(self._read(given))

    def close(self) -> None:
        """End it: what it has under `finally` runs. Raises TrialFailure as `next_entry`."""
        try:
            self._steps.close()
        except (Exception, SystemExit) as error:
            raise self._make_error(error) from error

    @property
    def _name(self) -> str:
        return str(self._entry.options["use"])

    def _read(self, given: object) -> Entry:
        given = _add_units(given)
        try:
            entry = given if isinstance(given, Entry) else Entry.model_validate(widen_entry(given))
        except (ValidationError, ValueError) as error:
            wrong = explain_errors(error, given, Entry) if isinstance(error, ValidationError) else ()
            said = "; ".join(fault.message for fault in wrong) or str(error)
            raise self._make_refusal(said) from error
        if folder := self._experiment.folder:
            entry = entry.with_folder(folder)
        return entry if entry.during else entry.model_copy(update={"during": self._entry.during})

    def _check_entry(self, entry: Entry) -> Entry:
        """Checked as if it stood in the file alone."""
        if entry.do == SCRIPT or entry.every is not None:
            raise self._make_refusal("another function, or 'every'; use a loop instead")
        alone = self._experiment.model_copy(update={"timeline": (entry,)})
        kept = [fault for fault in snapshot_faults(alone) if fault.path[0] == "timeline"]
        if wrong := [*TimelineChecker(alone).entry_faults(0, self._cell), *kept]:
            raise self._make_refusal("; ".join(fault.message for fault in wrong))
        return entry

    def _make_error(self, error: BaseException) -> TrialFailure:
        """A mistake of the function's own, with the line in its file that led there."""
        line = find_line(error, self._file)
        where = f", line {line}" if line else ""
        return TrialFailure("event-failed", f"{self._name}{where}: {type(error).__name__}: {error}")

    def _make_refusal(self, reason: str) -> TrialFailure:
        return TrialFailure("event-failed", f"{self._name} yields an invalid entry: {reason}")


def _add_units(given: object) -> object:
    """A function reckons in seconds, so its bare numbers are seconds; in a file they would be a riddle."""
    if not isinstance(given, dict):
        return given
    bare = {key: given[key] for key in _SECONDS if isinstance(given.get(key), int | float)}
    return {**given, **{key: Duration(value) for key, value in bare.items()}}
