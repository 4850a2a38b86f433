"""Functions of the user's that are a timeline: looked up, and their files kept with the run.

So every later session of a run plays the same text, also in a job on another machine, and the record has all
that it takes to repeat the run. A file stands alone: what it imports must be installed. It is run only
because the user named it in an experiment of his own.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.model.experiment import Experiment
from steelyard.model.keys.timeline import SCRIPT, Entry, EventFunction
from steelyard.store.layout import RunFolder
from steelyard.store.writer import RunWriter
from steelyard.trust import check_ownership


def read_texts(experiment: Experiment) -> dict[str, str]:
    """The files of all functions, by the names under which they are kept. Raises UsageError when one cannot
    be read.
    """
    place = experiment.folder
    return {_stored_name(index, entry): _read_text(entry, place) for index, entry in _scripts(experiment)}


def save_texts(found: dict[str, str], writer: RunWriter) -> None:
    """Write them into the run's folder. Raises StoreError."""
    if found:
        writer.make_directory(writer.folder.functions)
    for name, text in found.items():
        writer.write_text(writer.folder.functions / name, text.rstrip("\n"), sync=True)


def load_functions(experiment: Experiment) -> Experiment:
    """The experiment with the functions that its timeline names, from the user's files. Raises UsageError."""
    return _attach_functions(experiment, lambda _, entry: _path(entry, experiment.folder))


def reload_functions(experiment: Experiment, folder: RunFolder) -> Experiment:
    """The same from the run's folder. Raises UsageError when one cannot be had from there."""
    return _attach_functions(experiment, lambda index, entry: folder.functions / _stored_name(index, entry))


def _attach_functions(experiment: Experiment, path_of: Callable[[int, Entry], Path]) -> Experiment:
    entries = list(experiment.timeline)
    if all(entry.do != SCRIPT for entry in entries):
        return experiment
    for index, entry in _scripts(experiment):
        if entry.function is None:
            entries[index] = entry.with_function(
                _import_function(path_of(index, entry), _split_use(entry)[1])
            )
    return experiment.model_copy(update={"timeline": tuple(entries)})


def _scripts(experiment: Experiment) -> Iterator[tuple[int, Entry]]:
    return ((index, entry) for index, entry in enumerate(experiment.timeline) if entry.do == SCRIPT)


def _split_use(entry: Entry) -> tuple[str, str]:
    """File and function."""
    file, _, name = str(entry.options["use"]).rpartition(":")
    return file, name


def _stored_name(index: int, entry: Entry) -> str:
    """The place in the timeline tells two files of one name apart."""
    return f"{index + 1}-{Path(_split_use(entry)[0]).name}"


def _path(entry: Entry, origin: Path | None) -> Path:
    return (origin or Path()) / _split_use(entry)[0]


def _read_text(entry: Entry, origin: Path | None) -> str:
    if entry.function is not None:
        return _read_source(entry.function)
    path = _path(entry, origin)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot load the timeline's function {entry.options['use']}: {error}") from error


def _read_source(function: EventFunction) -> str:
    """The whole file of a function from Python, with its imports; of one without a file, its own lines."""
    file = inspect.getsourcefile(function)
    if file and Path(file).is_file():
        return Path(file).read_text(encoding="utf-8")
    try:
        return inspect.getsource(function)
    except OSError:
        return f"# {function.__name__}: its source is not available\n"


def _import_function(path: Path, name: str) -> EventFunction:
    hint = "define the function at the top level of a file that can be imported by itself"
    spec = importlib.util.spec_from_file_location(f"steelyard_timeline_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"the timeline's function '{name}': {path} is not a Python file", hint=hint)
    check_ownership(path, "the timeline's function")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        function: EventFunction = getattr(module, name)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UsageError(
            f"the timeline's function '{name}' cannot be imported from {path}: {reason}", hint=hint
        ) from error
    if not inspect.isgeneratorfunction(function):
        raise UsageError(f"the timeline's '{name}' in {path} is not a generator function: it must `yield`")
    return function
