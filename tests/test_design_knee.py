"""Searches for a knee: right about a known one, bounded, and the same when they are interrupted."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.design import Design, Results
from steelyard.model.experiment import Experiment
from steelyard.model.trial import Result, Trial

few = settings(deadline=None, max_examples=8)
KNEES = {"read": 13.0, "write": 3.0}


def experiment(**more: Any) -> Experiment:
    tree = {
        "experiment": "test",
        "workload": {"use": "command", "run": ["true"]},
        "parameters": {"direction": ["read", "write"], "requests": {"between": [1, 64]}},
        "find": {"knee": "requests", "of": "iops", "within": "50%"},
        "repeat": {"at_least": 6, "at_most": 8},
        **more,
    }
    return Experiment.model_validate(tree)


def measured(trial: Trial, noise: float) -> Result:
    """Throughput grows with the requests up to the knee; the same for the same trial."""
    dice = random.Random(f"{trial.key}")
    cell = trial.cell.parameters
    served = min(float(str(cell["requests"])), KNEES[str(cell["direction"])])
    return Result(trial, "ok", 1.0, {"iops": 1000 * served * dice.lognormvariate(0, noise)})


def carried_out(design: Design, before: Iterable[Result] = (), *, noise: float = 0.0) -> list[Result]:
    results, made = Results(before), []
    while batch := design.next(results):
        for trial in batch:
            made.append(measured(trial, noise))
            results.add(made[-1])
        assert len(made) < 1000, "it does not come to an end"
    return made


def levels(made: Iterable[Result], direction: str) -> list[object]:
    cells = (result.trial.cell.parameters for result in made)
    return list(dict.fromkeys(cell["requests"] for cell in cells if cell["direction"] == direction))


@pytest.mark.parametrize("order", ["blocked", "random", "as-written"])
def test_each_search_goes_as_far_as_throughput_grows(order: str) -> None:
    made = carried_out(Design(experiment(order=order), 1), noise=0.005)
    assert levels(made, "read") == [1, 2, 4, 8, 16, 32, 11]
    assert levels(made, "write") == [1, 2, 4, 8, 3]
    assert len(made) == 6 * (7 + 5)


@few
@given(share=st.floats(0, 1), noise=st.sampled_from([0.005, 0.1]), seed=st.integers(0, 2**40))
def test_an_interrupted_search_goes_on_as_if_it_had_not_been(share: float, noise: float, seed: int) -> None:
    whole = carried_out(Design(experiment(), seed), noise=noise)
    done = round(share * len(whole))
    rest = carried_out(Design(experiment(), seed), whole[:done], noise=noise)
    assert [one.trial for one in rest] == [one.trial for one in whole[done:]]


@few
@given(noise=st.sampled_from([0.0, 0.1]), seed=st.integers(0, 2**40))
def test_what_is_expected_bounds_what_comes(noise: float, seed: int) -> None:
    design = Design(experiment(), seed)
    made = carried_out(design, noise=noise)
    for done in {0, len(made) // 2, len(made) - 1}:
        least, most = design.count_trials(Results(made[:done]))
        assert max(done, least) <= len(made) <= most
    assert design.count_trials(Results(made)) == (len(made), len(made))
