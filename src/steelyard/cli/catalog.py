"""`steelyard catalog`"""

from __future__ import annotations

import inspect
from typing import Any

import click

from steelyard.cli.options import EntryName, json_option, print_json
from steelyard.cli.terminal import echo

HEADINGS = {
    "workload": "",
    "service": "services that workloads use",
    "event": "events for the timeline",
}


@click.command()
@click.argument("name", required=False, type=EntryName())
@click.option("--covers", metavar="ID", help="List only what covers this requirement, such as SKA1")
@json_option
def command(name: str | None, covers: str | None, as_json: bool) -> int:
    """List workloads, services and events, or describe those called NAME.

    \b
    steelyard catalog
    steelyard catalog ska1
    steelyard catalog --covers SKA4
    """
    entries = [entry for entry in _list_entries(name) if covers is None or covers in entry["covers"]]
    if as_json:
        print_json(entries)
    elif name:
        pages = ("\n".join(_format_entry(entry)) for entry in entries)
        echo("\n\n".join(pages) if entries else f"{name} does not cover {covers}")
    else:
        for kind, heading in HEADINGS.items():
            _print_entries([entry for entry in entries if entry["kind"] == kind], heading)
        echo("\n`steelyard catalog NAME` shows options and metrics", err=True)
    return 0


def _print_entries(entries: list[dict[str, Any]], heading: str) -> None:
    if heading and entries:
        echo(f"\n{heading}:")
    for entry in entries:
        ids = f"  [{', '.join(entry['covers'])}]" if entry["covers"] else ""
        echo(f"{entry['name']:15}  {entry['about'].partition(chr(10))[0]}{ids}")


def _list_entries(name: str | None) -> list[dict[str, Any]]:
    """Those of a name, or all. Raises UnknownName when nothing is called so."""
    from steelyard.errors import UnknownName
    from steelyard.plugins import names

    workloads, services, events = (
        [entry for entry in sorted(names(kind)) if name in (None, entry)]
        for kind in ("workloads", "services", "events")
    )
    if name and not (workloads or services or events):
        everything = {each for kind in ("workloads", "services", "events") for each in names(kind)}
        raise UnknownName("entry", name, sorted(everything), hint="`steelyard catalog` lists all entries")
    return [
        *map(_describe_workload, workloads),
        *map(_describe_service, services),
        *map(_describe_event, events),
    ]


def _describe_service(name: str) -> dict[str, Any]:
    from steelyard.spec.bind import service_class

    kind = service_class(name)
    return _describe_plugin("service", name, kind, [tool.name for tool in kind.needs])


def _describe_event(name: str) -> dict[str, Any]:
    from steelyard.spec.bind import event_class

    kind = event_class(name)
    needs = [] if kind.capability is None else [f"a service that is {kind.capability.__name__.lower()}"]
    return _describe_plugin(
        "event", name, kind, [*needs, *(f"a site that can {can}" for can in kind.site_capabilities)]
    )


def _describe_plugin(of: str, name: str, kind: type[Any], needs: list[str]) -> dict[str, Any]:
    schema = kind.Options.model_json_schema()
    return {
        "kind": of,
        "name": name,
        "about": inspect.cleandoc(kind.__doc__ or ""),
        "covers": [],
        "needs": needs,
        "options": {
            key: _describe_option(key, entry, schema) for key, entry in schema.get("properties", {}).items()
        },
        "metrics": [],
        "examples": list(kind.examples),
    }


def _describe_workload(name: str) -> dict[str, Any]:
    from steelyard.spec.bind import workload_class

    kind = workload_class(name)
    sample = kind(kind.Options.model_validate(kind.examples[0])) if kind.examples else None
    metrics = sample.metrics() if sample else ()
    schema = kind.Options.model_json_schema()
    return {
        "kind": "workload",
        "name": name,
        "about": inspect.cleandoc(kind.__doc__ or ""),
        "covers": list(kind.covers),
        "needs": [tool.name for tool in kind.needs],
        "options": {key: _describe_option(key, entry, schema) for key, entry in schema["properties"].items()},
        "metrics": [{"name": m.name, "unit": m.unit, "better": m.better, "about": m.about} for m in metrics],
        "examples": list(kind.examples),
    }


def _describe_option(key: str, entry: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    required = key in schema.get("required", ())
    return {
        "about": entry.get("description", ""),
        "default": "required" if required else entry.get("default"),
    }


def _format_entry(entry: dict[str, Any]) -> list[str]:
    lines = [f"{entry['name']} ({entry['kind']})", "", entry["about"], "", "options:"]
    for key, option in entry["options"].items():
        lines.append(f"  {key:18} {option['about']}  [{option['default']}]")
    lines += ["", "metrics:"] if entry["metrics"] else []
    for metric in entry["metrics"]:
        lines.append(f"  {metric['name']:26} {metric['unit']:4} {metric['better']:7} {metric['about']}")
    needs = ", ".join(entry["needs"]) or "nothing"
    return [*lines, "", f"needs {needs}; covers {', '.join(entry['covers']) or 'no published requirement'}"]
