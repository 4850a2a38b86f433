"""Published requirements, in our words: what an id such as CLM1 means, and which document states it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache

from steelyard.errors import UnknownName
from steelyard.published import read_table


@dataclass(frozen=True, slots=True)
class PublishedNeed:
    """A requirement. `document` is the short name of the document that states it, `source` its title."""

    id: str
    meaning: str
    document: str
    source: str


@lru_cache(maxsize=1)
def published_needs() -> dict[str, PublishedNeed]:
    """All of them by id, document after document."""
    titles = {row["id"]: row["title"] for row in read_table("documents.csv")}
    return {
        row["id"]: PublishedNeed(row["id"], row["meaning"], row["document"], titles[row["document"]])
        for row in read_table("requirements.csv")
    }


def find_need(name: str, covered: Iterable[str] = ()) -> PublishedNeed | None:
    """What an id means; None for one that only an entry of somebody's plug-in knows. Raises UnknownName."""
    needs = published_needs()
    if name not in needs and name not in covered:
        hint = "docs/reference/requirements.md lists all ids"
        raise UnknownName("requirement", name, [*needs, *covered], hint=hint)
    return needs.get(name)


def nearest_ids(name: str, covered: Collection[str], count: int = 3) -> list[str]:
    """The ids nearest to one, of those that something covers: of the same series first, then document."""
    needs = published_needs()
    document = needs[name].document if name in needs else ""
    series, number = _split_id(name)

    def distance(other: str) -> tuple[bool, int]:
        return _split_id(other)[0] != series, abs(_split_id(other)[1] - number)

    near = [each for each in needs if each in covered and needs[each].document == document]
    return sorted(near, key=distance)[:count]


def _split_id(name: str) -> tuple[str, int]:
    """The series and the number of an id: `S6.BDUC.` and 9."""
    number = re.search(r"\d*$", name)
    digits = number[0] if number else ""
    return name.removesuffix(digits) if digits else name, int(digits or 0)
