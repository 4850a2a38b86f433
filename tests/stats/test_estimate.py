from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.bootstrap import ratio_of_medians
from steelyard.stats.estimate import Estimate, explain_too_few, ratio
from steelyard.stats.interval import Interval

POSITIVE = st.lists(st.floats(0.1, 1e6), min_size=6, max_size=12)


def test_a_ratio_is_that_of_the_medians_with_its_interval():
    a, b = [9, 10, 11, 10, 9, 11], [19, 20, 21, 20, 19, 21]
    found = ratio(a, b)
    assert found.value == 2
    assert found.interval == ratio_of_medians(a, b)
    assert found.reason == ""


def test_too_few_values_have_a_reason_instead_of_an_interval():
    found = ratio([1, 2, 3], [2, 4, 6, 8, 10, 12])
    assert found.value == 3.5
    assert found.interval is None
    assert found.reason == "no interval, n=3 against n=6; at least 6 each are needed"
    assert explain_too_few(4) == "no interval, n=4; at least 6 are needed"


def test_a_falling_function_turns_the_interval_round():
    found = Estimate(0.6, Interval(0.5, 0.7, 0.95, "bootstrap")).transform(lambda share: 1 - share)
    assert found.value == pytest.approx(0.4)
    assert (found.interval.low, found.interval.high) == (pytest.approx(0.3), pytest.approx(0.5))
    assert found.interval.method == "bootstrap"
    assert Estimate(0.6, None, "why").transform(lambda share: -share) == Estimate(-0.6, None, "why")


@given(a=POSITIVE, b=POSITIVE)
def test_the_interval_holds_the_ratio(a, b):
    found = ratio(a, b)
    assert found.interval.low <= found.value * (1 + 1e-12)
    assert found.interval.high >= found.value * (1 - 1e-12)
