"""What a cluster is doing, as its journal tells, and the sentences for people who watch one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from steelyard.units import show

Line = Mapping[str, Any]


class Doing(NamedTuple):
    """What is going on, and since when, in seconds of the wall clock."""

    what: str
    since: float


_BY_KIND = {
    "run-submitted": "waiting for its job",
    "run-started": "starting",
    "run-resumed": "starting",
    "trial-started": "deploying the database",
    "snapshot-recovered": "running the application",
    "trial-ended": "ending",
    "run-held": "holding",
}
SNAPSHOT = "taking a snapshot"


def doing(lines: Iterable[Line], *, recovers: bool = False) -> Doing:
    """What its last lines say. `recovers`: whether the database gets the data of a snapshot once it is up."""
    found = before = Doing("starting", 0.0)
    for line in lines:
        kind, wall = str(line.get("kind")), float(line.get("wall", 0.0))
        if kind == "service-ready":
            found = Doing("recovering a snapshot" if recovers else "running the application", wall)
        elif kind == "snapshot-begun":
            before, found = (found if found.what != SNAPSHOT else before), Doing(SNAPSHOT, wall)
        elif kind in ("snapshot-taken", "snapshot-failed"):
            found = before if found.what == SNAPSHOT else found
        elif kind == "run-ended":
            found = Doing(f"ended: {line.get('state')}", wall)
        elif kind in _BY_KIND:
            found = Doing(_BY_KIND[kind], wall)
    return found


def sentence(line: Line) -> str:
    """What a line means for who waits; empty for most."""
    kind = line.get("kind")
    if kind == "service-ready":
        hosts, seconds = line.get("hosts") or [], float(line.get("seconds", 0.0))
        where = f"{line.get('address')} port {line.get('port')}"
        return f"the database is up on {_count(len(hosts), 'node')} after {show(seconds, 's')}: {where}"
    if kind == "snapshot-recovered":
        took = show(float(line.get("seconds", 0.0)), "s")
        return f"it has the data of snapshot {line.get('snapshot')} after {took}"
    if kind == "snapshot-taken":
        size = show(float(line.get("bytes", 0)), "B")
        took = show(float(line.get("seconds", 0.0)), "s")
        return f"snapshot {line.get('snapshot')} is complete: {size}, about {line.get('rows')} rows, {took}"
    if kind == "run-held":
        return "the database stays up until `steelyard cluster stop`"
    return ""


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
