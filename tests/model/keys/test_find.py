"""The levels of a search: where it goes, how soon it ends, and what a file may say of it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.model.experiment import Experiment
from steelyard.model.keys.find import FINEST, WIDEST, Find, SearchBounds, SearchGoal, searches
from steelyard.model.keys.levels import Levels
from steelyard.model.trial import Cell

CONDITION = "latency.median <= 20 ms"


def find(**more: Any) -> Find:
    return Find.model_validate({"maximize": "rate", "while": CONDITION, **more})


@st.composite
def bounds(draw: st.DrawFn) -> SearchBounds:
    whole = draw(st.booleans())
    if whole:
        low = draw(st.integers(1, 10**6))
        high = draw(st.integers(low + 1, low * 10**6))
    else:
        low = draw(st.floats(1e-6, 1e6))
        high = low * draw(st.floats(1.001, 1e6))
    within = draw(st.sampled_from([FINEST, 0.01, 0.05, 0.3, 1.0]))
    return SearchBounds(low, high, within, whole, draw(st.sampled_from(["maximize", "minimize"])))


def walked(found: SearchBounds, limit: float) -> Any:
    """The walk of a search for a limit that is known exactly."""
    return found.walk(lambda level: (level <= limit) == (found.goal == "maximize"))


@given(found=bounds(), share=st.floats(-0.2, 1.2))
def test_the_bracket_holds_the_limit(found: SearchBounds, share: float) -> None:
    limit = found.low * (found.high / found.low) ** share
    walk = walked(found, limit)
    assert walk.current is None
    assert (walk.below is None) == (limit < found.low)
    assert (walk.above is None) == (limit >= found.high)
    if walk.below is not None and walk.above is not None:
        assert walk.below <= limit < walk.above
        assert found.is_narrow(walk.below, walk.above)


@given(found=bounds(), verdicts=st.integers(0, 2**60))
def test_whatever_the_verdicts_are_it_ends_in_time(found: SearchBounds, verdicts: int) -> None:
    bits = (bool(verdicts >> at & 1) for at in itertools.count())
    walk = found.walk(lambda level: next(bits))
    least, most = found.count_probes()
    assert least <= len(walk.finished_levels) <= most
    assert len(set(walk.finished_levels)) == len(walk.finished_levels), "no level is probed twice"
    assert all(found.low <= level <= found.high for level in walk.finished_levels)
    assert all(isinstance(level, int) for level in walk.finished_levels) or not found.whole


@given(found=bounds())
def test_the_number_of_probes_is_that_of_doubling_and_halving(found: SearchBounds) -> None:
    """Rounding costs one level at most."""
    doublings = math.ceil(math.log2(found.high / found.low) - 1e-9) + 1
    halvings = max(0, math.ceil(math.log2(math.log(2) / math.log1p(found.within))))
    assert found.count_probes()[0] == 1
    assert found.count_probes()[1] <= doublings + halvings + 1


@given(found=bounds(), share=st.floats(-0.2, 1.2), data=st.data())
def test_what_is_left_to_probe_is_known_at_every_step(found: SearchBounds, share: float, data: Any) -> None:
    limit = found.low * (found.high / found.low) ** share
    whole = walked(found, limit)
    assume(whole.finished_levels)
    known = set(whole.finished_levels[: data.draw(st.integers(0, len(whole.finished_levels) - 1))])
    partial = found.walk(
        lambda level: (level <= limit) == (found.goal == "maximize") if level in known else None
    )
    assert whole.levels[: len(partial.levels)] == partial.levels
    least, most = found.count_probes(partial.below, partial.above)
    assert least <= len(whole.finished_levels) - len(partial.finished_levels) <= most


def test_the_levels_are_round_numbers() -> None:
    found = SearchBounds(1000, 64000, 0.05, True, "maximize")
    assert walked(found, 5300).finished_levels == (1000, 2000, 4000, 8000, 5660, 4760, 5190, 5420)
    fine = SearchBounds(0.5, 8.0, 0.01, False, "minimize")
    walk = walked(fine, 1.3)
    assert walk.finished_levels[:3] == (0.5, 1.0, 2.0)
    assert all(level == float(f"{level:.4g}") for level in walk.finished_levels)


def test_the_largest_search_is_counted_in_a_moment() -> None:
    assert SearchBounds(1.0, WIDEST, FINEST, False, "maximize").count_probes() == (1, 41)


@pytest.mark.parametrize(
    ("between", "more", "levels"),
    [
        ([1, 8], {}, (1, 2, 4, 8)),
        ([1.0, 8], {}, (1.0, 2.0, 4.0, 8.0)),
        ([1.2, 6.9], {"integer": True}, (1, 2, 4, 7)),
        ([3, 3.5], {}, (3.0, 3.5)),
    ],
)
def test_bounds_that_are_whole_make_whole_levels(between: Any, more: Any, levels: Any) -> None:
    found = SearchBounds.of(find(), Levels(between=between, **more))
    walk = found.walk(lambda level: True)
    assert walk.finished_levels == levels
    assert [type(level) for level in walk.finished_levels] == [type(level) for level in levels]


def test_there_is_a_search_for_each_combination_of_the_others() -> None:
    tree = {
        "experiment": "t",
        "parameters": {"a": ["x", "y"], "rate": {"between": [10, 100]}, "b": [1, 2]},
        "workload": {"use": "command", "run": ["true"]},
        "find": {"maximize": "rate", "while": CONDITION},
    }
    experiment = Experiment.model_validate(tree)
    sought = SearchGoal.from_file(experiment.find, experiment.parameters)  # type: ignore[arg-type]
    cells = [Cell({"a": a, "rate": rate, "b": b}) for a in "xy" for rate in (10, 100) for b in (1, 2)]
    found = searches(sought, cells)
    assert [one.first.key for one in found] == [f"a={a} rate=10 b={b}" for a in "xy" for b in (1, 2)]
    assert found[0].cell_at(57).key == "a=x rate=57 b=1"
    assert SearchGoal.from_record(sought.record()) == sought
    assert Experiment.model_validate(experiment.to_tree()) == experiment


def test_what_is_said_and_what_is_not() -> None:
    found = find()
    assert (found.goal, found.parameter, float(found.within)) == ("maximize", "rate", 0.05)
    found = Find.model_validate({"minimize": "machines", "while": "throughput >= 1 GiB/s", "within": "1%"})
    assert (found.goal, found.parameter, float(found.within)) == ("minimize", "machines", 0.01)
    assert found.requirement.metric == "throughput"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"minimize": "rate"}, "exactly one of the keys"),
        ({"maximize": None}, "exactly one of the keys"),
        ({"within": "0.01%"}, "between 0.1% and 100%"),
        ({"while": "latency"}, "lacks a comparison"),
        ({"while": "latency != 3 s"}, "needs one of <=, <, >=, >"),
        ({"until": 3}, "Extra inputs"),
    ],
)
def test_mistakes_are_named(more: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        find(**more)
