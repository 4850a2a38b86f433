from __future__ import annotations

import pytest

from steelyard.analysis.summary import summarise_run


@pytest.mark.parametrize(
    ("levels", "places", "unit", "log"),
    [
        ([64, 1, 8], (1, 8, 64), "1", True),
        ([1, 2, 3], (1, 2, 3), "1", False),
        ([0, 1, 1000], (0, 1, 1000), "1", False),
        ([0.5, 2], (0.5, 2), "1", False),
        (["1MiB", "4KiB"], (4096, 2**20), "B", True),
        (["10ms", "1s"], (0.01, 1), "s", True),
        (["1MiB", "1s"], None, "1", False),
        (["1MiB", "1024KiB"], None, "1", False),  # the same number twice is no axis
        (["read", "write"], None, "1", False),
        ([True, False], None, "1", False),
        ([1, "many"], None, "1", False),
        ([1, None], None, "1", False),
        ([7], (7,), "1", False),
    ],
)
def test_levels_that_are_numbers_have_places(build, levels, places, unit, log):
    summary = summarise_run(build(parameters={"a": levels}, figures=lambda *_: {}, repetitions=1))
    axis = summary.axes["a"]
    assert (axis.places, axis.unit, axis.is_logarithmic) == (places, unit, log)
    assert axis.is_varying == (len(levels) > 1)
    assert [axis.place(level) for level in axis.levels] == list(places or axis.levels)


def test_parameters_stand_in_the_order_of_the_file(build):
    summary = summarise_run(build(parameters={"b": ["z", "a"], "a": [2, 1]}))
    assert list(summary.axes) == ["b", "a"]
    assert summary.axes["b"].levels == ("z", "a")
    assert summary.axes["a"].levels == ("1", "2")
    assert summary.axes["a"].place("2") == 2


def test_no_parameters_no_axes(build):
    assert summarise_run(build(parameters={})).axes == {}
