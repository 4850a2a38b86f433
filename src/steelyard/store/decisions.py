"""What people decided about runs of an experiment's history: `history.ndjson` in the store.

One line of JSON each, only ever added to, so that it can be kept under version control and merged. What a
later line says of the same run holds; a line that is torn or is none of ours says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast, get_args

from steelyard.store.appending import append_lines, read_added_lines
from steelyard.store.journal import write_failure
from steelyard.store.layout import Store

Verdict = Literal["expected", "ignored", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Decision:
    """About one `run` of an `experiment`: that a change at it was `expected`, or that it is to be `ignored`.

    `withdrawn` takes back what was decided before. `wall` is when, in seconds since the epoch.
    """

    experiment: str
    run: str
    verdict: Verdict
    why: str
    who: str
    wall: float


def read_decisions(store: Store, experiment: str) -> dict[str, Decision]:
    """Those that hold for an experiment, by run. Raises StoreError where the file cannot be read."""
    every = (one for one in list_decisions(store) if one.experiment == experiment)
    last = {one.run: one for one in every}
    return {run: one for run, one in last.items() if one.verdict != "withdrawn"}


def list_decisions(store: Store) -> list[Decision]:
    """All lines, the oldest first. Raises StoreError."""
    return [one for line in read_added_lines(store.decisions) if (one := _parse(line))]


def add_decisions(store: Store, decisions: Iterable[Decision]) -> None:
    """Write them down. Raises StoreError, also where the store is somebody else's."""
    try:
        store.make_runs()
    except OSError as error:
        raise write_failure(store.decisions, error) from error
    append_lines(store.decisions, map(asdict, decisions))


def _parse(line: Mapping[str, Any]) -> Decision | None:
    experiment, run, verdict, why, who = (
        str(line.get(name, "")) for name in ("experiment", "run", "verdict", "why", "who")
    )
    wall = line.get("wall")
    if verdict not in get_args(Verdict) or not isinstance(wall, int | float) or isinstance(wall, bool):
        return None
    return Decision(experiment, run, cast(Verdict, verdict), why, who, float(wall))
