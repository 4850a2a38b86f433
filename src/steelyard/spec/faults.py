"""What pydantic found, in sentences for people: the value, what is allowed, and "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from steelyard.errors import suggest_name
from steelyard.model.experiment import RESERVED

Path = tuple[str | int, ...]
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "list": "a list",
    "tuple": "a list",
    "dict": "a mapping of keys to values",
    "model": "a mapping of keys to values",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "less than"),
    "greater_than": ("gt", "not more than"),
    "less_than_equal": ("le", "more than"),
    "less_than": ("lt", "not less than"),
}


class Fault(NamedTuple):
    """A mistake: the path of its key or value in the tree, and a sentence; `at_key` points at the key."""

    path: Path
    message: str
    at_key: bool = False


def explain_errors(error: ValidationError, tree: Any, model: type[BaseModel]) -> Iterator[Fault]:
    """One fault per mistake. Paths are those of `tree`, which may hold short forms that `model` widened."""
    seen: set[Path] = set()
    for entry in error.errors(include_url=False):
        kind, path = entry["type"], map_to_tree(entry["loc"], tree)
        if kind == "too_short" and entry["input"]:
            continue  # it is not empty: what is wrong with what it holds is told by itself
        name = str(entry["loc"][-1]) if entry["loc"] else ""
        place = (*path, name) if kind in ("missing", "extra_forbidden") else path
        if place in seen:
            continue  # a union complains once for each of its members
        seen.add(place)
        if kind == "extra_forbidden":
            allowed = allowed_keys(model, entry["loc"][:-1])
            yield Fault(
                (*path, name) if not path or path[-1] != name else path,
                describe_unknown_key(name, allowed),
                True,
            )
        else:
            yield Fault(path, describe_error(entry, path))


def map_to_tree(loc: Iterable[str | int], tree: Any) -> Path:
    """The steps of a model's location that exist in the tree, leaving out what short forms do not have."""
    path: list[str | int] = []
    for step in loc:
        below = _parts(tree)
        if step in below:
            tree = below[step]
            path.append(step)
    return tuple(path)


def _parts(tree: Any) -> Mapping[str | int, Any]:
    if isinstance(tree, Mapping):
        return tree
    return dict(enumerate(tree)) if isinstance(tree, list | tuple) else {}


def describe_unknown_key(name: str, allowed: Iterable[str]) -> str:
    """What to say of a key that does not exist, or not yet."""
    if name in RESERVED:
        return f"'{name}' is reserved for {RESERVED[name]}, which this version does not support; remove it"
    choices = tuple(allowed)
    hint = suggest_name(name, choices)
    if not hint and choices:
        hint = f"; allowed are {', '.join(choices)}"
    return f"unknown key '{name}'{hint}"


def describe_error(entry: Mapping[str, Any], path: Path) -> str:
    """A sentence for one entry of `ValidationError.errors()`."""
    kind, value, context = entry["type"], entry.get("input"), entry.get("ctx", {})
    key = next((step for step in reversed(path) if isinstance(step, str)), "")
    if kind == "missing":
        return f"'{entry['loc'][-1]}' is missing"
    if kind == "value_error":
        message = str(context.get("error", entry["msg"]))
        prefixed = isinstance(value, Mapping) or not key or message.startswith((f"{key}:", f"'{key}'"))
        return message if prefixed else f"{key}: {message}"
    complaint = _describe_value(kind, value, context, entry["msg"])
    return f"{key}: {complaint}" if key else complaint


def _describe_value(kind: str, value: Any, context: Mapping[str, Any], fallback: str) -> str:
    shown = f"'{value}'" if isinstance(value, str) else f"{value!r:.60}"
    if kind == "literal_error":
        allowed = str(context["expected"]).replace("'", "").replace(" or ", ", ")
        return f"{shown} is not one of {allowed}{suggest_name(str(value), allowed.split(', '))}"
    if kind in _BOUNDS:
        limit, word = _BOUNDS[kind]
        return f"{shown} is {word} {context[limit]}"
    if kind == "too_short":
        return "it must not be empty"
    if kind == "string_pattern_mismatch":
        return f"{shown} does not match the pattern {context['pattern']}"
    stem = kind.partition("_")[0]
    return f"{shown} is not {_KINDS[stem]}" if stem in _KINDS else f"{fallback}, found {shown}"


def allowed_keys(model: type[BaseModel], loc: Iterable[str | int]) -> tuple[str, ...]:
    """The keys of the model at a location, as far as it can be followed through types."""
    current: type[BaseModel] | None = model
    for step in loc:
        if isinstance(step, int) or current is None:
            continue
        field = _list_keys(current).get(step)
        current = _find_model(field.annotation) if field else current
    return tuple(_list_keys(current)) if current else ()


def _list_keys(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Its fields by their keys in a file."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _find_model(annotation: Any) -> type[BaseModel] | None:
    """The first model that a type mentions: `tuple[Step, ...]` mentions Step."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    parts = getattr(annotation, "__args__", ())
    return next((nested for part in parts if (nested := _find_model(part))), None)
