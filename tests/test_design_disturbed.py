"""Disturbed trials are made again: how often, in which order, and blind to their figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from steelyard.design import Design, Results
from steelyard.model.experiment import Experiment
from steelyard.model.metric import Mark
from steelyard.model.trial import Result, Trial
from steelyard.stats.condition import AGAIN

ORDERS = ("blocked", "random", "as-written")
STEAL = Mark("disturbed", "steal: the hypervisor took 12.0 % of the CPU time")
Fate = Callable[[Trial, int], tuple[Mark, ...]]


def experiment(**more: Any) -> Experiment:
    tree = {"experiment": "test", "workload": {"use": "command", "run": ["true"]}, **more}
    return Experiment.model_validate(tree)


def made(what: Experiment, fate: Fate, *, status: str = "ok", value: float = 1.0) -> list[Result]:
    """All results in their order; `fate` marks a trial, told how many were made before it."""
    design, found = Design(what, 7), list[Result]()
    while batch := design.next(results := Results(found)):
        for trial in batch:
            marks = fate(trial, len(found))
            found.append(Result(trial, status, 1.0, {"wall": value}, marks))  # type: ignore[arg-type]
        assert len(found) < 1000, "it does not come to an end"
    assert design.is_out_of_budget(results) or design.count_trials(results) == (len(found), len(found))
    return found


def always(trial: Trial, before: int) -> tuple[Mark, ...]:
    return (STEAL,)


def first(count: int) -> Fate:
    """The first repetitions of each cell are disturbed."""
    return lambda trial, before: (STEAL,) if trial.repetition <= count else ()


def by_cell(found: Iterable[Result]) -> dict[str, list[int]]:
    cells: dict[str, list[int]] = {}
    for result in found:
        cells.setdefault(result.trial.cell.key, []).append(result.trial.repetition)
    return cells


def test_disturbed_trials_are_made_again_unless_the_file_says_otherwise() -> None:
    assert Design(experiment(), 1).replaces
    for word, count in (("replace", 5), ("exclude", 3), ("include", 3)):
        assert len(made(experiment(repeat=3, disturbed=word), first(2))) == count


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("repeat", [1, 6])
def test_a_cell_gets_as_many_as_count_and_at_most_twice_the_trials(order: str, repeat: int) -> None:
    what = experiment(parameters={"a": [1, 2]}, repeat=repeat, order=order)
    for lost in (0, 1, 2 * repeat):
        found = by_cell(made(what, first(lost)))
        wanted = list(range(1, min(repeat + lost, AGAIN * repeat) + 1))
        assert {cell: sorted(numbers) for cell, numbers in found.items()} == {"a=1": wanted, "a=2": wanted}


@pytest.mark.parametrize("kind", ["fallback", "incomplete"])
def test_only_what_another_trial_may_cure_is_made_again(kind: Any) -> None:
    """A failure that is made again would be hidden."""
    what = experiment(repeat=3)
    assert len(made(what, lambda trial, before: (Mark(kind, "x"),))) == 3
    assert len(made(what, lambda trial, before: (STEAL, Mark(kind, "x")))) == 3
    assert len(made(what, always, status="failed")) == 3


@pytest.mark.parametrize("order", ORDERS)
def test_no_figure_has_a_say(order: str) -> None:
    what = experiment(parameters={"a": [1, 2, 3]}, repeat=4, order=order)
    keys = [[result.trial.key for result in made(what, first(2), value=value)] for value in (1.0, -9e9)]
    assert keys[0] == keys[1]


def test_a_cell_that_was_disturbed_catches_up_and_comes_back_into_its_block() -> None:
    what = experiment(parameters={"a": [1, 2, 3]}, repeat=3)
    lost = ("a=2", 1)
    found = [result.trial.key for result in made(what, lambda t, _: (STEAL,) if t.key == lost else ())]
    assert {cell for cell, _ in found[:3]} == {"a=1", "a=2", "a=3"}
    assert found[3] == ("a=2", 2), "so that all cells count equally often when the next block begins"
    for block in (found[4:7], found[7:]):
        assert {cell for cell, _ in block} == {"a=1", "a=2", "a=3"}


def test_a_burst_does_not_use_up_what_a_cell_may_have() -> None:
    """In the time of a block a cell gets two trials, however long it has been disturbed."""
    what = experiment(parameters={"a": [1, 2, 3]}, repeat=4)
    found = made(what, lambda trial, _: (STEAL,) if trial.cell.parameters["a"] == 2 else ())
    turns = [result.trial.cell.parameters["a"] for result in found]
    for block in range(4):
        assert sorted(turns[4 * block : 4 * block + 4]) == [1, 2, 2, 3]


@pytest.mark.parametrize("order", ["random", "as-written"])
def test_in_other_orders_the_planned_trials_come_first(order: str) -> None:
    what = experiment(parameters={"a": [1, 2]}, repeat=3, order=order)
    found = made(what, first(1))
    assert {result.trial.repetition for result in found[:6]} == {1, 2, 3}
    assert [result.trial.repetition for result in found[6:]] == [4, 4]


def test_a_stop_rule_asks_for_trials_that_count() -> None:
    until = {"metric": "wall", "within": "5%"}
    what = experiment(repeat={"at_least": 6, "at_most": 12, "until": until})
    assert len(made(what, first(2))) == 8 + 2, "eight that count are the first to be precise enough"
    assert len(made(what, always)) == AGAIN * 12


def test_the_budget_holds_for_what_is_made_again_too() -> None:
    assert len(made(experiment(repeat={"at_least": 3, "budget": "4s"}), always)) == 4


def test_what_is_expected_has_room_for_what_may_be_made_again() -> None:
    design = Design(experiment(parameters={"a": [1, 2]}, repeat=3), 1)
    assert design.count_trials(Results()) == (6, 12)
    trial = design.next(Results())[0]
    assert design.count_trials(Results([Result(trial, "ok", 1.0, {}, (STEAL,))])) == (7, 12)
