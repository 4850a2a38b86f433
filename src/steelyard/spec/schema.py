"""The JSON Schema of experiment files, for editors and for other programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steelyard.model.experiment import Experiment
from steelyard.plugins import builtin_names
from steelyard.spec.bind import collector_class, workload_class


def schema() -> dict[str, Any]:
    """The schema, with the options of every workload and collector that ships with Steelyard.

    Any option may be a string instead, because `${…}` may stand for it.
    """
    document = Experiment.model_json_schema()
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    document["title"] = "Steelyard experiment"
    definitions = document["$defs"]
    definitions["WorkloadUse"] = {
        "type": "object",
        "required": ["use"],
        "properties": {"use": {"type": "string"}},
        "anyOf": _entry_schemas("workloads", workload_class, definitions),
    }
    definitions["Entry"]["additionalProperties"] = True  # options of the event stand beside its own keys
    del definitions["Entry"]["required"]
    definitions["Entry"]["anyOf"] = [{"required": ["do"]}, {"required": ["use"]}]
    definitions["ServiceUse"]["additionalProperties"] = True
    _allow_collectors(definitions)
    return document


def _allow_collectors(definitions: dict[str, Any]) -> None:
    """A name alone, or a mapping with the collector's options beside the keys that all have."""
    entry = definitions["CollectorUse"] | {"additionalProperties": True}
    entry["properties"] = {key: of for key, of in entry["properties"].items() if key != "options"}
    schemas = _entry_schemas("collectors", collector_class, definitions)
    definitions["CollectorUse"] = {"anyOf": [{"type": "string"}, {**entry, "anyOf": schemas}]}


def _entry_schemas(
    kind: str, class_of: Callable[[str], type[Any]], definitions: dict[str, Any]
) -> list[dict[str, Any]]:
    """The options of each entry that ships with Steelyard; others may have any."""
    named = [_entry_schema(name, class_of(name), definitions) for name in sorted(builtin_names(kind))]
    return [*named, {"required": ["use"]}]


def _entry_schema(name: str, kind: type[Any], definitions: dict[str, Any]) -> dict[str, Any]:
    options = kind.Options.model_json_schema(ref_template="#/$defs/{model}")
    definitions |= options.pop("$defs", {})
    properties = {key: _allow_expression(entry) for key, entry in options["properties"].items()}
    return {
        "title": name,
        "description": (kind.__doc__ or "").strip().partition("\n")[0],
        "properties": {"use": {"const": name}, **properties},
    }


def _allow_expression(entry: dict[str, Any]) -> dict[str, Any]:
    common: dict[str, Any] = {key: entry[key] for key in ("description", "default") if key in entry}
    return {**common, "anyOf": [entry, {"type": "string", "pattern": r"\$\{"}]}
