"""From a file, or from Python, to a checked experiment; all problems at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import SpecError
from steelyard.model.experiment import Experiment
from steelyard.spec.check import Checker
from steelyard.spec.problem import Problem
from steelyard.spec.salvage import Salvage
from steelyard.spec.sentences import Fault
from steelyard.spec.source import Source, content, read_bytes


def load(path: Path) -> tuple[Experiment, str]:
    """The experiment in a file, and the file's text. Raises SpecError with every problem, UsageError."""
    data = content(path, hint="`steelyard init` writes a first one")
    source = read_bytes(data, str(path))
    return checked_source(source).lying_in(path.absolute().parent), data.decode("utf-8")


def checked_source(source: Source) -> Experiment:
    """The experiment that a source says. Raises SpecError with every problem, in the order of the file."""
    experiment, found = checked(source.value)
    if experiment is None or found:
        raise SpecError(sorted({_located(source, fault) for fault in found}))
    return experiment


def check(experiment: Experiment) -> None:
    """Check an experiment made in Python. Raises SpecError."""
    found = list(Checker(experiment).faults())
    if found:
        raise SpecError(f"{'.'.join(map(str, fault.path))}: {fault.message}" for fault in found)


def checked(tree: Any) -> tuple[Experiment | None, list[Fault]]:
    """The experiment of a tree as far as it could be read, and all faults."""
    if not isinstance(tree, Mapping):
        return None, [
            Fault((), "an experiment is a mapping of keys to values, starting with 'experiment: NAME'")
        ]
    salvaged = Salvage.of(tree)
    if salvaged.experiment is None:
        return None, salvaged.faults
    checker = Checker(
        salvaged.experiment, broken=salvaged.broken, guessed=salvaged.guessed, lost=salvaged.lost
    )
    beyond = [salvaged.in_file(fault) for fault in checker.faults()]
    return salvaged.experiment, [*salvaged.faults, *beyond]


def _located(source: Source, fault: Fault) -> Problem:
    mark = source.locate(fault.path, key=fault.at_key)
    return Problem(source.name, mark.line, mark.column, fault.message)
