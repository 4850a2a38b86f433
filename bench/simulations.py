"""What the statistics hold in made-up worlds whose truth is known: the home of every figure that is claimed.

It writes `steelyard/analysis/claims.json`, from which reports and docs/explanation/statistics.md quote.
All is seeded, so a figure changes only with the code; with --quick a tenth of the cases is drawn, and
nothing is written.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from bench.coverage import (
    Stopped,
    drift_alarm_rate,
    false_alarm_rate,
    median_coverage,
    pair_alarm_rate,
    pair_coverage,
    policy_coverage,
    share,
    stopped,
)
from bench.histories import BEFORE, RUNS, SOON, alarm_share, found_share
from bench.row import Row
from bench.setting import Setting
from bench.worlds import (
    BIMODAL,
    EXPONENTIAL,
    LOGNORMAL,
    NORMAL,
    WORLDS,
    World,
    autocorrelated,
    bimodal,
    drifting,
    lognormal,
    normal,
    spiked,
)
from steelyard.analysis.claims import FILE, SimulationClaim
from steelyard.stats.outliers import Policy

Simulation = Callable[[float, int], Iterator[SimulationClaim]]
"""Draws `scale` times the usual cases with a seed of its own, plus so much."""

WITHIN, MOST = 0.05, 20
STOPPING = (
    *map(normal, (2, 3, 5, 8)),
    *map(lognormal, (0.03, 0.05, 0.1)),
    BIMODAL,
    bimodal(0.6, 15, 2),
    bimodal(0.55, 15, 2),
)
SPREAD = (*WORLDS, *(bimodal(first, 30, 1) for first in (0.55, 0.6, 0.7)))
FEWEST = 20
"""Cells without which a share says nothing."""
LIMITS = {
    "coverage.median": 0.05,
    "coverage.extremes": 0.05,
    "coverage.sequential": 0.06,
    "coverage.pairs": 0.06,
    "alarms.comparison": 0.08,
    "alarms.pairs": 0.08,
    "alarms.drift": 0.06,
    "alarms.history": 0.02,
    "found.history": 0.05,
}
"""The most that may miss, beside what chance does; an alarm among equals is a miss."""


def rows(setting: Setting) -> Iterator[Row]:
    """How many intervals miss the truth, and how many comparisons of equals raise an alarm."""
    found = [claim for simulate in SIMULATIONS.values() for claim in simulate(0.1 if setting.quick else 1, 0)]
    if not setting.quick:
        write(found, FILE)
    for one in found:
        missed = one.share if one.simulation.startswith(("alarms", "early")) else 1 - one.share
        what = f"{one.simulation}: {one.world}; {one.condition}"
        limit = LIMITS.get(one.simulation)
        chance = 3 * math.sqrt((limit or 0.0) / one.of)
        yield Row("simulations", what, "%", (missed,), limit=None if limit is None else limit + chance)


def write(found: list[SimulationClaim], path: Path) -> None:
    """Keep what was found, where reports look for it."""
    lines = ",\n".join(f"  {json.dumps(asdict(one))}" for one in found)
    path.write_text(f'{{\n "schema": 1,\n "claims": [\n{lines}\n ]\n}}\n', encoding="utf-8")


def _claim(name: str, world: World, condition: str, found: float, of: int, seed: int) -> SimulationClaim:
    today = time.strftime("%Y-%m-%d", time.gmtime())
    return SimulationClaim(name, world.name, condition, round(found, 4), of, seed, today)


def _median(scale: float, seed: int) -> Iterator[SimulationClaim]:
    """After a fixed number of repetitions."""
    seed, samples = seed + 1, int(20_000 * scale)
    for world in WORLDS:
        for n in (6, 10, 20):
            covered = median_coverage(world, n, samples, seed)
            yield _claim("coverage.median", world, f"n={n}", covered, samples, seed)


def _sequential(scale: float, seed: int) -> Iterator[SimulationClaim]:
    """Of all cells under a stop rule, of those that it stopped early, and how many these are."""
    seed, samples = seed + 9, int(40_000 * scale)
    condition = f"within {100 * WITHIN:g} %, 6 to {MOST} repetitions"
    for world in STOPPING:
        cells = stopped(world, WITHIN, MOST, samples, seed)
        early = [cell for cell in cells if cell.n < MOST]
        yield _claim("coverage.sequential", world, condition, _held(cells), samples, seed)
        yield _claim("early", world, condition, len(early) / samples, samples, seed)
        if len(early) >= FEWEST:
            yield _claim("coverage.early", world, condition, _held(early), len(early), seed)


def _held(cells: list[Stopped]) -> float:
    return share(cell.holds for cell in cells)


def _policy(policy: Policy) -> Simulation:
    def simulate(scale: float, seed: int) -> Iterator[SimulationClaim]:
        """After an outlier policy."""
        seed, samples = seed + 8, int(10_000 * scale)
        for world in SPREAD:
            for n in (10, 20):
                covered = policy_coverage(policy, world, n, samples, seed)
                yield _claim(f"coverage.{policy}", world, f"n={n}", covered, samples, seed)

    return simulate


def _alarms(scale: float, seed: int) -> Iterator[SimulationClaim]:
    """Twenty comparisons of equal cells, and how often any of them is called better or worse."""
    seed, families = seed + 10, int(600 * scale)
    for world in WORLDS:
        for n in (6, 10):
            rate = false_alarm_rate(world, n, families, seed)
            yield _claim("alarms.comparison", world, f"20 comparisons of equals, n={n}", rate, families, seed)


def _pairs(scale: float, seed: int) -> Iterator[SimulationClaim]:
    """Cells measured in blocks: how often the ratio's interval holds, and how often equals are told apart."""
    seed, samples, families = seed + 11, int(20_000 * scale), int(1200 * scale)
    for world in WORLDS:
        for n in (6, 10, 20):
            covered = pair_coverage(world, n, samples, seed)
            yield _claim("coverage.pairs", world, f"n={n} pairs, b 10 % above a", covered, samples, seed)
        for n in (6, 10):
            rate = pair_alarm_rate(world, n, families, seed + 1)
            condition = f"20 comparisons of equals, n={n} pairs"
            yield _claim("alarms.pairs", world, condition, rate, families, seed + 1)


def _drift(scale: float, seed: int) -> Iterator[SimulationClaim]:
    """Runs of five cells that neither drift nor remember, and how often any alarm is raised."""
    seed, runs = seed + 13, int(2000 * scale)
    for world in WORLDS:
        for n in (6, 10, 20):
            rate = drift_alarm_rate(world, n, runs, seed)
            yield _claim("alarms.drift", world, f"5 steady cells, n={n}", rate, runs, seed)


def _history(scale: float, seed: int) -> Iterator[SimulationClaim]:
    """Histories in which nothing changes, and such that shift; those that drift or remember are only told."""
    seed, histories = seed + 14, int(1000 * scale)
    steady = (NORMAL, LOGNORMAL, EXPONENTIAL, spiked(15))
    for name, worlds in (("history", steady), ("dependent", (autocorrelated(0.5), drifting(6)))):
        for world in worlds:
            rate = alarm_share(world, histories, seed)
            condition = f"{RUNS} runs, a look after each"
            yield _claim(f"alarms.{name}", world, condition, rate, histories, seed)
    for shift in (1.0, 1.5, 2.0, 3.0):
        rate = found_share(NORMAL, 3 * shift, histories, seed)
        condition = f"shift of {shift:g} sd after {BEFORE} runs, within {SOON}"
        name = "found.history" if shift >= 2 else "found.small"
        yield _claim(name, NORMAL, condition, rate, histories, seed)


SIMULATIONS: dict[str, Simulation] = {
    "median": _median,
    "sequential": _sequential,
    "mad": _policy("mad"),
    "tukey": _policy("tukey"),
    "extremes": _policy("extremes"),
    "alarms": _alarms,
    "pairs": _pairs,
    "drift": _drift,
    "history": _history,
}
