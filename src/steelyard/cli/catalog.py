"""`steelyard catalog`"""

from __future__ import annotations

import inspect
from typing import Any

import click

from steelyard.cli.options import json_option, print_json


@click.command()
@click.argument("name", required=False)
@click.option("--covers", metavar="ID", help="Only what covers a requirement such as SKA1")
@json_option
def command(name: str | None, covers: str | None, as_json: bool) -> int:
    """List the workloads and services, or show everything about those called NAME.

    \b
    steelyard catalog
    steelyard catalog ska1
    steelyard catalog --covers SKA4
    """
    entries = [entry for entry in _entries(name) if covers is None or covers in entry["covers"]]
    if as_json:
        print_json(entries)
    elif name:
        pages = ("\n".join(_page(entry)) for entry in entries)
        click.echo("\n\n".join(pages) if entries else f"{name} does not cover {covers}")
    else:
        for kind in ("workload", "service"):
            _list([entry for entry in entries if entry["kind"] == kind], f"{kind}s")
        click.echo("\n`steelyard catalog NAME` shows options and metrics", err=True)
    return 0


def _list(entries: list[dict[str, Any]], heading: str) -> None:
    if heading == "services" and entries:
        click.echo(f"\n{heading}, which workloads talk to:")
    for entry in entries:
        ids = f"  [{', '.join(entry['covers'])}]" if entry["covers"] else ""
        click.echo(f"{entry['name']:12}  {entry['about'].partition(chr(10))[0]}{ids}")


def _entries(name: str | None) -> list[dict[str, Any]]:
    """Those of a name, or all. Raises UnknownName when neither a workload nor a service is called so."""
    from steelyard.plugins import names

    services = [found for found in sorted(names("services")) if name in (None, found)]
    workloads = [found for found in sorted(names("workloads")) if name in (None, found)]
    if name and not services:
        workloads = [name]  # to be told what there is when there is none
    return [*map(_entry, workloads), *map(_service, services)]


def _service(name: str) -> dict[str, Any]:
    from steelyard.spec.bind import service_class

    kind = service_class(name)
    schema = kind.options.model_json_schema()
    return {
        "kind": "service",
        "name": name,
        "about": inspect.cleandoc(kind.__doc__ or ""),
        "covers": [],
        "needs": [tool.name for tool in kind.needs],
        "options": {key: _option(key, entry, schema) for key, entry in schema.get("properties", {}).items()},
        "metrics": [],
        "examples": list(kind.examples),
    }


def _entry(name: str) -> dict[str, Any]:
    from steelyard.spec.bind import workload_class

    kind = workload_class(name)
    sample = kind(kind.options.model_validate(kind.examples[0])) if kind.examples else None
    metrics = sample.metrics() if sample else ()
    schema = kind.options.model_json_schema()
    return {
        "kind": "workload",
        "name": name,
        "about": inspect.cleandoc(kind.__doc__ or ""),
        "covers": list(kind.covers),
        "needs": [tool.name for tool in kind.needs],
        "options": {key: _option(key, entry, schema) for key, entry in schema["properties"].items()},
        "metrics": [{"name": m.name, "unit": m.unit, "better": m.better, "about": m.about} for m in metrics],
        "examples": list(kind.examples),
    }


def _option(key: str, entry: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    required = key in schema.get("required", ())
    return {
        "about": entry.get("description", ""),
        "default": "required" if required else entry.get("default"),
    }


def _page(entry: dict[str, Any]) -> list[str]:
    lines = [f"{entry['name']} ({entry['kind']})", "", entry["about"], "", "options:"]
    for key, option in entry["options"].items():
        lines.append(f"  {key:18} {option['about']}  [{option['default']}]")
    lines += ["", "metrics:"] if entry["metrics"] else []
    for metric in entry["metrics"]:
        lines.append(f"  {metric['name']:26} {metric['unit']:4} {metric['better']:7} {metric['about']}")
    needs = ", ".join(entry["needs"]) or "nothing"
    return [*lines, "", f"needs {needs}; covers {', '.join(entry['covers']) or 'no published requirement'}"]
