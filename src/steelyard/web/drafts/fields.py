"""A draft as a form: its plain keys and the options of its workload, by their JSON Schema.

A form changes what it names and nothing else: comments, order and layout of the text stay.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from steelyard.errors import SteelyardError, UsageError
from steelyard.model.experiment import Experiment
from steelyard.spec.bind import workload_class
from steelyard.spec.yaml.source import read
from steelyard.web.drafts.check import NAME

KEYS = ("experiment", "about", "repeat", "order", "disturbed", "timeout", "site")
PREFIX = "field."
_Kind = Literal["text", "number", "choice"]
_NUMBERS = ("integer", "number")
Schema = Mapping[str, Any]


class FormField(NamedTuple):
    """An input: `path` is that of its key, parted by dots; `value` is empty where the text has none."""

    path: str
    kind: _Kind
    value: str
    choices: tuple[str, ...]
    default: str
    about: str


def list_fields(text: str) -> list[FormField]:
    """The inputs of a draft; none where its text cannot be read."""
    try:
        tree = read(text, NAME).value
    except SteelyardError:
        return []
    if not isinstance(tree, Mapping):
        return []
    return [*_describe_fields("", _list_keys(), tree), *_list_options(tree)]


@cache
def _list_keys() -> Mapping[str, Schema]:
    """The plain keys of an experiment; a draft is looked at after every pause in typing."""
    properties = Experiment.model_json_schema()["properties"]
    repeat = {"type": "integer", "default": 6, "description": "Repetitions of each cell"}
    return {key: repeat if key == "repeat" else properties[key] for key in KEYS}


def apply_fields(text: str, fields: Mapping[str, str]) -> str:
    """The text with the values of a form; an empty one takes the key away. Raises UsageError."""
    known = {field.path: field for field in list_fields(text)}
    changed = {path: value for path, value in fields.items() if path in known and value != known[path].value}
    if not changed:
        return text
    yaml = YAML()
    yaml.width = 110
    try:
        tree = yaml.load(text)
        for path, value in changed.items():
            _set_value(tree, path.split("."), value)
        out = io.StringIO()
        yaml.dump(tree, out)
    except (YAMLError, ValueError, TypeError, LookupError) as error:
        raise UsageError(f"the form cannot be applied to this text: {error}") from error
    return out.getvalue()


def _list_options(tree: Mapping[str, Any]) -> Iterator[FormField]:
    """Of the workload, where there is one of a kind that is known."""
    use = tree.get("workload")
    if not isinstance(use, Mapping) or not isinstance(use.get("use"), str):
        return
    try:
        schema = workload_class(use["use"]).Options.model_json_schema()
    except SteelyardError:
        return
    yield from _describe_fields("workload.", schema.get("properties", {}), use)


def _describe_fields(
    prefix: str, properties: Mapping[str, Schema], tree: Mapping[str, Any]
) -> Iterator[FormField]:
    for key, schema in properties.items():
        value = tree.get(key)
        plain = value is None or isinstance(value, str | int | float)
        kind, choices = _choose_kind(schema)
        if kind and plain:
            about, default = str(schema.get("description", "")), _show(schema.get("default"))
            yield FormField(f"{prefix}{key}", kind, _show(value), choices, default, about)


def _choose_kind(schema: Schema) -> tuple[_Kind | None, tuple[str, ...]]:
    """Which input suits a value; None for what is no single one, which the text says better."""
    parts = [part for part in schema.get("anyOf", (schema,)) if part.get("type") != "null"]
    if len(parts) != 1 or "$ref" in parts[0]:
        return None, ()
    (part,) = parts
    if choices := part.get("enum"):
        return "choice", tuple(map(_show, choices))
    if part.get("type") == "boolean":
        return "choice", ("true", "false")
    if part.get("type") in _NUMBERS:
        return "number", ()
    return ("text", ()) if part.get("type") == "string" else (None, ())


def _show(value: object) -> str:
    """A value as it would stand in the text."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _set_value(tree: Any, steps: list[str], value: str) -> None:
    *way, last = steps
    for step in way:
        tree = tree[step]
    if value:
        tree[last] = YAML(typ="safe").load(value) if not _is_text(value) else value
    else:
        tree.pop(last, None)


def _is_text(value: str) -> bool:
    """Whether YAML would read it as anything but a plain value: then it is meant as it stands."""
    try:
        return not isinstance(YAML(typ="safe").load(value), str | int | float | bool)
    except YAMLError:
        return True
