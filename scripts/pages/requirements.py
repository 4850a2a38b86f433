"""docs/reference/requirements.md: every published requirement, and the entries that cover it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from scripts.pages.table import rows

from steelyard.plugins import builtin_names
from steelyard.spec.kinds import KINDS
from steelyard.spec.requirements import PublishedNeed, published_needs

PATH = "reference/requirements.md"
HEAD = """\
# Requirements and what covers them

`make pages` writes this page. Five published documents state what users need of data infrastructure, here
in our words; an id such as SKA4 is the document's own where it has one. An entry of the catalogue names the
ids that it covers, and so may an experiment file (`covers: [SKA4]`). `steelyard catalog --covers SKA4`
prints one requirement with what covers it.
"""


def pages() -> dict[str, str]:
    """The page by its path in docs/."""
    entries = _entries_by_id()
    needs = published_needs()
    covered = sum(each in entries for each in needs)
    lines = [HEAD, f"{covered} of {len(needs)} requirements are covered by an entry."]
    for source, group in groupby(needs.values(), key=lambda need: need.source):
        lines += _section(source, list(group), entries)
    return {PATH: "\n".join(lines) + "\n"}


def _entries_by_id() -> Mapping[str, Sequence[str]]:
    """Id to links to the entries that cover it."""
    links: dict[str, list[str]] = defaultdict(list)
    for kind in KINDS.values():
        for name in sorted(builtin_names(kind.folder)):
            for each in kind.class_of(name).covers:
                links[each].append(f"[{name}](catalog/{kind.folder}.md#{name})")
    return links


def _section(
    source: str, needs: Sequence[PublishedNeed], entries: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    yield from ("", f"## {source}")
    yield from rows(
        ("id", "requirement", "covered by"),
        ((need.id, need.meaning, ", ".join(entries.get(need.id, ()))) for need in needs),
    )
