from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.stats.ranks import mann_whitney

distinct = st.lists(st.integers(0, 10**6), min_size=2, max_size=30, unique=True)
tied = st.lists(st.integers(0, 4), min_size=1, max_size=5)


@given(distinct, st.data())
def test_exact_p_is_scipys(values: list[int], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(values) - 1))
    test = mann_whitney(values[:cut], values[cut:])
    expected = stats.mannwhitneyu(values[cut:], values[:cut], method="exact")
    assert test.exact
    assert test.u == expected.statistic
    assert test.p_value == pytest.approx(expected.pvalue, rel=1e-9)


@given(tied, tied)
def test_with_ties_p_is_that_of_all_assignments(a: list[int], b: list[int]) -> None:
    """Counted out one by one, which nothing but small samples allows."""
    together = a + b

    def distance(chosen: tuple[int, ...]) -> float:
        others = [together[i] for i in range(len(together)) if i not in chosen]
        pairs = [(together[i] > other) + 0.5 * (together[i] == other) for i in chosen for other in others]
        return abs(sum(pairs) - len(a) * len(b) / 2)

    seen = distance(tuple(range(len(a), len(together))))
    every = [distance(chosen) for chosen in itertools.combinations(range(len(together)), len(b))]
    expected = sum(one >= seen - 1e-9 for one in every) / len(every)
    assert mann_whitney(a, b).p_value == pytest.approx(expected)


@pytest.mark.parametrize("digits", [1, 6])
def test_large_samples_use_scipys_approximation(digits: int) -> None:
    rng = np.random.default_rng(5)
    a, b = np.round(rng.normal(0, 1, 45), digits), np.round(rng.normal(0.3, 1, 38), digits)
    test = mann_whitney(a, b)
    expected = stats.mannwhitneyu(b, a, method="asymptotic")
    assert not test.exact
    assert (test.u, test.direction) == (expected.statistic, 1)
    assert test.p_value == pytest.approx(expected.pvalue, rel=1e-9)


def test_exact_and_approximate_meet_at_the_border() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(0, 1, 30), rng.normal(0.5, 1, 30)
    approximate = stats.mannwhitneyu(b, a, method="asymptotic").pvalue
    assert mann_whitney(a, b).p_value == pytest.approx(approximate, rel=0.02)


@pytest.mark.parametrize("size", [6, 100])
def test_constant_samples_show_nothing(size: int) -> None:
    test = mann_whitney([0.0] * size, [0.0] * size)
    assert (test.p_value, test.direction) == (1.0, 0)


def test_complete_separation_has_the_smallest_p() -> None:
    test = mann_whitney(range(6), range(10, 16))
    assert test.p_value == pytest.approx(test.smallest_p) == pytest.approx(2 / 924)
    assert (test.u, test.direction) == (36, 1)


@given(tied, tied, st.integers(1, 5))
def test_exchange_and_monotone_scales_do_not_matter(a: list[int], b: list[int], power: int) -> None:
    here, back = mann_whitney(a, b), mann_whitney(b, a)
    assert here.p_value == pytest.approx(back.p_value)
    assert here.direction == -back.direction
    scaled = mann_whitney([value**power for value in a], [value**power for value in b])
    assert scaled == here
