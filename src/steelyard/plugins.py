"""From a name to a class: the only discovery code.

`use: fio` is the module `steelyard.workloads.fio`, a file or a folder, else the entry point `fio` of the
group `steelyard.workloads`. A module is imported when its name is used; listing imports nothing. The plug-in
class is the one public class that the module defines as a subclass of the kind's base.

`use: ./mine.py` is a file of the user's, or a folder with `__init__.py`. It is imported when a file is merely
checked, so nobody but the user and root may be able to replace it (`trust`).
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import metadata
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, TypeVar

from steelyard.errors import PlugInError, UnknownName, UsageError, suggest_name
from steelyard.model.keys.plugin_use import is_file
from steelyard.trust import check_ownership

Base = TypeVar("Base")
Declared = TypeVar("Declared")
State = tuple[tuple[int, int, int], ...]


def find(kind: str, name: str, base: type[Base]) -> type[Base]:
    """The plug-in class `name` of a kind such as `workloads`; a name may be the path of a file.

    Raises UnknownName with what exists, PlugInError when the plug-in cannot be imported.
    """
    if is_file(name):
        files = source_files(name)
        return _only_class(_import_file(files[0], tuple(map(_read_state, files))), base)
    if _is_builtin(kind, name):
        return _only_class(_import(f"steelyard.{kind}.{name}"), base)
    if entry := _external_plugins(kind, tuple(sys.path)).get(name):
        return _load_plugin(entry, base)
    hint = "`steelyard catalog` lists all of them"
    raise UnknownName(kind.removesuffix("s"), name, sorted(names(kind)), hint=hint)


def exists(kind: str, name: str) -> bool:
    """Whether there is a plug-in of that name, or a file at that path."""
    if is_file(name):
        return Path(name).exists()
    return _is_builtin(kind, name) or name in names(kind)  # the latter reads every package's metadata


def names(kind: str) -> set[str]:
    """All names of a kind, found without importing any of them."""
    return builtin_names(kind) | _external_plugins(kind, tuple(sys.path)).keys()


def read_declarations(kind: str, attribute: str, form: type[Declared]) -> dict[str, Declared]:
    """What plug-ins of a kind declare in a class attribute, by the plug-in's name.

    So one kind learns what another says of itself without importing it. All of the kind are imported, and
    those that cannot be are left out: a broken one fails only when it is named.
    """
    values = _read_attribute(kind, attribute, tuple(sys.path))
    return {name: value for name, value in values.items() if isinstance(value, form)}


def builtin_names(kind: str) -> set[str]:
    """The names that ship with Steelyard: the kind's files and folders, without its contract and its kit."""
    folder = Path(__file__).parent / kind
    files = {path.stem for path in folder.glob("*.py")}
    folders = {path.parent.name for path in folder.glob("*/__init__.py")}
    return {name for name in files | folders if _may_be_entry(name)}


def source_files(name: str) -> tuple[Path, ...]:
    """The Python files of a plug-in beside an experiment: the one to import, and the others of its folder.

    Raises PlugInError when there is none.
    """
    path = Path(os.path.normpath(Path(name).absolute()))
    if not path.exists():
        near = suggest_name(path.name, [each.name for each in path.parent.glob("*.py")])
        raise PlugInError(f"there is no file {path.name} in {path.parent}{near}")
    if not path.is_dir():
        return (path,)
    first = path / "__init__.py"
    if not first.is_file():
        raise PlugInError(f"{path} has no __init__.py; define the plug-in class there")
    return first, *sorted(each for each in path.rglob("*.py") if each != first)


def find_line(error: BaseException, file: str) -> int | None:
    """The line of a file from which an error came."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == file), None)


@cache
def _external_plugins(kind: str, path: tuple[str, ...]) -> Mapping[str, metadata.EntryPoint]:  # noqa: ARG001 - a key
    """What other packages bring, by name. Remembered as long as Python looks in the same places: it takes
    milliseconds, since the metadata of every package are read, and every cell of a plan asks.
    """
    entries = tuple(metadata.entry_points(group=f"steelyard.{kind}"))
    return {entry.name: entry for entry in reversed(entries)}  # of two with one name, the first


@cache
def _is_builtin(kind: str, name: str) -> bool:
    """As `name in builtin_names(kind)`, without listing the folder. Remembered: every cell of a plan asks."""
    folder = Path(__file__).parent / kind
    module = (folder / f"{name}.py", folder / name / "__init__.py")
    return name.isidentifier() and _may_be_entry(name) and any(path.is_file() for path in module)


@cache
def _read_attribute(kind: str, attribute: str, path: tuple[str, ...]) -> Mapping[str, object]:  # noqa: ARG001 - a key
    """Of the first public class of each plug-in that has it. Remembered: every cell of a plan asks."""
    values: dict[str, object] = {}
    for name in sorted(names(kind)):
        with suppress(PlugInError):
            declared = (getattr(one, attribute, None) for one in _list_classes(kind, name))
            values[name] = next((value for value in declared if value is not None), None)
    return values


def _list_classes(kind: str, name: str) -> tuple[type, ...]:
    if _is_builtin(kind, name):
        return _classes(_import(f"steelyard.{kind}.{name}"))
    plugin = _load_entry(_external_plugins(kind, tuple(sys.path))[name])
    return _classes(plugin) if isinstance(plugin, ModuleType) else (plugin,)


def _may_be_entry(name: str) -> bool:
    """Not the kind's contract, nor what its entries share, nor anything private."""
    return name not in ("base", "kit") and not name.startswith("_")


def _import(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except Exception as error:
        raise PlugInError(f"plug-in {module} cannot be imported: {type(error).__name__}: {error}") from error


def _load_entry(entry: metadata.EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise PlugInError(f"plug-in {entry.value} cannot be imported: {reason}") from error


def _load_plugin(entry: metadata.EntryPoint, base: type[Base]) -> type[Base]:
    plugin = _load_entry(entry)
    if isinstance(plugin, ModuleType):
        return _only_class(plugin, base)
    if not (inspect.isclass(plugin) and issubclass(plugin, base)):
        raise PlugInError(f"plug-in {entry.value} is not a subclass of {base.__module__}.{base.__name__}")
    return plugin


class _SourceLoader(SourceFileLoader):
    """Runs the text that was looked at, never what lies compiled beside it, and leaves nothing there."""

    def path_stats(self, path: str | bytes | os.PathLike[str]) -> NoReturn:
        """No time of change: so Python has nothing to compare a compiled file with."""
        raise OSError


def _read_state(path: Path) -> tuple[int, int, int]:
    """What differs once a file has been changed."""
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


@cache
def _import_file(path: Path, state: State) -> ModuleType:
    """The module in a file, imported again once the file has changed; each has a name that no other has."""
    _check_trust(path)
    name = f"steelyard_plugin_{hashlib.sha256(f'{path} {state}'.encode()).hexdigest()[:16]}"
    folder = [str(path.parent)] if path.name == "__init__.py" else None
    loader = _SourceLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(
        name, path, loader=loader, submodule_search_locations=folder
    )
    assert spec  # noqa: S101 - with a loader there is one
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # pydantic looks there for types
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        line = find_line(error, str(path))
        where = f"line {line}: " if line else ""
        reason = f"{where}{type(error).__name__}: {error}"
        raise PlugInError(f"plug-in {path} cannot be imported: {reason}") from error
    return module


def _check_trust(path: Path) -> None:
    """All that an import may read. Raises PlugInError."""
    inside = path.parent.rglob("*") if path.name == "__init__.py" else ()
    try:
        for each in (path, *inside):
            check_ownership(each, "the plug-in")
    except UsageError as error:
        raise PlugInError(f"{error.message}; {error.hint}") from error


def _only_class(module: ModuleType, base: type[Base]) -> type[Base]:
    own = [member for member in _classes(module) if issubclass(member, base)]
    if len(own) != 1:
        wanted = f"exactly one public subclass of {base.__name__}"
        where = module.__file__ if module.__name__.startswith("steelyard_plugin_") else module.__name__
        raise PlugInError(f"plug-in {where} must define {wanted}, found {len(own)}{_other_kinds(module)}")
    return own[0]


def _other_kinds(module: ModuleType) -> str:
    """What a module defines, where that is a plug-in of another kind."""
    named = {
        f"{member.__name__} is a {parent.__name__}"
        for member in _classes(module)
        for parent in member.__mro__
        if parent.__module__ == f"steelyard.{parent.__name__.lower()}s.base"
    }
    return f"; {', '.join(sorted(named))}" if named else ""


@cache
def _classes(module: ModuleType) -> tuple[type, ...]:
    """The public classes that a module defines."""
    return tuple(
        member
        for name, member in vars(module).items()
        if inspect.isclass(member) and member.__module__ == module.__name__ and not name.startswith("_")
    )
