from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.bootstrap import bootstrap_interval, difference_of_medians, ratio_of_medians
from steelyard.stats.sample import median

positive = st.lists(st.integers(1, 10**6).map(float), min_size=6, max_size=14)


def drawn_ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.median(b, axis=-1) / np.median(a, axis=-1))


@pytest.mark.parametrize(("n", "m"), [(6, 6), (7, 10), (20, 9), (31, 40), (100, 60), (101, 250)])
def test_the_closed_form_is_what_drawing_approaches(n: int, m: int) -> None:
    """100,000 resamples pin the ends of the interval to a small part of its width."""
    rng = np.random.default_rng(n * 1000 + m)
    a, b = rng.lognormal(0, 0.3, n).tolist(), rng.lognormal(0.2, 0.4, m).tolist()
    closed = ratio_of_medians(a, b)
    drawn = bootstrap_interval([a, b], drawn_ratio, rng=rng, resamples=100_000)
    assert closed is not None
    assert drawn is not None
    width = drawn.high - drawn.low
    assert closed.low == pytest.approx(drawn.low, abs=0.03 * width)
    assert closed.high == pytest.approx(drawn.high, abs=0.03 * width)


def test_below_six_there_is_none() -> None:
    five, six = [1.0] * 5, [1.0] * 6
    assert ratio_of_medians(five, six) is None
    assert difference_of_medians(six, five) is None
    assert bootstrap_interval([six, five], drawn_ratio, rng=np.random.default_rng(1)) is None


def test_a_zero_to_divide_by_is_refused() -> None:
    with pytest.raises(ValueError, match="above zero"):
        ratio_of_medians([1, 2, 3, 4, 5, 0], range(6))
    with pytest.raises(ValueError, match="not finite"), np.errstate(divide="ignore", invalid="ignore"):
        bootstrap_interval([[0.0] * 6, [1.0] * 6], drawn_ratio, rng=np.random.default_rng(1))


def test_a_statistic_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(\), not \(4000,\)"):
        bootstrap_interval([range(6)], lambda a: np.asarray(a.mean()), rng=np.random.default_rng(1))


def test_the_same_seed_gives_the_same_interval() -> None:
    def once() -> object:
        return bootstrap_interval([range(1, 9)], lambda a: a.mean(axis=-1), rng=np.random.default_rng(7))

    assert once() == once()


@given(positive, positive)
def test_the_interval_holds_the_ratio_and_the_difference(a: list[float], b: list[float]) -> None:
    ratio, difference = ratio_of_medians(a, b), difference_of_medians(a, b)
    middle_a, middle_b = median(sorted(a)), median(sorted(b))
    assert ratio is not None
    assert difference is not None
    assert middle_b / middle_a in ratio
    assert middle_b - middle_a in difference


@given(positive, positive, st.integers(-20, 20))
def test_units_cancel_in_a_ratio_and_scale_a_difference(a: list[float], b: list[float], power: int) -> None:
    factor = 2.0**power
    scaled = ([value * factor for value in a], [value * factor for value in b])
    assert ratio_of_medians(*scaled) == ratio_of_medians(a, b)
    here, there = difference_of_medians(a, b), difference_of_medians(*scaled)
    assert here is not None
    assert there is not None
    assert (there.low, there.high) == (here.low * factor, here.high * factor)


@given(positive, positive)
def test_exchanging_the_samples_mirrors_the_interval(a: list[float], b: list[float]) -> None:
    here, back = ratio_of_medians(a, b), ratio_of_medians(b, a)
    assert here is not None
    assert back is not None
    assert here.low == pytest.approx(1 / back.high, rel=1e-9)
    assert here.high == pytest.approx(1 / back.low, rel=1e-9)
