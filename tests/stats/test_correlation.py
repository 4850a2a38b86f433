from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.correlation import spearman

VALUES = st.lists(st.floats(-1e6, 1e6, width=32), min_size=3, max_size=7)


def test_the_same_order_is_one_and_the_opposite_one_minus_one():
    assert spearman([1, 2, 3, 4], [10, 20, 21, 99]).rho == 1
    assert spearman([1, 2, 3, 4], [9, 3, 2, 1]).rho == -1
    assert spearman([1, 2, 3, 4], [1, 2, 3, 4]).p_value == pytest.approx(2 / 24)


def test_a_known_figure_with_ties():
    # midranks 1, 2.5, 2.5, 4, 5 against 1, 3, 2, 5, 4
    found = spearman([1, 2, 2, 4, 5], [1, 3, 2, 9, 8])
    a, b = [-2, -0.5, -0.5, 1, 2], [-2, 0, -1, 2, 1]
    expected = sum(x * y for x, y in zip(a, b, strict=True))
    expected /= math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    assert found.rho == pytest.approx(expected)


def test_many_pairs_have_students_p_value():
    from scipy.stats import spearmanr

    a, b = list(range(15)), [3, 1, 2, 0, 7, 5, 6, 4, 12, 8, 9, 11, 10, 14, 13]
    theirs = spearmanr(a, b)
    found = spearman(a, b)
    assert found.rho == pytest.approx(theirs.statistic)
    assert found.p_value == pytest.approx(theirs.pvalue)


def test_equal_values_have_no_order():
    found = spearman([1, 1, 1], [1, 2, 3])
    assert (found.rho, found.p_value) == (None, None)


@pytest.mark.parametrize(("a", "b"), [([1, 2], [1, 2]), ([1, 2, 3], [1, 2])])
def test_too_few_pairs_are_refused(a, b):
    with pytest.raises(ValueError, match="at least 3 pairs"):
        spearman(a, b)


@given(a=VALUES, data=st.data())
def test_it_is_symmetric_and_bounded(a, data):
    b = data.draw(st.lists(st.floats(-1e6, 1e6, width=32), min_size=len(a), max_size=len(a)))
    found = spearman(a, b)
    assert found == spearman(b, a)
    if found.rho is not None:
        assert -1 <= found.rho <= 1
        assert 0 < found.p_value <= 1


def test_the_exact_p_value_is_a_share_of_all_orders():
    base = [1, 2, 3, 4, 5]
    strength = [spearman(base, order) for order in itertools.permutations(base)]
    mine = spearman(base, [2, 1, 3, 4, 5])
    as_strong = sum(abs(one.rho) >= abs(mine.rho) - 1e-12 for one in strength)
    assert mine.p_value == pytest.approx(as_strong / len(strength))
