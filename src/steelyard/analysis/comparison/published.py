"""Published results that ship with Steelyard: facts with their source, and shapes to compare."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from steelyard.errors import UnknownName
from steelyard.published import FOLDER

PREFIX = "published:"
Kind = Literal["efficiency_loss", "order", "knee", "efficiency", "headroom", "failure_rate", "share", "ratio"]


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a published result does not depend on the machine alone.

    `values` are by machine for `efficiency_loss` and `order`; for the others `low` and `high` bound a figure:
    where the knee lies, how efficient more hosts are, how many times a need is met, which share failed.
    `about` is the parameter, or the figure that was ordered by, or under which circumstances. An `efficiency`
    may be that of one `metric`. A `share` and a `ratio` are sums of metrics, `dividend` / `divisor`, where
    `${name}` is the level of a parameter; `ranges` are theirs by level of `about`, where it has some.
    """

    kind: Kind
    about: str
    values: Mapping[str, float]
    low: float
    high: float
    metric: str | None = None
    dividend: tuple[str, ...] = ()
    divisor: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PublishedResult:
    """A published result in our words. `beyond` says what of it cannot be compared with a run, and why."""

    id: str
    shows: str
    measured: str
    found: str
    source: str
    workload: str
    unit: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    shapes: tuple[Shape, ...]
    beyond: tuple[str, ...]


def published_ids() -> list[str]:
    """The ids of all of them: `fermilab-2015/table-1`, …"""
    return sorted(f"{path.parent.name}/{path.stem}" for path in FOLDER.glob("*/*.json"))


def load_published(name: str) -> PublishedResult:
    """The result of an id, with or without `published:` before it. Raises UnknownName."""
    name = name.removeprefix(PREFIX)
    known = published_ids()
    if name not in known:
        raise UnknownName("published result", name, known, hint=f"there are: {', '.join(known)}")
    document = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    source = document["source"]
    return PublishedResult(
        id=document["id"],
        shows=document["shows"],
        measured=document["measured"],
        found=document["found"],
        source=f"{source['title']}, {source['publisher']}, {source['year']}, {source['place']}",
        workload=document["workload"],
        unit=document["unit"],
        columns=tuple(document["numbers"]["columns"]),
        rows=tuple(tuple(row) for row in document["numbers"]["rows"]),
        shapes=tuple(_parse_shape(shape) for shape in document["shapes"]),
        beyond=tuple(document["beyond"]),
    )


def _parse_shape(found: Mapping[str, Any]) -> Shape:
    values = found["values"]
    by_name = values if isinstance(values, dict) else {}
    levels = {name: one for name, one in by_name.items() if isinstance(one, list)}
    figures = [one for ends in levels.values() for one in ends] or list(by_name.values()) or values
    about = next((str(found[key]) for key in ("parameter", "over", "by", "where") if key in found), "")
    return Shape(
        kind=found["kind"],
        about=about,
        values={} if levels else by_name,
        low=float(min(figures)),
        high=float(max(figures)),
        metric=found.get("metric"),
        dividend=tuple(found.get("dividend", ())),
        divisor=tuple(found.get("divisor", ())),
        ranges={name: (float(min(ends)), float(max(ends))) for name, ends in levels.items()},
    )
