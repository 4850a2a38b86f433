"""What a cluster is doing, as its journal tells, and the sentences for people who watch one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from steelyard.units import format_count, show

Line = Mapping[str, Any]

CLUSTER_TAG = "cluster"
"""The tag of an experiment that is a cluster, with its name: such a run tells what it is doing."""


class Activity(NamedTuple):
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


def find_activity(lines: Iterable[Line], *, recovers: bool = False) -> Activity:
    """What its last lines say. `recovers`: whether the database gets the data of a snapshot once it is up."""
    current = before = Activity("starting", 0.0)
    for line in lines:
        kind, wall = str(line.get("kind")), float(line.get("wall", 0.0))
        if kind == "service-ready":
            current = Activity("recovering a snapshot" if recovers else "running the application", wall)
        elif kind == "snapshot-begun":
            before, current = (current if current.what != SNAPSHOT else before), Activity(SNAPSHOT, wall)
        elif kind in ("snapshot-taken", "snapshot-failed"):
            current = before if current.what == SNAPSHOT else current
        elif kind == "run-ended":
            current = Activity(f"ended: {line.get('state')}", wall)
        elif kind in _BY_KIND:
            current = Activity(_BY_KIND[kind], wall)
    return current


def describe_line(line: Line) -> str:
    """What a line means for who waits; empty for most."""
    kind = line.get("kind")
    if kind == "service-ready":
        hosts, seconds = line.get("hosts") or [], float(line.get("seconds", 0.0))
        where = f"{line.get('address')} port {line.get('port')}"
        return f"the database is up on {format_count(len(hosts), 'node')} after {show(seconds, 's')}: {where}"
    if kind == "snapshot-recovered":
        took = show(float(line.get("seconds", 0.0)), "s")
        return f"recovered snapshot {line.get('snapshot')} in {took}"
    if kind == "snapshot-taken":
        size = show(float(line.get("bytes", 0)), "B")
        took = show(float(line.get("seconds", 0.0)), "s")
        return f"snapshot {line.get('snapshot')} is complete: {size}, about {line.get('rows')} rows, {took}"
    if kind == "run-held":
        return "the database stays up until `steelyard cluster stop`"
    return ""
