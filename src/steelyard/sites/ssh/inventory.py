"""Read a list of machines from a YAML file: options of a site, or every mistake in it with its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from steelyard.plugin import SpecError, UsageError, suggest_name

MOST_BYTES = 1 << 20
_EXAMPLE = "a list of hosts such as `- alice@node1`, or `hosts:` with such a list, alongside options for all"


def read_inventory(path: Path, options: type[BaseModel]) -> Mapping[str, Any]:
    """The options in a file, checked. A bare list stands for `hosts`. Raises UsageError and SpecError."""
    tree = _parse(path)
    if isinstance(tree, CommentedSeq):
        tree = CommentedMap(hosts=tree)
    if not isinstance(tree, CommentedMap):
        raise UsageError(f"{path} is not an inventory", hint=f"it should contain {_EXAMPLE}")
    plain: dict[str, Any] = _to_plain(tree, path, set())
    try:
        options.model_validate(plain)
    except ValidationError as error:
        lines = sorted({_problem(entry, tree, options) for entry in _deepest_errors(error)})
        raise SpecError(f"{path}:{line}:{column}  {message}" for line, column, message in lines) from error
    return plain


def _parse(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1).decode()
    except OSError as error:
        hint = "give a file relative to this directory, or hosts as in ssh:alice@node1,node2"
        raise UsageError(f"the inventory {path} cannot be read: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the inventory {path} is not UTF-8") from error
    if len(text) > MOST_BYTES:
        raise UsageError(f"the inventory {path} is larger than {MOST_BYTES >> 20} MiB")
    try:
        return YAML(typ="rt", pure=True).load(text)  # the one kind that knows where things stand
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise SpecError([f"{path}{place}  {error.problem}"]) from error
    except (YAMLError, ValueError) as error:
        raise SpecError([f"{path}  not valid YAML: {error}"]) from error


def _to_plain(tree: Any, path: Path, seen: set[int]) -> Any:
    """Ordinary dicts and lists. No aliases: with them a small file stands for a huge or endless tree."""
    if not isinstance(tree, CommentedMap | CommentedSeq):
        return str(tree) if isinstance(tree, str) else tree
    if id(tree) in seen:
        place = f"{path}:{tree.lc.line + 1}:{tree.lc.col + 1}"
        raise SpecError([f"{place}  an alias (*name) repeats this; write it out there instead"])
    seen.add(id(tree))
    if isinstance(tree, CommentedMap):
        return {str(key): _to_plain(value, path, seen) for key, value in tree.items()}
    return [_to_plain(value, path, seen) for value in tree]


def _deepest_errors(error: ValidationError) -> Iterator[Mapping[str, Any]]:
    """The mistakes, but for those that only follow from one further down."""
    entries = error.errors(include_url=False)
    parents = {entry["loc"][:length] for entry in entries for length in range(len(entry["loc"]))}
    yield from (entry for entry in entries if entry["loc"] not in parents)


def _problem(entry: Mapping[str, Any], tree: Any, options: type[BaseModel]) -> tuple[int, int, str]:
    loc = entry["loc"]
    line, column = _locate(tree, loc)
    if entry["type"] == "extra_forbidden":
        return line, column, f"unknown key '{loc[-1]}'{suggest_name(str(loc[-1]), _keys(options, loc))}"
    if entry["type"] == "missing":
        return line, column, f"'{loc[-1]}' is missing"
    given = repr(entry["input"])[:60]
    message = str(entry["msg"]).removeprefix("Value error, ").replace("Input should", f"{given} should")
    where = f"{loc[-1]}: " if loc and isinstance(loc[-1], str) else ""
    return line, column, f"{where}{message}"


def _locate(tree: Any, loc: Iterable[str | int]) -> tuple[int, int]:
    """Line and column, from 1, of what is at a path; of its nearest parent where it is not there."""
    line, column = 0, 0
    for step in loc:
        position = None
        if isinstance(tree, CommentedMap) and step in tree:
            position = tree.lc.key(step)
        elif isinstance(tree, CommentedSeq) and isinstance(step, int) and step < len(tree):
            position = tree.lc.item(step)
        if position is None:
            break
        (line, column), tree = position, tree[step]
    return line + 1, column + 1


def _keys(options: type[BaseModel], loc: tuple[str | int, ...]) -> Iterable[str]:
    """The keys that were allowed there: those of a host, or those for all of them."""
    field = options.model_fields.get(str(loc[0])) if len(loc) > 1 else None
    model = _member_model(field.annotation) if field else options
    return model.model_fields if model else ()


def _member_model(annotation: Any) -> type[BaseModel] | None:
    members = getattr(annotation, "__args__", ())
    return next((each for each in members if isinstance(each, type) and issubclass(each, BaseModel)), None)
