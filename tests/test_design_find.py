"""Searches for a limit: replayed, bounded, in the order that was asked for, and right about the limit."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.design import Design, Results
from steelyard.model.experiment import Experiment
from steelyard.model.metric import Mark
from steelyard.model.trial import Result, Trial
from steelyard.stats.condition import SearchRule

many = settings(deadline=None, max_examples=40)
ORDERS = ("blocked", "random", "as-written")
LIMITS = {"x": 37.0, "y": 700.0, "z": 5000.0}
SERVED = {"use": "redis", "on": "host"}


def experiment(**more: Any) -> Experiment:
    tree = {
        "experiment": "test",
        "workload": {"use": "command", "run": ["true"]},
        "parameters": {"engine": ["x", "y", "z"], "rate": {"between": [10, 2000]}},
        "find": {"maximize": "rate", "while": "wall <= 1 s"},
        **more,
    }
    return Experiment.model_validate(tree)


def measured(trial: Trial, noise: float, trouble: float = 0.0) -> Result:
    """What comes of a trial, always the same for the same one; the load at the limit takes one second."""
    dice = random.Random(f"{trial.key}")
    seconds = dice.uniform(0.5, 1.5)
    if dice.random() < trouble:
        return Result(trial, "failed", seconds, category=dice.choice(["timed-out", "host-failed"]))
    marks = (Mark("disturbed", "somebody"),) if dice.random() < trouble else ()
    load = float(str(trial.cell.parameters["rate"])) / LIMITS[str(trial.cell.parameters["engine"])]
    return Result(trial, "ok", seconds, {"wall": load * dice.lognormvariate(0, noise)}, marks)


def carried_out(
    design: Design, before: Iterable[Result] = (), *, noise: float = 0.0, trouble: float = 0.0
) -> list[Result]:
    results, made = Results(before), []
    while batch := design.next(results):
        for trial in batch:
            made.append(measured(trial, noise, trouble))
            results.add(made[-1])
        assert len(made) < 3 * 40 * 20, "it does not come to an end"
    return made


def trials(found: Iterable[Result]) -> list[Trial]:
    return [result.trial for result in found]


services = st.sampled_from(
    [
        {},
        {},
        {"store": {**SERVED, "keep": "trial"}},
        {"store": {**SERVED, "keep": "cell"}},
        {"store": {**SERVED, "data": "${engine}"}},
        {"store": {**SERVED, "port": "${rate}"}},
    ]
)
repeats = st.builds(
    lambda least, room, until: {
        "at_least": least,
        "at_most": max(6, least + room),
        **({"until": {"metric": "wall", "within": "20%"}} if until else {}),
    },
    st.integers(1, 8),
    st.integers(0, 5),
    st.booleans(),
)
experiments = st.builds(
    lambda goal, within, repeat, order, deployed: experiment(
        find={**goal, "within": within}, repeat=repeat, order=order, services=deployed
    ),
    st.sampled_from(
        [
            {"maximize": "rate", "while": "wall <= 1 s"},
            {"maximize": "rate", "while": "wall.mean < 1 s"},
            {"minimize": "rate", "while": "wall.max >= 1 s"},
        ]
    ),
    st.sampled_from(["1%", "5%", "40%"]),
    repeats,
    st.sampled_from(ORDERS),
    services,
)
noises = st.sampled_from([0.0, 0.05, 0.5])
troubles = st.sampled_from([0.0, 0.2])
seeds = st.integers(0, 2**63 - 1)


@many
@given(what=experiments, seed=seeds, noise=noises, trouble=troubles, share=st.floats(0, 1))
def test_an_interrupted_search_goes_on_as_if_it_had_not_been(
    what: Experiment, seed: int, noise: float, trouble: float, share: float
) -> None:
    whole = carried_out(Design(what, seed), noise=noise, trouble=trouble)
    done = round(share * len(whole))
    rest = carried_out(Design(what, seed), whole[:done], noise=noise, trouble=trouble)
    assert trials(rest) == trials(whole[done:])


@many
@given(what=experiments, seed=seeds, noise=noises, trouble=troubles)
def test_what_is_expected_bounds_what_comes(
    what: Experiment, seed: int, noise: float, trouble: float
) -> None:
    design = Design(what, seed)
    made = carried_out(design, noise=noise, trouble=trouble)
    for done in {0, len(made) // 3, len(made) // 2, len(made) - 1, len(made)}:
        least, most = design.count_trials(Results(made[:done]))
        assert max(done, least) <= len(made)
        assert trouble or len(made) <= most, "what does not count is made again"
    assert design.count_trials(Results(made)) == (len(made), len(made))


@many
@given(what=experiments, seed=seeds, noise=noises, trouble=troubles)
def test_each_level_is_measured_until_it_is_settled(
    what: Experiment, seed: int, noise: float, trouble: float
) -> None:
    made = carried_out(Design(what, seed), noise=noise, trouble=trouble)
    assert what.find
    rule = SearchRule(what.find.requirement, what.repeat)
    by_cell: dict[str, list[Result]] = {}
    for result in made:
        by_cell.setdefault(result.trial.cell.key, []).append(result)
    for found in by_cell.values():
        numbers = sorted(result.trial.repetition for result in found)
        assert numbers == list(range(1, len(found) + 1))
        counted = rule.count_repetitions(found)
        assert counted <= what.repeat.at_most
        assert counted >= what.repeat.at_least or len(found) == 2 * what.repeat.at_most
        assert rule.is_met(found) is not None
        if what.order != "random":  # there the first at_least come at once, in any order
            assert all(rule.is_met(found[:n]) is None for n in range(len(found)))


@many
@given(within=st.sampled_from(["1%", "5%", "40%"]), order=st.sampled_from(ORDERS), seed=seeds)
def test_without_noise_the_bracket_is_right(within: str, order: str, seed: int) -> None:
    find = {"maximize": "rate", "while": "wall <= 1 s", "within": within}
    what = experiment(find=find, order=order)
    made = carried_out(Design(what, seed))
    for engine, limit in LIMITS.items():
        levels = {
            float(str(result.trial.cell.parameters["rate"]))
            for result in made
            if result.trial.cell.parameters["engine"] == engine
        }
        held = max(level for level in levels if level <= limit)
        failed = min((level for level in levels if level > limit), default=None)
        assert failed is None if limit > 2000 else failed is not None and what.find is not None
        assert failed is None or failed <= max(held * (1 + float(what.find.within)), held + 1)  # type: ignore[union-attr]


@pytest.mark.parametrize("order", ["blocked", "random"])
def test_all_searches_go_step_by_step(order: str) -> None:
    """A step is over before the next begins, so slow drift falls on all searches alike."""
    made = trials(carried_out(Design(experiment(order=order), 1)))
    steps: dict[str, list[object]] = {}
    seen = []
    for trial in made:
        engine = str(trial.cell.parameters["engine"])
        levels = steps.setdefault(engine, [])
        if trial.cell.parameters["rate"] not in levels:
            levels.append(trial.cell.parameters["rate"])
        seen.append(levels.index(trial.cell.parameters["rate"]))
    assert seen == sorted(seen)
    assert {engine: levels[:3] for engine, levels in steps.items()} == {
        engine: [10, 20, 40] for engine in "xyz"
    }


def test_a_block_has_every_search_once() -> None:
    made = trials(carried_out(Design(experiment(), 1)))
    blocks = [made[at : at + 3] for at in range(0, 18, 3)]
    assert all({trial.cell.parameters["engine"] for trial in block} == set("xyz") for block in blocks)
    assert len({tuple(trial.cell.key for trial in block) for block in blocks}) > 1


def test_as_written_makes_one_search_after_the_other() -> None:
    made = trials(carried_out(Design(experiment(order="as-written"), 1)))
    turns = [engine for engine, _ in itertools.groupby(trial.cell.parameters["engine"] for trial in made)]
    assert turns == ["x", "y", "z"]
    assert [trial.repetition for trial in made[:7]] == [1, 2, 3, 4, 5, 6, 1]


def test_searches_that_share_a_deployment_come_one_after_the_other() -> None:
    what = experiment(services={"store": {**SERVED, "data": "${engine}"}})
    design = Design(what, 3)
    assert len(design.groups) == 3
    made = trials(carried_out(design))
    turns = [engine for engine, _ in itertools.groupby(trial.cell.parameters["engine"] for trial in made)]
    assert sorted(turns) == ["x", "y", "z"]


@pytest.mark.parametrize("order", ORDERS)
def test_more_repetitions_are_a_replay(order: str) -> None:
    """What was measured is kept; the search may then take another way."""
    few, more = experiment(order=order), experiment(order=order, repeat=9)
    done = carried_out(Design(few, 5), noise=0.05)
    added = carried_out(Design(more, 5), done, noise=0.05)
    assert not {result.trial.key for result in added} & {result.trial.key for result in done}
    design = Design(more, 5)
    assert design.count_trials(Results([*done, *added])) == (len(done) + len(added),) * 2


def test_some_of_the_searches_alone() -> None:
    design = Design(experiment(), 1)
    part = design.restrict([cell for cell in design.cells if cell.parameters["engine"] == "y"][:1])
    made = trials(carried_out(part))
    assert {trial.cell.parameters["engine"] for trial in made} == {"y"}
    assert [cell.key for cell in part.cells] == ["engine=y rate=10", "engine=y rate=2000"]
    assert len({trial.cell.parameters["rate"] for trial in made}) > 5


def test_the_order_of_a_seed_never_changes() -> None:
    """Or an old run could not go on as it began, nor be repeated."""
    made = trials(carried_out(Design(experiment(repeat=6), 4711)))
    said = [f"{trial.cell.parameters['engine']}{trial.cell.parameters['rate']}" for trial in made[:6]]
    assert " ".join(said) == "z10 y10 x10 x10 y10 z10"
