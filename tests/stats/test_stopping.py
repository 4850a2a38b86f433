from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.stopping import Precision, precise_enough

CALM = [100, 101, 99, 100, 102, 98]


def test_calm_repetitions_stop_at_six() -> None:
    assert precise_enough(CALM, within=0.05) == Precision(6, 0.02, 0.05, enough=True)


def test_the_limit_itself_is_enough_and_below_it_is_not() -> None:
    assert precise_enough(CALM, within=0.02).enough
    assert not precise_enough(CALM, within=0.0199).enough


def test_the_wider_side_counts() -> None:
    assert precise_enough([100, 100, 100, 100, 101, 109], within=0.05).width == pytest.approx(0.09)


@pytest.mark.parametrize("n", range(1, 6))
def test_below_six_is_never_enough(n: int) -> None:
    assert precise_enough([100.0] * n, within=0.5) == Precision(n, None, 0.5, enough=False)


def test_a_later_first_look_is_honoured() -> None:
    precision = precise_enough(CALM, within=0.05, minimum=8)
    assert (precision.enough, precision.width) == (False, 0.02)


def test_99_percent_cannot_be_had_from_six() -> None:
    assert precise_enough(CALM, within=0.5, confidence=0.99).width is None


def test_a_median_of_zero_is_precise_only_if_all_is_zero() -> None:
    assert precise_enough([0.0] * 6, within=0.01).enough
    assert precise_enough([-1, -1, 0, 0, 1, 1], within=0.01).width == math.inf


@pytest.mark.parametrize("wrong", [{"within": 0}, {"within": math.nan}, {"within": 0.1, "minimum": 5}])
def test_senseless_rules_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"within|minimum"):
        precise_enough(CALM, **wrong)  # type: ignore[arg-type]


@given(st.lists(st.integers(1, 10**6).map(float), min_size=6, max_size=20), st.integers(-30, 30))
def test_units_and_sign_do_not_matter(values: list[float], power: int) -> None:
    factor = -(2.0**power)
    scaled = precise_enough([value * factor for value in values], within=0.05)
    assert scaled == precise_enough(values, within=0.05)
