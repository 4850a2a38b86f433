from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.counterpart import against_counterparts, dependent_parameters, level_counterparts
from steelyard.model.trial import Cell


def cells(*rows, names=("build", "size")):
    return [Cell(dict(zip(names, row, strict=True))) for row in rows]


def pairs(found):
    return [(one.cell.key, [other.key for other in one.others]) for one in found]


GRID = cells(("old", 1), ("old", 2), ("new", 1), ("new", 2))


def test_each_cell_meets_its_like_of_the_baseline():
    assert pairs(level_counterparts(GRID, "build", "old")) == [
        ("build=new size=1", ["build=old size=1"]),
        ("build=new size=2", ["build=old size=2"]),
    ]


def test_a_cell_without_its_like_meets_none():
    assert pairs(level_counterparts(GRID[1:], "build", "old"))[0] == ("build=new size=1", [])


def test_a_parameter_in_step_differs_along():
    zipped = cells(
        ("old", "x", 1), ("new", "y", 1), ("old", "x", 2), ("new", "y", 2), names=("build", "path", "n")
    )
    assert dependent_parameters(zipped, ["build"]) == ["path"]
    assert pairs(level_counterparts(zipped, "build", "old"))[1] == (
        "build=new path=y n=2",
        ["build=old path=x n=2"],
    )


def test_a_level_that_stands_twice_in_a_zip_is_not_decided_by_it():
    twice = cells(("old", "x"), ("old", "y"), ("new", "x"), names=("build", "flags"))
    assert dependent_parameters(twice, ["build"]) == []
    assert pairs(level_counterparts(twice, "build", "old")) == [("build=new flags=x", ["build=old flags=x"])]


def test_conditions_pick_both_sides():
    found = against_counterparts(GRID, "size == 2", "size < 2")
    assert pairs(found) == [
        ("build=old size=2", ["build=old size=1"]),
        ("build=new size=2", ["build=new size=1"]),
    ]


def test_one_and_true_are_two_levels():
    both = cells((1,), (True,), ("1",), names=("n",))
    assert pairs(level_counterparts(both, "n", "1")) == [("n=true", ["n=1"]), ("n='1'", ["n=1"])]


levels = st.lists(st.sampled_from([0, 1, "a", None, True]), min_size=1, max_size=3, unique_by=repr)


@given(levels, levels)
def test_a_full_grid_has_one_like_for_every_cell(first, second):
    grid = cells(*[(a, b) for a in first for b in second])
    base = grid[0].key.split()[0].partition("=")[2]
    found = list(level_counterparts(grid, "build", base))
    assert len(found) == (len(first) - 1) * len(second)
    assert all(len(one.others) == 1 for one in found)
