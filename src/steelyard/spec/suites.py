"""From a suite's file to its experiments, checked before any is run; all problems of all files at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from steelyard.errors import SpecError, UsageError
from steelyard.model.experiment import Experiment
from steelyard.model.keys.alert import Alert
from steelyard.model.suite import Suite, SuiteEntry
from steelyard.spec.change import load_changed
from steelyard.spec.faults import Fault, explain_errors
from steelyard.spec.load import locate_fault
from steelyard.spec.yaml.source import Source, read_bytes, read_content

KEY = "suite"


@dataclass(frozen=True, slots=True)
class SuiteUnit:
    """An experiment of a suite: what is run, its text, its file, where. `name` is its own in the suite."""

    name: str
    experiment: Experiment
    text: str
    file: Path
    site: str | None


@dataclass(frozen=True, slots=True)
class LoadedSuite:
    """A suite that was read, with its text."""

    suite: Suite
    text: str
    units: tuple[SuiteUnit, ...]

    @property
    def rules(self) -> tuple[Alert, ...]:
        """The rules of all its experiments."""
        return tuple(rule for unit in self.units for rule in unit.experiment.alert)


def is_suite(path: Path) -> bool:
    """Whether a file says that it is a suite; what is wrong with one that is none, its reader says.

    An experiment is hardly ever parsed for that. Raises SpecError.
    """
    try:
        data = read_content(path)
    except UsageError:
        return False
    if KEY.encode() not in data:
        return False
    source = read_bytes(data, str(path))
    return isinstance(source.value, Mapping) and KEY in source.value and "experiment" not in source.value


def load_suite(path: Path, place: Path | None = None) -> LoadedSuite:
    """A suite and its experiments; `place` is the folder that they lie in, by default the file's.

    Raises SpecError with every problem of every file, UsageError.
    """
    data = read_content(path)
    source = read_bytes(data, str(path))
    suite = _parse(source)
    folder = place or path.absolute().parent
    problems: list[object] = []
    units: list[SuiteUnit] = []
    for index, entry in enumerate(suite.experiments):
        try:
            units.append(_load_unit(suite, entry, folder, [unit.name for unit in units]))
        except SpecError as error:
            problems += error.problems
        except UsageError as error:
            problems.append(locate_fault(source, Fault(("experiments", index), error.message)))
    if problems:
        raise SpecError(problems)
    return LoadedSuite(suite, data.decode("utf-8"), tuple(units))


def _parse(source: Source) -> Suite:
    if not isinstance(source.value, Mapping):
        raise SpecError(
            [locate_fault(source, Fault((), "a suite is a mapping that starts with 'suite: NAME'"))]
        )
    try:
        return Suite.model_validate(source.value)
    except ValidationError as error:
        faults = explain_errors(error, source.value, Suite)
        raise SpecError(sorted({locate_fault(source, fault) for fault in faults})) from error


def _load_unit(suite: Suite, entry: SuiteEntry, folder: Path, taken: list[str]) -> SuiteUnit:
    file = folder / entry.file
    changes = {**entry.changes, "tags": {**suite.tags, KEY: suite.suite}}
    experiment, text = load_changed(file, changes, entry.levels)
    count = sum(name.partition("#")[0] == experiment.experiment for name in taken)
    name = experiment.experiment if not count else f"{experiment.experiment}#{count + 1}"
    return SuiteUnit(name, experiment, text, file.absolute(), entry.site)
