from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.model import space
from steelyard.model.experiment import Experiment
from steelyard.model.expression import ExpressionError
from steelyard.model.space import _draw_hypercube, cells, problems

many = settings(deadline=None)


def experiment(**more: Any) -> Experiment:
    tree = {"experiment": "test", "workload": {"use": "command", "run": ["true"]}, **more}
    return Experiment.model_validate(tree)


def rows(seed: int = 1, **more: Any) -> list[tuple[Any, ...]]:
    """The levels of each cell."""
    return [tuple(cell.parameters.values()) for cell in cells(experiment(**more), seed)]


def wrong(**more: Any) -> list[tuple[tuple[str | int, ...], str]]:
    return list(problems(experiment(**more)))


# Product and where

levels = st.lists(st.integers(-5, 5) | st.sampled_from("xyz"), min_size=1, max_size=4, unique_by=repr)


@many
@given(parameters=st.dictionaries(st.sampled_from("abcd"), levels, max_size=4))
def test_the_product_has_every_combination_once_the_last_varying_fastest(parameters: Any) -> None:
    assert rows(parameters=parameters) == list(itertools.product(*parameters.values()))
    for cell in cells(experiment(parameters=parameters), 0):
        assert list(cell.parameters) == list(parameters)


def test_no_parameter_makes_one_cell() -> None:
    (cell,) = cells(experiment(), 0)
    assert (cell.parameters, cell.key) == ({}, "-")


@many
@given(a=st.lists(st.integers(-9, 9), min_size=1, unique=True), limit=st.integers(-20, 20))
def test_where_keeps_what_it_says(a: list[int], limit: int) -> None:
    found = rows(parameters={"a": a, "b": [1, 2]}, where=f"a * b <= {limit}")
    assert found == [(x, y) for x in a for y in (1, 2) if x * y <= limit]


def test_where_may_be_plain_true_or_false() -> None:
    assert rows(parameters={"a": [1, 2]}, where=True) == [(1,), (2,)]
    assert rows(parameters={"a": [1, 2]}, where=False) == []


def test_where_that_cannot_be_decided_is_told() -> None:
    with pytest.raises(ExpressionError, match="divi"):
        rows(parameters={"a": [1, 0]}, where="1 / a > 0")


# Zip


def test_zipped_parameters_go_in_step() -> None:
    found = rows(parameters={"a": [1, 2], "b": ["x", "y"], "c": [7, 8]}, zip=["a", "b"])
    assert found == [(1, "x", 7), (1, "x", 8), (2, "y", 7), (2, "y", 8)]


def test_a_group_stands_where_its_first_member_does() -> None:
    """And each cell names the parameters in the order of the file all the same."""
    found = cells(experiment(parameters={"a": [1, 2], "b": [3, 4], "c": [5, 6]}, zip=["c", "a"]), 0)
    assert [tuple(cell.parameters.items()) for cell in found] == [
        (("a", 1), ("b", 3), ("c", 5)),
        (("a", 2), ("b", 3), ("c", 6)),
        (("a", 1), ("b", 4), ("c", 5)),
        (("a", 2), ("b", 4), ("c", 6)),
    ]


def test_a_level_may_stand_twice_where_others_tell_its_cells_apart() -> None:
    parameters = {"machine": ["m", "m", "n"], "cores": [1, 2, 2]}
    assert rows(parameters=parameters, zip=["machine", "cores"]) == [("m", 1), ("m", 2), ("n", 2)]
    assert wrong(parameters=parameters, zip=["machine", "cores"]) == []
    assert [
        path for path, _ in wrong(parameters=parameters | {"cores": [1, 1, 2]}, zip=["machine", "cores"])
    ] == [("zip", 0)]
    assert [path for path, _ in wrong(parameters={"a": [1, 1]})] == [("parameters", "a")]
    assert wrong(parameters={"a": [1, True]}) == []


def test_two_groups_are_multiplied() -> None:
    parameters = {"a": [1, 2], "b": [3, 4], "c": [5, 6, 7], "d": [8, 9, 0]}
    assert len(rows(parameters=parameters, zip=[["a", "b"], ["c", "d"]])) == 6


@pytest.mark.parametrize(
    ("more", "path", "message"),
    [
        ({"zip": ["a", "none"]}, ("zip", 0), "zip: 'none' is not a parameter"),
        ({"zip": ["a", "long"]}, ("zip", 0), "zip: a, long have 2 and 3 levels; the numbers must match"),
        ({"zip": [["a", "b"], ["b", "a"]]}, ("zip", 0), "zip: 'a' is listed twice"),
        (
            {"zip": ["a", "drawn"]},
            ("zip", 0),
            "zip: 'drawn' is drawn by 'sample'; it cannot be zipped with others",
        ),
        (
            {"sample": None},
            ("parameters", "drawn"),
            "'drawn' has 'between', but 'sample' is missing; add 'sample: {size: 20}'",
        ),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(more: dict[str, Any], path: Any, message: str) -> None:
    parameters = {"a": [1, 2], "b": [3, 4], "long": [1, 2, 3], "drawn": {"between": [1, 9]}}
    found = wrong(**{"parameters": parameters, "sample": {"size": 3}, **more})
    assert (path, message) in found


def test_a_sample_without_anything_to_draw_is_told() -> None:
    assert wrong(parameters={"a": [1]}, sample={"size": 3}) == [
        (("sample",), "sample: no parameter has 'between', so there is nothing to draw")
    ]


def test_a_sound_space_has_no_problem() -> None:
    parameters = {"a": [1, 2], "b": [3, 4], "drawn": {"between": [1, 9]}}
    assert wrong(parameters=parameters, zip=["a", "b"], sample={"size": 3}) == []


THOUSAND = {"range": [1, 1000]}


@pytest.mark.parametrize(
    "more",
    [
        {"parameters": {"a": THOUSAND, "b": THOUSAND, "c": [1, 2]}},
        {"parameters": {"a": THOUSAND, "b": THOUSAND, "c": THOUSAND, "d": [1, 2]}, "zip": ["a", "c"]},
        {"parameters": {"a": THOUSAND, "b": [1, 2], "c": {"between": [1, 9]}}, "sample": {"size": 1000}},
    ],
)
def test_more_cells_than_can_be_looked_at_are_refused_before_they_are_made(more: dict[str, Any]) -> None:
    ((path, message),) = wrong(**more)
    assert path == ("parameters",)
    assert message.startswith("2,000,000 cells are more than 1,000,000; draw some of them with 'sample'")


def test_a_group_counts_once() -> None:
    parameters = {"a": THOUSAND, "b": THOUSAND, "c": THOUSAND}
    assert wrong(parameters=parameters, zip=["a", "c"]) == []


# Drawn


def test_a_latin_hypercube_has_a_point_in_every_slice() -> None:
    """Each parameter's range, cut into as many slices as there are points, has one point in each."""
    size = 20
    parameters = {"a": {"between": [0, 1]}, "b": {"between": [1, 1000], "scale": "log"}}
    found = rows(parameters=parameters, sample={"size": size})
    assert len(found) == size
    assert sorted(math.floor(a * size) for a, _ in found) == list(range(size))
    assert sorted(math.floor(math.log(b, 1000) * size) for _, b in found) == list(range(size))


def test_sobol_points_fill_the_space_evenly() -> None:
    """A power of two of them has as many in each half of each parameter."""
    parameters = {"a": {"between": [-1, 1]}, "b": {"between": [-1, 1]}}
    found = rows(parameters=parameters, sample={"size": 16, "method": "sobol"})
    assert len(found) == 16
    for quadrant in itertools.product((-1, 1), repeat=2):
        assert sum(a * quadrant[0] > 0 and b * quadrant[1] > 0 for a, b in found) == 4


@many
@given(
    size=st.integers(1, 40),
    method=st.sampled_from(["latin-hypercube", "sobol"]),
    whole=st.booleans(),
    scale=st.sampled_from(["linear", "log"]),
    low=st.integers(1, 50),
    width=st.integers(1, 1000),
    seed=st.integers(0, 2**63 - 1),
)
def test_drawn_levels_lie_within_their_bounds(
    size: int, method: str, whole: bool, scale: str, low: int, width: int, seed: int
) -> None:
    between = {"between": [low, low + width], "integer": whole, "scale": scale}
    more = {"parameters": {"a": between}, "sample": {"size": size, "method": method}}
    found = [level for (level,) in rows(seed, **more)]
    assert all(low <= level <= low + width for level in found)
    assert len(set(found)) == len(found) <= size
    assert whole is all(isinstance(level, int) for level in found)
    assert rows(seed, **more) == rows(seed, **more)


def test_another_seed_draws_other_points() -> None:
    more = {"parameters": {"a": {"between": [0, 1]}}, "sample": {"size": 5}}
    assert rows(1, **more) != rows(2, **more)


def test_drawn_points_are_combined_with_listed_levels_and_filtered() -> None:
    parameters = {"a": {"between": [0, 1]}, "b": ["x", "y"], "c": {"between": [10, 20], "integer": True}}
    found = rows(parameters=parameters, sample={"size": 4})
    assert len(found) == 8
    assert {b for _, b, _ in found} == {"x", "y"}
    assert len({(a, c) for a, _, c in found}) == 4
    kept = rows(parameters=parameters, sample={"size": 4}, where="a > 0.5")
    assert kept == [row for row in found if row[0] > 0.5]


# Keys


def test_a_key_tells_levels_of_all_types_apart() -> None:
    odd = [1, 1.5, "1", "1.5", True, "true", None, "null", "", "a b", "a=b", "-", "x", "1e5", "inf"]
    found = cells(experiment(parameters={"a": odd}), 0)
    assert len({cell.key for cell in found}) == len(odd)


def test_a_key_tells_hostile_levels_apart() -> None:
    one, other = "a b' y='c d", "c d' y='e f"
    first = cells(experiment(parameters={"x": [one], "y": ["e f"]}), 0)
    second = cells(experiment(parameters={"x": ["a b"], "y": [other]}), 0)
    assert first[0].key != second[0].key


def test_a_key_does_not_depend_on_the_other_cells() -> None:
    """So that an extended run finds its results again."""
    small = cells(experiment(parameters={"a": [1], "b": ["x"]}), 0)
    large = cells(experiment(parameters={"a": [1, 2], "b": ["x", "y"]}), 0)
    assert small[0].key == large[0].key == "a=1 b=x"


# Drawn as by scipy, which not every installation has


@pytest.mark.parametrize("seed", [0, 1, 4711])
@pytest.mark.parametrize(("size", "dimensions"), [(1, 1), (2, 3), (20, 2), (1000, 7)])
def test_a_hypercube_is_scipys(size: int, dimensions: int, seed: int) -> None:
    from scipy.stats import qmc

    wanted = qmc.LatinHypercube(d=dimensions, rng=seed).random(size)
    assert (_draw_hypercube(size, dimensions, seed) == wanted).all()


def test_without_scipy_sobol_points_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "find_spec", lambda name: None)
    drawn = {"parameters": {"n": {"between": [1, 2]}}}
    assert wrong(**drawn, sample={"size": 3}) == []
    ((path, text),) = wrong(**drawn, sample={"size": 3, "method": "sobol"})
    assert path == ("sample", "method")
    assert "steelyard[sobol]" in text
