"""The proof that making disturbed trials again keeps intervals honest: steal in bursts, whose truth is known.

A two-state Markov chain over the trials of a run says when the hypervisor takes part; in the long run that is
47 % of the time. `pytest tests/test_design_simulation.py -m full -s` prints every figure; all is seeded.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from steelyard.design import Design, Results
from steelyard.model.experiment import Experiment
from steelyard.model.metric import Mark
from steelyard.model.trial import Result
from steelyard.stats.interval import Interval, median_interval

STEAL = (Mark("disturbed", "steal: the hypervisor took 12.0 % of the CPU time"),)
SHARE, CELLS, TRUTH = 0.47, 6, 100.0


class Seen(NamedTuple):
    """The share of cells with an interval, of intervals that hold the truth, of trials that are marked."""

    decided: float
    covered: float
    marked: float


def steal(rng: random.Random, burst: float) -> Iterator[bool]:
    """Whether each trial is hit; a burst lasts so many trials on average."""
    hit = rng.random() < SHARE
    while True:
        yield hit
        hit = rng.random() >= 1 / burst if hit else rng.random() < SHARE / (1 - SHARE) / burst


def measured(seed: int, burst: float, *, slower: float, **more: object) -> tuple[Design, Results]:
    """A whole run; a trial that is hit takes `slower` times as long."""
    tree = {"experiment": "test", "workload": {"use": "command", "run": ["true"]}, **more}
    what = Experiment.model_validate({**tree, "parameters": {"a": list(range(CELLS))}})
    rng, design, results = random.Random(seed), Design(what, seed), Results()
    hits = steal(rng, burst)
    while batch := design.next(results):
        for trial in batch:
            hit = next(hits)
            wall = rng.gauss(TRUTH, 3) * (slower if hit else 1.0)
            results.add(Result(trial, "ok", 1.0, {"wall": wall}, STEAL if hit else ()))
    return design, results


def seen(runs: int, burst: float, *, slower: float = 1.0, all_count: bool = False, **more: object) -> Seen:
    cells = marked = trials = 0
    found: list[Interval] = []
    for seed in range(runs):
        design, results = measured(seed, burst, slower=slower, **more)
        marked += sum(not result.is_poolable for result in results)
        trials += len(results)
        for cell in design.cells:
            cells += 1
            of_cell = results.cell_results(cell).values()
            values = [result.metrics["wall"] for result in of_cell if all_count or result.is_poolable]
            interval = median_interval(values) if values else None
            found += [interval] if interval else []
    covered = sum(TRUTH in interval for interval in found) / max(1, len(found))
    return report(Seen(len(found) / cells, covered, marked / trials), burst, slower, more)


def report(found: Seen, *what: object) -> Seen:
    print(f"\n  {what}: {100 * found.decided:.1f} % decided, {100 * found.covered:.1f} % covered", end="")
    return found


def test_a_few_runs_under_steal_keep_their_intervals() -> None:
    found = seen(60, 5)
    assert found.decided > 0.6
    assert found.covered >= 0.93


@pytest.mark.full
@pytest.mark.parametrize("order", ["blocked", "random"])
@pytest.mark.parametrize("burst", [3, 5, 10])
@pytest.mark.parametrize("slower", [1.0, 1.3])
def test_under_clustered_steal_most_cells_have_an_interval_that_covers(
    slower: float, burst: float, order: str
) -> None:
    """Also where steal slows the trials that it hits: what counts is the truth of a quiet machine."""
    found = seen(400, burst, slower=slower, order=order)
    assert found.marked == pytest.approx(SHARE, abs=0.03)
    assert found.decided > 0.6
    assert found.covered >= 0.95


@pytest.mark.full
def test_what_the_other_ways_would_cost() -> None:
    """Left out, hardly a cell has an interval; counted, one of six misses what a quiet machine does."""
    assert seen(400, 5, disturbed="exclude").decided < 0.1
    counted = seen(400, 5, slower=1.3, all_count=True, disturbed="include")
    assert counted.decided == 1
    assert counted.covered < 0.9


@pytest.mark.full
@pytest.mark.parametrize(("burst", "order"), [(25, "blocked"), (10, "as-written")])
def test_a_burst_may_outlast_the_trials_of_a_cell(burst: float, order: str) -> None:
    """Where a cell cannot wait for its end fewer cells have six quiet moments; no interval covers less."""
    found = seen(400, burst, order=order)
    assert found.decided > 0.5
    assert found.covered >= 0.95
