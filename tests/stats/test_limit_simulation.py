"""The proof that the bracket of a search holds the true limit as often as docs/reference/find.md says.

The world: a figure whose median reaches the bound at a known level, with lognormal noise around it. It rises
with the level to the power of `steepness`, as steeply as latency does near the limit of a server, or gently.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest

from steelyard.model.keys.find import SearchBounds
from steelyard.model.keys.method import Repeat
from steelyard.model.keys.requirement import Requirement
from steelyard.model.trial import Cell, Result, Trial
from steelyard.stats.condition import SearchRule, judge_level

CONDITION = Requirement.parse("latency <= 20 ms")
BOUNDS = SearchBounds(1000.0, 64000.0, 0.05, False, "maximize")


class World(NamedTuple):
    limit: float
    steepness: float
    noise: float

    def latency(self, level: float, rng: random.Random) -> float:
        return 0.02 * (level / self.limit) ** self.steepness * rng.lognormvariate(0, self.noise)


class Found(NamedTuple):
    """The ends of the bracket, the lowest level that was judged as not met, and the number of trials."""

    holds: float
    fails: float
    surely: float
    trials: int


def searched(world: World, repeat: Repeat, rng: random.Random) -> Found:
    rule, trials, surely = SearchRule(CONDITION, repeat), 0, BOUNDS.high

    def met(level: float) -> bool:
        nonlocal trials, surely
        results: list[Result] = []
        while (found := rule.is_met(results)) is None:
            trial = Trial(Cell({"rate": level}), len(results) + 1)
            results.append(Result(trial, "ok", 1.0, {"latency": world.latency(level, rng)}))
        trials += len(results)
        if not found and judge_level(CONDITION, results).met is False:
            surely = min(surely, level)
        return found

    walk = BOUNDS.walk(met)
    return Found(walk.below or 0.0, walk.above or BOUNDS.high, surely, trials)


def repeat(least: int, most: int) -> Repeat:
    return Repeat.model_validate({"at_least": least, "at_most": most})


@pytest.mark.full
@pytest.mark.parametrize(("least", "most"), [(6, 6), (6, 15), (10, 30)])
@pytest.mark.parametrize(("steepness", "noise"), [(1, 0.02), (1, 0.1), (4, 0.1), (4, 0.3)])
def test_how_often_the_bracket_holds_the_limit(steepness: float, noise: float, least: int, most: int) -> None:
    rng, count = random.Random(f"{steepness} {noise} {least}"), 1000
    held = nearer = open_ended = trials = 0
    shares: list[float] = []
    for _ in range(count):
        world = World(rng.uniform(1500, 50000), steepness, noise)
        found = searched(world, repeat(least, most), rng)
        held += found.holds <= world.limit < found.surely
        nearer += found.holds <= world.limit < found.fails
        open_ended += found.surely == BOUNDS.high
        trials += found.trials
        shares.append(found.holds / world.limit)
    middle = sorted(shares)[count // 2]
    print(
        f"limit, steepness {steepness}, noise {noise:.0%}, {least} to {most} repetitions: the bracket holds"
        f" it in {held / count:.1%}, its part up to an undecided level in {nearer / count:.1%}; the level"
        f" that holds is {middle:.1%} of it; open above in {open_ended / count:.1%};"
        f" {trials / count:.0f} trials"
    )
    assert held / count >= 0.97
    assert nearer <= held
    assert 0.8 < middle <= 1
