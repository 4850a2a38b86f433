from __future__ import annotations

import random

import pytest

from steelyard.analysis.comparison.samples import are_interleaved
from steelyard.design import Design, Results
from steelyard.model.experiment import Experiment
from steelyard.model.metric import Mark
from steelyard.model.trial import Result

BLOCKS = ([1, 4, 5, 8, 9, 12], [2, 3, 6, 7, 10, 11])


@pytest.mark.parametrize(
    ("a", "b", "turns"),
    [
        (*BLOCKS, True),
        ([1, 5, 9, 13, 17, 21], [2, 8, 10, 15, 18, 24], True),  # among other cells
        ([1, 6, 7, 8, 9, 12], [2, 4, 5, 10, 11, 13], True),  # two of one, then two of the other
        ([1, 7, 8, 9, 10, 12], [2, 4, 5, 6, 11, 13], False),  # three of one
        ([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12], False),
        ([1, 4, 5, 8, 9], [2, 3, 6, 7, 10], False),  # too few for an interval
        ([1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11], False),
    ],
)
def test_trials_take_turns_or_not_whichever_is_the_baseline(a, b, turns):
    assert are_interleaved(a, b) is are_interleaved(b, a) is turns


def counted(seed, disturbed):
    """The numbers of the trials that count in two cells, as the design makes them where so many do not."""
    tree = {"experiment": "x", "parameters": {"build": ["old", "new"]}, "repeat": 12}
    experiment = Experiment(**tree, workload={"use": "command", "run": ["true"]})
    design, results, chance = Design(experiment, seed), Results(), random.Random(seed)
    numbers = {"build=old": [], "build=new": []}
    for number in range(1, 100):
        trial = next(iter(design.next(results)), None)
        if trial is None:
            break
        marks = (Mark("disturbed", "steal"),) if chance.random() < disturbed else ()
        results.add(Result(trial, "ok", 1.0, {}, marks))
        numbers[trial.cell.key] += [] if marks else [number]
    return numbers.values()


@pytest.mark.parametrize(("disturbed", "least"), [(0.0, 1.0), (0.1, 0.95), (0.3, 0.75)])
def test_disturbed_trials_that_are_made_again_leave_the_turns(disturbed, least):
    found = [are_interleaved(*counted(seed, disturbed)) for seed in range(40)]
    assert sum(found) / len(found) >= least
