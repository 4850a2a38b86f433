"""Figures computed of a trial's other figures."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.model.experiment import Experiment
from steelyard.model.keys.computed import ComputedFigures, ComputedMetric, compute

MEASURED = {"out_size": 25.0, "in_size": 100.0, "wall": 2.0, "none": 0.0}


def computed(levels=None, **formulas) -> ComputedFigures:
    return compute(
        {name: ComputedMetric(**{"is": text}) for name, text in formulas.items()}, MEASURED, levels or {}
    )


def test_it_is_arithmetic_over_figures_levels_and_other_computed_ones():
    found = computed(
        {"threads": 4, "block": "4KiB", "kind": "a"},
        each="all / threads",
        all="(in_size + out_size) / wall",
        blocks="in_size / block",
    )
    assert found.values == {"all": 62.5, "each": 15.625, "blocks": 100 / 4096}
    assert not found.failed


def test_one_that_lacks_an_operand_is_missing_and_so_is_what_is_computed_of_it():
    assert computed(a="b + 1", b="unheard_of * 2", c="wall") == ({"c": 2.0}, {})


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("wall / none", "division by zero in 'wall / none'"),
        ("wall * kind", "needs numbers, found text 'a'"),
        ("1e20 * 1e20 * wall", "too large"),
        ("on if on else wall", "True is not a number"),
    ],
)
def test_one_that_cannot_be_computed_says_why_and_costs_nothing_else(formula, why):
    found = computed({"kind": "a", "on": True}, bad=formula, worse="bad + 1", good="wall")
    assert found.values == {"good": 2.0}
    assert list(found.failed) == ["bad"]
    assert why in found.failed["bad"]


@given(
    st.sampled_from(["a / b", "a ** b", "a - b", "a % b", "sqrt(a) + log2(b)", "a // b", "min(a, b)"]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_what_comes_of_any_figures_is_a_finite_number_or_a_reason(formula, a, b):
    found = compute({"x": ComputedMetric(**{"is": formula})}, {"a": a, "b": b}, {})
    assert (len(found.values), len(found.failed)) in ((1, 0), (0, 1))
    assert all(map(math.isfinite, found.values.values()))


@pytest.mark.parametrize("unit", ["1", "%", "s", "B/s", "1/s", "J", "GFLOP/s"])
def test_its_unit_is_a_base_unit_or_a_word(unit):
    assert ComputedMetric(**{"is": "a / b", "unit": unit}).metric("x").unit == unit


@pytest.mark.parametrize("unit", ["ms", "MiB", "Gbit/s", "KB"])
def test_a_unit_that_would_be_scaled_is_refused(unit):
    with pytest.raises(ValidationError):
        ComputedMetric(**{"is": "a / b", "unit": unit})


def test_it_is_in_the_file_that_an_experiment_made_in_python_becomes():
    made = Experiment(
        experiment="a",
        workload={"use": "command", "run": ["true"]},
        metrics={"twice": "wall * 2", "share": {"is": "user / wall", "unit": "%", "better": "higher"}},
    )
    tree = made.to_tree()
    assert tree["metrics"]["twice"] == {"is": "wall * 2"}
    assert Experiment(**tree) == made
