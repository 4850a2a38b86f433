"""docs/reference/catalog: one page per kind, from what the entries say of themselves."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.pages.table import code, rows

from steelyard.plugins import builtin_names
from steelyard.spec.catalog import Entry, describe_entry, format_default
from steelyard.spec.kinds import KINDS, Kind

ABOUT = {
    "workload": "What is run and measured: `workload: {use: NAME}`.",
    "service": "What is deployed before measuring: `services: {kv: {use: NAME}}`.",
    "event": "What happens at a moment of a trial: `timeline: [{at: 5s, do: NAME}]`.",
    "collector": "What is recorded beside the workload: `collect: [NAME]`.",
    "environment": "What surrounds a program on its host: `wrap: {in: NAME, image: …}`.",
    "site": "Where hosts come from: `--site NAME`, or an entry of `sites.yaml`.",
}


def pages() -> dict[str, str]:
    """Each page by its path in docs/."""
    return {f"reference/catalog/{kind.folder}.md": "\n".join(_page(kind)) + "\n" for kind in KINDS.values()}


def _page(kind: Kind) -> Iterator[str]:
    names = sorted(builtin_names(kind.folder))
    yield from (f"# {kind.folder.capitalize()}", "", ABOUT[kind.word], "")
    yield from ("`make pages` writes this page; `steelyard catalog NAME` prints the same.", "", _links(names))
    for name in names:
        yield from _section(describe_entry(kind, name))


def _links(names: list[str]) -> str:
    return " · ".join(f"[{name}](#{name})" for name in names)


def _section(entry: Entry) -> Iterator[str]:
    yield from ("", f"## {entry['name']}", "", entry["about"])
    yield from rows(
        ("option", "default", ""),
        (
            (code(key), _default(option["default"]), option["about"])
            for key, option in entry["options"].items()
        ),
    )
    yield from rows(
        ("column" if entry["kind"] == "collector" else "metric", "unit", "better", ""),
        (
            (code(metric["name"]), metric["unit"], metric["better"], metric["about"])
            for metric in entry["metrics"]
        ),
    )
    yield from rows(("image", ""), ((form, about) for form, about in entry["images"].items()))
    needs, covers = ", ".join(entry["needs"]), ", ".join(entry["covers"])
    facts = [f"Needs: {needs}." if needs else "", f"Covers: {covers}." if covers else ""]
    if any(facts):
        yield from ("", " ".join(filter(None, facts)))


def _default(value: object) -> str:
    default = format_default(value)
    return default if default == "required" else code(default)
