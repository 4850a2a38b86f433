"""What there is to say of an entry of the catalogue: the same for the command, its JSON and the docs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from steelyard.errors import UnknownName
from steelyard.model.environment import FORMS
from steelyard.spec.kinds import Kind, entries, entry_names

Entry = Mapping[str, Any]


def describe_entries(name: str | None = None, covers: str | None = None) -> list[Entry]:
    """All entries, or those of a name, or those that cover a requirement, each as plain data.

    Raises UnknownName when nothing is called so, PlugInError.
    """
    matches = list(entries(name))
    if name and not matches:
        raise UnknownName("entry", name, entry_names(), hint="`steelyard catalog` lists all entries")
    described = (describe_entry(kind, each) for kind, each in matches)
    return [entry for entry in described if covers is None or covers in entry["covers"]]


def describe_entry(kind: Kind, name: str) -> Entry:
    """One entry: what it is, what it takes, needs and gives."""
    entry = kind.class_of(name)
    schema = entry.Options.model_json_schema()
    return {
        "kind": kind.word,
        "name": name,
        "about": inspect.cleandoc(entry.__doc__ or ""),
        "covers": list(entry.covers),
        "needs": _NEEDS.get(kind.word, _name_tools)(entry),
        "options": {
            key: _describe_option(key, option, schema) for key, option in schema.get("properties", {}).items()
        },
        "metrics": list(_METRICS[kind.word](entry)) if kind.word in _METRICS else [],
        "images": {form: FORMS[form] for form in sorted(entry.images)} if kind.word == "environment" else {},
        "examples": list(entry.examples),
    }


def format_default(value: object) -> str:
    """What holds without an option, as a file would say it; nothing where that is nothing."""
    if value in (None, "", [], {}):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _describe_option(key: str, option: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    required = key in schema.get("required", ())
    return {
        "about": option.get("description", ""),
        "default": "required" if required else option.get("default"),
    }


def _name_tools(entry: Any) -> list[str]:
    return [tool.name for tool in entry.needs]


def _name_conditions(event: Any) -> list[str]:
    """What must be there for an event."""
    capability = event.capability
    service = [] if capability is None else [f"a service that is {capability.__name__.lower()}"]
    allowed = [f"`allow: {event.permission}` in the file"] if event.permission else []
    return [*service, *(f"a site that can {can}" for can in sorted(event.site_capabilities)), *allowed]


def _describe_metrics(workload: Any) -> Iterable[Entry]:
    if workload.examples:
        for metric in workload(workload.Options.model_validate(workload.examples[0])).metrics():
            yield {"name": metric.name, "unit": metric.unit, "better": metric.better, "about": metric.about}


def _describe_columns(collector: Any) -> Iterable[Entry]:
    sample = collector(collector.Options.model_validate(collector.examples[0]))
    for name, column in sample.columns().items():
        yield {"name": name, "unit": column.unit, "better": "none", "about": column.about}


_NEEDS: Mapping[str, Callable[[Any], list[str]]] = {
    "event": _name_conditions,
    "site": lambda site: list(site.needs),
}
_METRICS: Mapping[str, Callable[[Any], Iterable[Entry]]] = {
    "workload": _describe_metrics,
    "collector": _describe_columns,
}
