"""From a file, or from Python, to a checked experiment; all problems at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import SpecError
from steelyard.model.experiment import Experiment
from steelyard.spec.checks.check import Checker
from steelyard.spec.faults import Fault
from steelyard.spec.partial_parse import PartialParse
from steelyard.spec.problem import Problem
from steelyard.spec.yaml.source import Source, read_bytes, read_content


def load(path: Path) -> tuple[Experiment, str]:
    """The experiment in a file, and the file's text. Raises SpecError with every problem, UsageError."""
    data = read_content(path, hint="`steelyard init` writes an example")
    source = read_bytes(data, str(path))
    return load_source(source, path.absolute().parent), data.decode("utf-8")


def load_source(source: Source, folder: Path | None = None) -> Experiment:
    """The experiment that a source says. `folder` is that of its file, with the plug-ins beside it.

    Raises SpecError with every problem, in the order of the file.
    """
    experiment, faults = check_tree(source.value, folder)
    if experiment and experiment.folder and experiment.dir and not experiment.folder.is_dir():
        faults.append(Fault(("dir",), f"{experiment.folder} is no folder on this machine"))
    faults += _list_lost_archives(experiment) if experiment else []
    if experiment is None or faults:
        raise SpecError(sorted({locate_fault(source, fault) for fault in faults}))
    return experiment


def check(experiment: Experiment) -> None:
    """Check an experiment made in Python. Raises SpecError."""
    faults = list(Checker(experiment).faults())
    if faults:
        raise SpecError(f"{'.'.join(map(str, fault.path))}: {fault.message}" for fault in faults)


def check_tree(tree: Any, folder: Path | None = None) -> tuple[Experiment | None, list[Fault]]:
    """The experiment of a tree as far as it could be read, and all faults; `folder` as in `load_source`."""
    if not isinstance(tree, Mapping):
        return None, [
            Fault((), "an experiment is a mapping of keys to values, starting with 'experiment: NAME'")
        ]
    partial = PartialParse.of(tree)
    if partial.experiment is None:
        return None, partial.faults
    experiment = partial.experiment.with_folder(folder) if folder else partial.experiment
    checker = Checker(experiment, broken=partial.broken, guessed=partial.guessed, lost=partial.lost)
    beyond = [partial.map_to_file(fault) for fault in checker.faults()]
    return experiment, [*partial.faults, *beyond]


def locate_fault(source: Source, fault: Fault) -> Problem:
    """A fault at its place in a file."""
    mark = source.locate(fault.path, key=fault.at_key)
    return Problem(source.name, mark.line, mark.column, fault.message)


def _list_lost_archives(experiment: Experiment) -> list[Fault]:
    """Archives of images that are not on this machine."""
    folder = experiment.folder
    return [
        Fault(("images", name, "archive"), f"archive: {folder / recipe.archive} is no file on this machine")
        for name, recipe in experiment.images.items()
        if folder and recipe.archive and not (folder / recipe.archive).is_file()
    ]
