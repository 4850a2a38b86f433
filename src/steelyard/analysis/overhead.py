"""What Steelyard itself cost while a run went on, over all of its sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_BEGINNINGS = ("run-started", "run-resumed")


@dataclass(frozen=True, slots=True)
class Overhead:
    """CPU seconds over the `wall` seconds of the sessions that told of them.

    `agents` are those of the minder or probe by host, `unknown` the hosts whose agent cannot tell. `untold`
    sessions said nothing: they were killed, are still going on, or of a version that did not ask.
    """

    wall: float
    controller: float
    agents: Mapping[str, float]
    unknown: tuple[str, ...]
    untold: int

    def core_share(self, seconds: float) -> float:
        """The share of one core that so much CPU time is."""
        return seconds / self.wall if self.wall > 0 else 0.0


def sum_overhead(journal: Iterable[Mapping[str, Any]]) -> Overhead | None:
    """The cost of a run; None where no session told it."""
    reports, untold = _collect_reports(journal)
    if not reports:
        return None
    wall, controller = (sum(float(one[name]) for one in reports) for name in ("wall", "controller"))
    return Overhead(wall, controller, *_sum_agents(reports), untold)


def _sum_agents(reports: Iterable[Mapping[str, Any]]) -> tuple[dict[str, float], tuple[str, ...]]:
    """What the agents used by host, and the hosts of which that is unknown."""
    agents: dict[str, float] = {}
    unknown: dict[str, None] = {}
    for host, seconds in (entry for one in reports for entry in one["agents"].items()):
        if seconds is None:
            unknown[str(host)] = None
        else:
            agents[str(host)] = agents.get(str(host), 0.0) + float(seconds)
    return agents, tuple(unknown)


def _collect_reports(journal: Iterable[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], int]:
    """What sessions told at their end, and how many did not; handing the run to a job is no session."""
    reports: list[Mapping[str, Any]] = []
    untold, open_ = 0, False
    for line in journal:
        kind = line.get("kind")
        if kind in _BEGINNINGS:
            untold, open_ = untold + open_, True
        elif kind == "run-submitted":
            open_ = False
        elif kind == "run-ended":
            open_ = "overhead" not in line
            reports += [] if open_ else [line["overhead"]]
    return reports, untold + open_
