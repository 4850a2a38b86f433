"""From a name to a class: the only discovery code.

`use: fio` is the module `steelyard.workloads.fio`, a file or a folder, else the entry point `fio` of the
group `steelyard.workloads`. A module is imported when its name is used; listing imports nothing. The plug-in
class is the one public class that the module defines as a subclass of the kind's base.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from steelyard.errors import PlugInError, UnknownName

Base = TypeVar("Base")
Declared = TypeVar("Declared")


def find(kind: str, name: str, base: type[Base]) -> type[Base]:
    """The plug-in class `name` of a kind such as `workloads`.

    Raises UnknownName with what exists, PlugInError when the plug-in cannot be imported.
    """
    if _is_builtin(kind, name):
        return _only_class(_import(f"steelyard.{kind}.{name}"), base)
    if entry := _external_plugins(kind, tuple(sys.path)).get(name):
        return _load_plugin(entry, base)
    hint = "`steelyard catalog` lists all of them"
    raise UnknownName(kind.removesuffix("s"), name, sorted(names(kind)), hint=hint)


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


def _only_class(module: ModuleType, base: type[Base]) -> type[Base]:
    own = [member for member in _classes(module) if issubclass(member, base)]
    if len(own) != 1:
        wanted = f"exactly one public subclass of {base.__name__}"
        raise PlugInError(f"plug-in {module.__name__} must define {wanted}, found {len(own)}")
    return own[0]


@cache
def _classes(module: ModuleType) -> tuple[type, ...]:
    """The public classes that a module defines."""
    return tuple(
        member
        for name, member in vars(module).items()
        if inspect.isclass(member) and member.__module__ == module.__name__ and not name.startswith("_")
    )
