"""`steelyard catalog`"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import EntryName, RequirementId, json_option, print_json
from steelyard.cli.terminal import echo

if TYPE_CHECKING:
    from steelyard.spec.catalog import Entry

HEADINGS = {
    "workload": "",
    "service": "services that workloads use",
    "event": "events for the timeline",
    "collector": "collectors, which record a trial",
    "environment": "environments, which surround a program",
    "site": "sites, where hosts come from",
}


@click.command()
@click.argument("name", required=False, type=EntryName())
@click.option(
    "--covers",
    metavar="ID",
    type=RequirementId(),
    help="Explain this requirement, such as SKA1, and list what covers it",
)
@json_option
def command(name: str | None, covers: str | None, as_json: bool) -> int:
    """List workloads, services, events, collectors, environments and sites, or describe those called NAME.

    \b
    steelyard catalog
    steelyard catalog ska1
    steelyard catalog slurm
    steelyard catalog --covers SKA4        what the requirement means, and what covers it
    """
    from steelyard.spec.catalog import describe_entries

    entries = describe_entries(name, covers)
    need = _explain_requirement(covers, entries) if covers else []
    if as_json:
        print_json(entries)
    elif name:
        pages = ("\n".join(_format_entry(entry)) for entry in entries)
        echo("\n\n".join(pages) if entries else f"{name} does not cover {covers}")
    else:
        for line in need:
            echo(line)
        for kind, heading in HEADINGS.items():
            _print_entries([entry for entry in entries if entry["kind"] == kind], heading)
        echo("\n`steelyard catalog NAME` shows options and metrics", err=True)
    return 0


def _explain_requirement(name: str, entries: Sequence[Entry]) -> list[str]:
    """What a requirement means, and whether anything covers it. Raises UnknownName."""
    from steelyard.spec.catalog import describe_entries
    from steelyard.spec.requirements import find_need, nearest_ids

    covered = {each for entry in entries or describe_entries() for each in entry["covers"]}
    need = find_need(name, covered)
    lines = [f"{need.id}: {need.meaning}", f"Source: {need.source}"] if need else [name]
    if entries:
        return [*lines, "", "covered by:"]
    near = ", ".join(nearest_ids(name, covered))
    return [
        *lines,
        "",
        f"Nothing covers {name} yet" + (f"; the nearest that are covered: {near}" if near else ""),
    ]


def _print_entries(entries: Iterable[Entry], heading: str) -> None:
    if heading and entries:
        echo(f"\n{heading}:")
    for entry in entries:
        ids = f"  [{', '.join(entry['covers'])}]" if entry["covers"] else ""
        echo(f"{entry['name']:15}  {entry['about'].partition(chr(10))[0]}{ids}")


def _format_entry(entry: Entry) -> Iterator[str]:
    from steelyard.spec.catalog import format_default

    yield from (f"{entry['name']} ({entry['kind']})", "", entry["about"])
    if entry["options"] or not entry["images"]:
        yield from ("", "options:")
    for key, option in entry["options"].items():
        default = format_default(option["default"])
        yield f"  {key:18} {option['about']}" + (f"  [{default}]" if default else "")
    if entry["metrics"]:
        yield from ("", "columns:" if entry["kind"] == "collector" else "metrics:")
    for metric in entry["metrics"]:
        better = "" if entry["kind"] == "collector" else f"{metric['better']:7} "
        yield f"  {metric['name']:26} {metric['unit']:4} {better}{metric['about']}"
    if entry["images"]:
        yield from ("", "images:")
    for form, about in entry["images"].items():
        yield f"  {form:18} {about}"
    needs = ", ".join(entry["needs"]) or "nothing"
    yield from ("", f"needs {needs}; covers {', '.join(entry['covers']) or 'no published requirement'}")
