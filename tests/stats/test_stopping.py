from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.stopping import Precision, measure_precision, relative_half_width

CALM = [100, 101, 99, 100, 102, 98, 100, 100]


def test_calm_repetitions_stop_at_eight() -> None:
    """The first size at which the interval of 99 % exists, which decides where 95 % is shown."""
    assert measure_precision(CALM, within=0.05) == Precision(8, 0.02, 0.05, enough=True)
    assert measure_precision(CALM[:7], within=0.05) == Precision(7, None, 0.05, enough=False)


def test_a_shown_interval_that_is_narrow_enough_does_not_yet_stop() -> None:
    """That of 95 % spans the 2nd to the 8th of nine values, that of 99 % all of them."""
    values = [*CALM, 110]
    assert relative_half_width(values, 0.95) == pytest.approx(0.02)
    assert not measure_precision(values, within=0.05).enough


def test_the_limit_itself_is_enough_and_below_it_is_not() -> None:
    assert measure_precision(CALM, within=0.02).enough
    assert not measure_precision(CALM, within=0.0199).enough


def test_the_wider_side_counts() -> None:
    assert measure_precision([*[100] * 6, 101, 109], within=0.05).width == pytest.approx(0.09)


@pytest.mark.parametrize("n", range(1, 8))
def test_below_eight_is_never_enough(n: int) -> None:
    assert measure_precision([100.0] * n, within=0.5) == Precision(n, None, 0.5, enough=False)


def test_a_later_first_look_is_honoured() -> None:
    precision = measure_precision(CALM, within=0.05, minimum=9)
    assert (precision.enough, precision.width) == (False, 0.02)


def test_99_percent_cannot_be_had_from_eight() -> None:
    assert measure_precision(CALM, within=0.5, confidence=0.99).width is None


def test_a_median_of_zero_is_precise_only_if_all_is_zero() -> None:
    assert measure_precision([0.0] * 8, within=0.01).enough
    assert measure_precision([-1, -1, -1, 0, 0, 1, 1, 1], within=0.01).width == math.inf


@pytest.mark.parametrize("wrong", [{"within": 0}, {"within": math.nan}, {"within": 0.1, "minimum": 5}])
def test_senseless_rules_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"within|minimum"):
        measure_precision(CALM, **wrong)  # type: ignore[arg-type]


@given(st.lists(st.integers(1, 10**6).map(float), min_size=6, max_size=20), st.integers(-30, 30))
def test_units_and_sign_do_not_matter(values: list[float], power: int) -> None:
    factor = -(2.0**power)
    scaled = measure_precision([value * factor for value in values], within=0.05)
    assert scaled == measure_precision(values, within=0.05)
