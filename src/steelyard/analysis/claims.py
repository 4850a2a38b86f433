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
class Claim:
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
def claims() -> tuple[Claim, ...]:
    """All that was measured."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    return tuple(Claim(**entry) for entry in found["claims"])


def claims_of(simulation: str, kind: str = "") -> list[Claim]:
    """Those of a simulation, perhaps of one kind of distribution only. Raises LookupError without any."""
    found = [one for one in claims() if one.simulation == simulation and kind in ("", one.kind)]
    if not found:
        raise LookupError(f"no simulation {simulation} of {kind or 'any'} distribution in {FILE.name}")
    return found


def span(found: Iterable[Claim]) -> str:
    """`95.6 to 97.9 %`, from the lowest share to the highest."""
    ordered = sorted(one.share for one in found)
    shares = [f"{100 * one:.1f}".removesuffix(".0") for one in ordered]
    return " to ".join(dict.fromkeys((shares[0], shares[-1]))) + " %"


def by_kind(found: Iterable[Claim]) -> str:
    """`95.7 to 97.0 % on normal, 95.9 to 97.9 % on lognormal data`."""
    kinds: dict[str, list[Claim]] = {}
    for one in found:
        kinds.setdefault(one.kind, []).append(one)
    parts = [f"{span(of)} on {kind}" for kind, of in kinds.items()]
    *most, last = parts
    return (f"{', '.join(most)} and {last}" if most else last) + " data"


def source(found: Iterable[Claim]) -> str:
    """`(coverage.median, simulated 2026-11-23)`, to stand behind what is claimed."""
    names = dict.fromkeys(f"{one.simulation}, simulated {one.date}" for one in found)
    return f"({'; '.join(names)})"
