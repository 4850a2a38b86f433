"""What each key of an experiment file means, for people: `repeat`, `repeat.until`, `ska1.outstanding`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import UnknownName
from steelyard.model.experiment import Experiment
from steelyard.spec.change import dump
from steelyard.spec.kinds import entries, entry_names
from steelyard.spec.yaml.source import read

_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "keys and values",
}
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Key:
    """`takes` says what may stand there, `default` what holds without it: None where it is required, and
    empty for a catalogue entry, which has none.

    `example` is YAML; `inside` are the keys below it, each with what it means.
    """

    path: str
    about: str
    takes: str
    default: str | None
    example: str
    inside: Mapping[str, str]


def explain_key(path: str) -> Key:
    """Explain a key by its path: of the file, or an option below the name of a catalogue entry.

    Raises UnknownName with what there is instead.
    """
    first, *rest = path.split(".")
    root = Experiment.model_json_schema()
    if first in root["properties"]:
        return _walk(root, root, [first, *rest], path, examples().get(first, ""))
    for kind, _ in entries(first):
        entry = kind.class_of(first)
        options = entry.Options.model_json_schema()
        example = dump({kind.key: first, **entry.examples[0]}).rstrip() if entry.examples else ""
        about = {"description": (entry.__doc__ or "").strip().partition("\n")[0]}
        return _walk(options, {**options, **about}, rest, path, example)
    raise _unknown_key(path, first, key_names())


def key_names() -> list[str]:
    """All that a path may begin with."""
    return [*Experiment.model_json_schema()["properties"], *entry_names()]


def examples() -> dict[str, str]:
    """A piece of YAML for each key of the file."""
    path = Path(__file__).with_name("examples.yaml")
    return {key: str(text).rstrip() for key, text in read(path.read_text(), path.name).value.items()}


def _walk(root: Schema, schema: Schema, steps: list[str], path: str, example: str) -> Key:
    required = True
    for step in steps:
        parts = list(_parts(root, schema))
        parent = {name: entry for part in parts for name, entry in _properties(part)}
        if step not in parent:
            raise _unknown_key(path, step, list(parent))
        required = any(step in part.get("required", ()) for part in parts)
        schema = parent[step]
    entries = (entry for part in _parts(root, schema) for entry in _properties(part))
    inside = {name: _describe(root, entry) for name, entry in entries}
    default = "" if not steps else None if required else _default(schema, inside)
    values = " or ".join(_describe_values(root, schema))
    return Key(path, _describe(root, schema), values, default, example, inside)


def _parts(root: Schema, schema: Schema) -> Iterator[Schema]:
    """A schema with all that it refers to: alternatives, items of its lists, values of its names."""
    yield schema
    if "$ref" in schema:
        yield from _parts(root, root["$defs"][schema["$ref"].rpartition("/")[2]])
    below = [*schema.get("anyOf", ()), schema.get("items"), schema.get("additionalProperties")]
    for part in (*below, *schema.get("patternProperties", {}).values()):
        if isinstance(part, Mapping):
            yield from _parts(root, part)


def _properties(part: Schema) -> Iterator[tuple[str, Schema]]:
    """Those of plug-ins, `options`, stand beside the others in a file."""
    yield from ((name, entry) for name, entry in part.get("properties", {}).items() if name != "options")


def _describe(root: Schema, schema: Schema) -> str:
    """Its own description, or that of what it is made of."""
    descriptions = (str(part["description"]) for part in _parts(root, schema) if "description" in part)
    return " ".join(next(descriptions, "").partition("\n\n")[0].split())


def _describe_values(root: Schema, schema: Schema) -> Iterator[str]:
    if "$ref" in schema:
        yield from _describe_values(root, root["$defs"][schema["$ref"].rpartition("/")[2]])
    elif "anyOf" in schema:
        texts = [text for part in schema["anyOf"] for text in _describe_values(root, part)]
        yield from dict.fromkeys(texts)
    elif "enum" in schema or "const" in schema:
        yield " | ".join(map(str, schema.get("enum", [schema.get("const")])))
    elif schema.get("type") == "array":
        yield f"a list of {' or '.join(_describe_values(root, schema.get('items', {}))) or 'anything'}"
    elif "examples" in schema:
        yield f"a value such as {schema['examples'][0]}"
    elif schema.get("type") in _TYPES:
        yield _TYPES[schema["type"]]


def _default(schema: Schema, inside: Mapping[str, str]) -> str:
    default = schema.get("default")
    if default in (None, "", [], {}, ()):
        return "see the keys inside" if inside and "$ref" in schema else "nothing"
    if isinstance(default, list):
        return ", ".join(map(str, default))
    return str(default).lower() if isinstance(default, bool) else str(default)


def _unknown_key(path: str, step: str, there: list[str]) -> UnknownName:
    place = path.rpartition(f".{step}")[0]
    hint = f"`steelyard schema {place}` lists the keys of {place}" if place else ""
    return UnknownName("key", step, there, hint=hint)
