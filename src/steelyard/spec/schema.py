"""The JSON Schema of experiment files, for editors and for other programs."""

from __future__ import annotations

from typing import Any

from steelyard.model.experiment import Experiment
from steelyard.plugins import builtin_names
from steelyard.spec.bind import workload_class


def schema() -> dict[str, Any]:
    """The schema, with the options of every workload that ships with Steelyard.

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
        "anyOf": [_workload_schema(name, definitions) for name in sorted(builtin_names("workloads"))]
        + [{"required": ["use"]}],
    }
    definitions["Entry"]["additionalProperties"] = True  # options of the event stand beside its own keys
    del definitions["Entry"]["required"]
    definitions["Entry"]["anyOf"] = [{"required": ["do"]}, {"required": ["use"]}]
    definitions["ServiceUse"]["additionalProperties"] = True
    return document


def _workload_schema(name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    kind = workload_class(name)
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
