"""What simulations found of the statistics: the only home of such figures, which reports quote by name.

`make bench ARGS=simulations` measures them and writes `claims.json` beside this file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, slots=True)
class SimulationClaim:
    """A `simulation` found that this `share`, 0 to 1, `of` so many cases held.

    `world` is the distribution of the repetitions, whose first word is its kind; `condition` is what was done
    with them.
    """

    simulation: str
    world: str
    condition: str
    share: float
    of: int
    seed: int
    date: str

    @property
    def kind(self) -> str:
        """`normal`, `lognormal`, `bimodal`."""
        return self.world.partition(" ")[0]


@lru_cache(maxsize=1)
def load_claims() -> tuple[SimulationClaim, ...]:
    """All that was measured."""
    document = json.loads(FILE.read_text(encoding="utf-8"))
    return tuple(SimulationClaim(**entry) for entry in document["claims"])


def select_claims(simulation: str, kind: str = "") -> list[SimulationClaim]:
    """Those of a simulation, perhaps of one kind of distribution only. Raises LookupError without any."""
    matches = [one for one in load_claims() if one.simulation == simulation and kind in ("", one.kind)]
    if not matches:
        raise LookupError(f"no simulation {simulation} of {kind or 'any'} distribution in {FILE.name}")
    return matches


def format_span(found: Iterable[SimulationClaim]) -> str:
    """`95.6 to 97.9 %`, from the lowest share to the highest."""
    ordered = sorted(one.share for one in found)
    shares = [f"{100 * one:.1f}".removesuffix(".0") for one in ordered]
    return " to ".join(dict.fromkeys((shares[0], shares[-1]))) + " %"


def format_by_kind(found: Iterable[SimulationClaim]) -> str:
    """`95.7 to 97.0 % on normal, 95.9 to 97.9 % on lognormal data`."""
    kinds: dict[str, list[SimulationClaim]] = {}
    for one in found:
        kinds.setdefault(one.kind, []).append(one)
    parts = [f"{format_span(of)} on {kind}" for kind, of in kinds.items()]
    *most, last = parts
    return (f"{', '.join(most)} and {last}" if most else last) + " data"


def format_source(found: Iterable[SimulationClaim]) -> str:
    """`(coverage.median, simulated 2026-11-23)`, to stand behind what is claimed."""
    names = dict.fromkeys(f"{one.simulation}, simulated {one.date}" for one in found)
    return f"({'; '.join(names)})"
