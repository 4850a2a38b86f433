from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from steelyard.design import Design, Results
from steelyard.model.experiment import Experiment
from steelyard.model.metric import Mark
from steelyard.model.trial import Result, Trial
from steelyard.stats.condition import AGAIN
from steelyard.stats.stopping import measure_precision

Tree = dict[str, Any]
ORDERS = ("blocked", "random", "as-written")
many = settings(deadline=None, max_examples=150)


def experiment(**more: Any) -> Experiment:
    tree = {"experiment": "test", "workload": {"use": "command", "run": ["true"]}, "disturbed": "exclude"}
    return Experiment.model_validate({**tree, **more})


def measured(trial: Trial, noise: float = 0.2) -> Result:
    """What comes of a trial: always the same for the same trial, sometimes a failure, sometimes marked."""
    dice = random.Random(f"{trial.key}")
    seconds = dice.uniform(0.5, 1.5)
    if dice.random() < 0.1:
        return Result(trial, "failed", seconds, category="crashed")
    marks = (Mark("disturbed", "somebody"),) if dice.random() < 0.1 else ()
    return Result(trial, "ok", seconds, {"wall": dice.gauss(1, noise)}, marks)


def carried_out(design: Design, before: Iterable[Result] = ()) -> list[Result]:
    """Everything that a design asks for after these results, in its order."""
    results, made = Results(before), []
    while batch := design.next(results):
        for trial in batch:
            made.append(measured(trial))
            results.add(made[-1])
        assert len(made) <= len(design.cells) * most(design.experiment), "it does not come to an end"
    return made


def most(what: Experiment) -> int:
    """How many trials a cell may get."""
    return what.repeat.at_most * (AGAIN if what.disturbed == "replace" else 1)


def standing(what: Experiment, made: Iterable[Result]) -> int:
    """How many of these trials need not be made again."""
    return sum(not (what.disturbed == "replace" and result.is_disturbed) for result in made)


def trials(results: Iterable[Result]) -> list[Trial]:
    return [result.trial for result in results]


# Any experiment

numbers = st.lists(st.integers(-9, 9), min_size=1, max_size=3, unique=True)
texts = st.lists(st.sampled_from(["x", "y", "1", "true", ""]), min_size=1, max_size=3, unique=True)
ranges = st.sampled_from(
    [
        {"range": [1, 4], "step": 3},
        {"range": [1, 8], "factor": 2},
        {"range": [0, 1], "count": 3},
        {"range": [-1, 1]},
    ]
)
between = st.builds(
    lambda whole, scale: {"between": [1, 50], "integer": whole, "scale": scale},
    st.booleans(),
    st.sampled_from(["linear", "log"]),
)


@st.composite
def spaces(draw: st.DrawFn) -> Tree:
    """Parameters with everything that makes cells of them."""
    found: Tree = {"parameters": {"a": draw(numbers)}}
    for name in draw(st.sampled_from(["", "b", "bc"])):
        found["parameters"][name] = draw(numbers | texts | ranges)
    if draw(st.booleans()):
        length = draw(st.integers(1, 3))
        found["parameters"] |= {"y": list(range(length)), "z": [f"z{n}" for n in range(length)]}
        found["zip"] = ["y", "z"]
    if draw(st.booleans()):
        found["where"] = f"a * 2 <= {draw(st.integers(-20, 20))} or a == {found['parameters']['a'][0]}"
    if draw(st.integers(0, 3)) == 0:
        found["parameters"]["drawn"] = draw(between)
        method = draw(st.sampled_from(["latin-hypercube", "sobol"]))
        found["sample"] = {"size": draw(st.integers(1, 4)), "method": method}
    return found


@st.composite
def repeats(draw: st.DrawFn) -> Tree:
    least = draw(st.integers(1, 4))
    found: Tree = {"at_least": least}
    if draw(st.booleans()):
        found |= {"at_most": draw(st.integers(max(least, 6), 9))}
        found["until"] = {"metric": "wall", "within": draw(st.sampled_from(["5%", "20%", "40%"]))}
    if draw(st.integers(0, 2)) == 0:
        found["budget"] = draw(st.sampled_from(["1s", "5s", "20s", "10min"]))
    return found


SERVED = {"use": "redis", "on": "host"}
services = st.sampled_from(
    [
        {},
        {},
        {"store": {**SERVED, "keep": "trial", "port": "${a}"}},
        {"store": {**SERVED, "keep": "cell"}},
        {"store": {**SERVED, "port": "${a}"}},
        {"store": {**SERVED, "port": "${a // 2}"}, "other": SERVED},
    ]
)
experiments = st.builds(
    lambda space, repeat, order, deployed, disturbed: experiment(
        **space, repeat=repeat, order=order, services=deployed, disturbed=disturbed
    ),
    spaces(),
    repeats(),
    st.sampled_from(ORDERS),
    services,
    st.sampled_from(["replace", "exclude"]),
)
seeds = st.integers(0, 2**63 - 1)


@many
@given(what=experiments, seed=seeds)
def test_the_same_input_gives_the_same_trials(what: Experiment, seed: int) -> None:
    design, results = Design(what, seed), Results()
    first = design.next(results)
    assert list(design.next(results)) == list(first), "asking changes nothing"
    assert trials(carried_out(design)) == trials(carried_out(Design(what, seed)))


@settings(many, max_examples=300)
@given(what=experiments, seed=seeds, share=st.floats(0, 1))
def test_an_interrupted_run_goes_on_as_if_it_had_not_been(what: Experiment, seed: int, share: float) -> None:
    """After any number of results, a new design that is told of them asks for just the rest."""
    whole = carried_out(Design(what, seed))
    done = round(share * len(whole))
    assert trials(carried_out(Design(what, seed), whole[:done])) == trials(whole[done:])


@many
@given(what=experiments, seed=seeds)
def test_every_cell_is_measured_as_often_as_was_asked(what: Experiment, seed: int) -> None:
    assume(what.repeat.budget is None)
    design = Design(what, seed)
    made = carried_out(design)
    count = Counter(result.trial.cell.key for result in made)
    assert set(count) == {cell.key for cell in design.cells}
    for cell in design.cells:
        mine = [result for result in made if result.trial.cell == cell]
        assert sorted(result.trial.repetition for result in mine) == list(range(1, len(mine) + 1))
        assert what.repeat.at_least <= len(mine) <= most(what)
        enough = standing(what, mine)
        assert len(mine) == most(what) or what.repeat.at_least <= enough <= what.repeat.at_most
        if what.repeat.until and what.repeat.at_least < enough < what.repeat.at_most:
            assert len(mine) == most(what) or precise(what, mine)
            assert not precise(what, mine[:-1])


def precise(what: Experiment, results: Iterable[Result]) -> bool:
    assert what.repeat.until
    values = [result.metrics["wall"] for result in results if result.is_poolable]
    return measure_precision(values, within=what.repeat.until.within).enough


@many
@given(what=experiments, seed=seeds)
def test_cells_that_share_a_deployment_are_measured_one_after_the_other(what: Experiment, seed: int) -> None:
    design = Design(what, seed)
    wanted = {cell.key: number for number, group in enumerate(design.groups) for cell in group}
    made = [wanted[result.trial.cell.key] for result in carried_out(design)]
    turns = [group for group, _ in itertools.groupby(made)]
    assert len(turns) == len(set(turns))
    assert sorted(wanted) == sorted(cell.key for cell in design.cells)


@many
@given(what=experiments, seed=seeds)
def test_what_is_expected_bounds_what_comes(what: Experiment, seed: int) -> None:
    assume(what.repeat.budget is None)
    design = Design(what, seed)
    made = carried_out(design)
    for done in {0, len(made) // 2, len(made)}:
        fewest, largest = design.count_trials(Results(made[:done]))
        assert max(done, fewest) <= len(made) <= largest
    assert design.count_trials(Results(made)) == (len(made), len(made))


@many
@given(what=experiments, seed=seeds)
def test_a_budget_stops_after_the_trial_that_spends_it(what: Experiment, seed: int) -> None:
    budget = what.repeat.budget
    assume(budget is not None)
    made = carried_out(Design(what, seed))
    free = experiment(**what.model_dump(exclude={"repeat"}, exclude_unset=True), repeat=unlimited(what))
    whole = carried_out(Design(free, seed))
    assert trials(made) == trials(whole[: len(made)])
    spent = list(itertools.accumulate(result.seconds for result in made))
    assert all(seconds < budget for seconds in spent[:-1])
    assert len(made) == len(whole) or spent[-1] >= budget


def unlimited(what: Experiment) -> Mapping[str, Any]:
    return what.repeat.model_dump(exclude={"budget"}, exclude_unset=True)


# Orders


@pytest.fixture(params=[1, 4711, 2**62])
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_a_block_is_complete_before_the_next(seed: int) -> None:
    design = Design(experiment(parameters={"a": [1, 2, 3], "b": ["x", "y"]}, repeat=5), seed)
    made = trials(carried_out(design))
    blocks = [made[start : start + 6] for start in range(0, 30, 6)]
    for number, block in enumerate(blocks, 1):
        assert {trial.cell.key for trial in block} == {cell.key for cell in design.cells}
        assert {trial.repetition for trial in block} == {number}
    orders = {tuple(trial.cell.key for trial in block) for block in blocks}
    assert len(orders) > 1, "each block has an order of its own"


def test_at_random_all_repetitions_are_mixed(seed: int) -> None:
    design = Design(experiment(parameters={"a": list(range(10))}, repeat=6, order="random"), seed)
    made = trials(carried_out(design))
    assert sorted(keys(made)) == sorted((cell.key, k) for cell in design.cells for k in range(1, 7))
    first_ten = {trial.cell.key for trial in made[:10]}
    assert len(first_ten) < 10, "this is no block design"


def test_as_written_goes_cell_by_cell(seed: int) -> None:
    design = Design(experiment(parameters={"a": [2, 1], "b": [3, 4]}, repeat=2, order="as-written"), seed)
    found = [(*trial.cell.parameters.values(), trial.repetition) for trial in trials(carried_out(design))]
    assert found == [(a, b, k) for a in (2, 1) for b in (3, 4) for k in (1, 2)]


@pytest.mark.parametrize("keep", ["cell", "run"])
def test_groups_of_cells_come_in_random_order_each_with_an_order_of_its_own(keep: str) -> None:
    """Unless the file's own order is wanted."""
    store = {**SERVED, "keep": keep, "port": "${a}"}
    what = {"parameters": {"a": [1, 2, 3, 4], "b": [1, 2, 3, 4]}, "services": {"store": store}}
    design = Design(experiment(**what, repeat=2), 1)
    assert len(design.groups) == {"cell": 16, "run": 4}[keep]
    made = [trial.cell.parameters for trial in trials(carried_out(design))]
    assert list(dict.fromkeys(at["a"] for at in made)) != [1, 2, 3, 4]
    within = {tuple(at["b"] for at in made if at["a"] == a) for a in (1, 2, 3, 4)}
    assert len(within) > 1, "no two groups need to have the same order"
    written = trials(carried_out(Design(experiment(**what, order="as-written"), 1)))
    assert list(dict.fromkeys(trial.cell.key for trial in written)) == [cell.key for cell in design.cells]


@pytest.mark.parametrize("order", ["blocked", "random"])
def test_no_cell_is_favoured(order: str) -> None:
    """Over many seeds each cell is as often the first of all, and as often before each other one."""
    what = experiment(parameters={"a": [0, 1, 2, 3]}, repeat=2, order=order)
    first: Counter[object] = Counter()
    before: Counter[tuple[object, object]] = Counter()
    for number in range(2000):
        made = [trial.cell.parameters["a"] for trial in Design(what, number).next(Results())]
        first[made[0]] += 1
        once = list(dict.fromkeys(made))
        before.update(itertools.combinations(once, 2))
    # Binomial: 2000 draws at 1/4 have a standard deviation of 19, at 1/2 of 22; four of them are allowed.
    assert all(abs(first[a] - 500) < 78 for a in range(4)), first
    assert all(abs(before[pair] - 1000) < 90 for pair in itertools.permutations(range(4), 2)), before


@pytest.mark.parametrize(
    ("order", "wanted"),
    [
        ("blocked", "b1 a1 c1 b2 c2 a2 a3 b3 c3"),
        ("random", "c2 c1 a3 b2 b3 a1 b1 a2 c3"),
    ],
)
def test_the_order_of_a_seed_never_changes(order: str, wanted: str) -> None:
    """Or an old run could not go on as it began, nor be repeated."""
    what = experiment(parameters={"a": ["a", "b", "c"]}, repeat=3, order=order)
    made = trials(carried_out(Design(what, 4711)))
    assert " ".join(f"{trial.cell.parameters['a']}{trial.repetition}" for trial in made) == wanted


# Extended


@pytest.mark.parametrize("order", ORDERS)
def test_an_extended_run_makes_only_what_is_new(order: str, seed: int) -> None:
    small = experiment(parameters={"a": [1, 2], "b": ["x"]}, repeat=3, order=order)
    large = experiment(parameters={"a": [1, 2, 4], "b": ["x", "y"]}, repeat=4, order=order)
    done = carried_out(Design(small, seed))
    added = trials(carried_out(Design(large, seed), done))
    assert not set(keys(added)) & set(keys(trials(done)))
    cells = Design(large, seed).cells
    assert set(keys(added + trials(done))) == {(cell.key, k) for cell in cells for k in range(1, 5)}
    assert len(added) + len(done) == 6 * 4


def keys(found: Iterable[Trial]) -> list[tuple[str, int]]:
    return [trial.key for trial in found]


def test_a_level_that_is_gone_leaves_its_results_alone() -> None:
    large = experiment(parameters={"a": [1, 2, 3]}, repeat=2)
    small = experiment(parameters={"a": [1, 3]}, repeat=3)
    done = carried_out(Design(large, 1))
    added = trials(carried_out(Design(small, 1), done))
    assert sorted(keys(added)) == [("a=1", 3), ("a=3", 3)]


# Corners


def test_one_cell_without_parameters() -> None:
    made = trials(carried_out(Design(experiment(repeat=3), 0)))
    assert keys(made) == [("-", 1), ("-", 2), ("-", 3)]


@pytest.mark.parametrize("order", ORDERS)
def test_no_cell_at_all(order: str) -> None:
    design = Design(experiment(parameters={"a": [1, 2]}, where="a > 5", order=order), 0)
    assert list(design.next(Results())) == []
    assert design.count_trials(Results()) == (0, 0)


@pytest.mark.parametrize("order", ORDERS)
def test_failures_count_as_repetitions_but_not_towards_precision(order: str) -> None:
    """A cell that always fails is given up after at_most; it is not tried for ever."""
    until = {"metric": "wall", "within": "5%"}
    what = experiment(
        parameters={"a": [1, 2]}, repeat={"at_least": 2, "at_most": 9, "until": until}, order=order
    )
    design, results = Design(what, 0), Results()
    while batch := design.next(results):
        for trial in batch:
            failed = trial.cell.parameters["a"] == 1
            metrics = {} if failed else {"wall": 1.0}
            results.add(Result(trial, "failed" if failed else "ok", 1.0, metrics))
    assert {cell.key: len(results.cell_results(cell)) for cell in design.cells} == {"a=1": 9, "a=2": 8}


def test_results_by_cell() -> None:
    design = Design(experiment(parameters={"a": [1, 2]}, repeat=2), 0)
    made = [measured(trial) for trial in design.next(Results())]
    results = Results(made)
    assert (len(results), sorted(keys(trials(results)))) == (2, [("a=1", 1), ("a=2", 1)])
    assert results.seconds == pytest.approx(sum(result.seconds for result in made))
    assert all(results.has(result.trial) for result in made)
    assert not results.has(Trial(made[0].trial.cell, 2))
    again = Result(made[0].trial, "ok", 9.0)
    results.add(again)
    assert (len(results), results.cell_results(again.trial.cell)[1]) == (2, again)


HUGE = """
import re
from pathlib import Path
from steelyard.design import Design, Results
from steelyard.model.experiment import Experiment
from steelyard.model.trial import Result
tree = {"experiment": "huge", "workload": {"use": "command", "run": ["true"]}, "repeat": %(repeat)d,
        "parameters": {"a": {"range": [1, %(levels)d]}, "b": list(range(10))}, "order": "%(order)s"}
design, results, made = Design(Experiment.model_validate(tree), 1), Results(), 0
while batch := design.next(results):
    for trial in batch:
        results.add(Result(trial, "ok", 1.0))
        made += 1
peak = re.search("VmHWM: *([0-9]+)", Path("/proc/self/status").read_text().replace(chr(9), " "))
print(made, int(peak[1]) // 1024)  # getrusage would tell the peak of the process that started this one
"""


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("levels", "repeat"), [(1000, 10), (10, 1000), (10000, 1)])
def test_a_hundred_thousand_trials(order: str, levels: int, repeat: int) -> None:
    """Planned and taken note of one by one. How long that takes, the bench says."""
    story = HUGE % {"order": order, "levels": levels, "repeat": repeat}
    said = subprocess.run([sys.executable, "-c", story], check=True, capture_output=True, text=True).stdout
    made, memory = said.split()
    assert made == "100000"
    assert int(memory) < 400
