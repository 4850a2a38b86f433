from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.pairs import compare_pairs, smallest_change_of_pairs
from steelyard.stats.verdict import Verdict, judge_comparisons

A = [10.0, 12.5, 9.0, 20.0, 11.0, 16.0]
B = [11.1, 13.6, 9.9, 22.5, 11.9, 17.8]
values = st.lists(st.floats(1e-3, 1e3), min_size=6, max_size=20)


def test_interval_and_p_value_are_students_of_the_pairs():
    from scipy.stats import ttest_rel

    found = compare_pairs(A, B, better="lower")
    known = ttest_rel(*([math.log(value) for value in side] for side in (B, A)))
    assert found.p_value == pytest.approx(known.pvalue)
    ends = known.confidence_interval(0.95)
    assert found.ratio_interval.low == pytest.approx(math.exp(ends.low))
    assert found.ratio_interval.high == pytest.approx(math.exp(ends.high))
    assert found.ratio == pytest.approx(math.prod(b / a for a, b in zip(A, B, strict=True)) ** (1 / 6))
    assert found.median_b / found.median_a == pytest.approx(found.ratio)
    assert (found.n_a, found.n_b, found.paired, found.is_testable) == (6, 6, True, True)


def test_six_pairs_can_judge_many_comparisons_at_once():
    """Which no rank test of six pairs can: its least p-value is 1/32."""
    equal = [value * 1.001 for value in A[::-1]]
    both = [compare_pairs(A, B, better="lower"), *(compare_pairs(A, equal, better="lower") for _ in range(9))]
    assert [one.verdict for one in judge_comparisons(both)] == [Verdict.WORSE, *[Verdict.NO_DIFFERENCE] * 9]


def test_what_blocks_differ_by_hides_nothing():
    from steelyard.stats.comparison import compare

    assert compare(A, B, better="lower").p_value > 0.5
    assert compare_pairs(A, B, better="lower").p_value < 0.001


def test_values_at_zero_have_a_difference_and_no_ratio():
    found = compare_pairs([0.0, 1, 2, 3, 4, 5], [1.0, 2, 3, 4, 5, 6], better="lower")
    assert (found.ratio, found.ratio_interval, found.difference, found.p_value) == (None, None, 1.0, 0.0)
    assert "no ratio: a value is 0" in found.ratio_reason
    assert smallest_change_of_pairs([0.0] * 6, [1.0] * 6, better="lower", alpha=0.05) is None


@given(values)
def test_a_sample_beside_itself_does_not_differ(sample):
    found = compare_pairs(sample, sample, better="higher")
    assert (found.ratio, found.p_value, found.direction) == (1, 1, 0)


@given(values, values)
def test_exchanging_the_sides_turns_the_ratio_over(a, b):
    a, b = a[: len(b)], b[: len(a)]
    there, back = (compare_pairs(*sides, better="lower") for sides in ((a, b), (b, a)))
    assert there.ratio == pytest.approx(1 / back.ratio)
    assert there.p_value == pytest.approx(back.p_value, abs=1e-9)


def test_the_smallest_change_is_the_one_that_the_test_just_sees():
    centred = [
        a * wobble for a, wobble in zip(A, (1.01, 1 / 1.01, 1.02, 1 / 1.02, 0.99, 1 / 0.99), strict=True)
    ]
    for better, sign in (("lower", 1), ("higher", -1)):
        least = smallest_change_of_pairs(A, centred, better=better, alpha=0.05)
        for share, seen in ((1.01, True), (0.99, False)):
            scaled = [value * (1 + sign * least * share) for value in centred]
            assert (compare_pairs(A, scaled, better=better).p_value <= 0.05) is seen
