"""Bars of text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steelyard.report.bars import WIDTH, draw_bars, draw_sparkline


def test_the_largest_is_as_long_as_they_get_and_others_in_proportion():
    assert draw_bars([2.0, 1.0, 0.5]) == ["█" * 12, "█" * 6, "█" * 3]
    assert draw_bars([16.0, 1.0]) == ["█" * 12, "▊"]


def test_what_is_there_is_seen_and_what_is_not_is_not():
    assert draw_bars([1e9, 1.0, 0.0, None, -3.0]) == ["█" * 12, "▏", "", "", ""]
    assert draw_bars([]) == []
    assert draw_bars([None, 0.0, -1.0]) == ["", "", ""]


@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False)))
def test_none_is_too_long(values):
    assert all(len(bar) <= WIDTH for bar in draw_bars(values))
    assert len(draw_bars(values)) == len(values)


def test_upright_bars_go_from_the_smallest_to_the_largest():
    assert draw_sparkline([1.0, 2.0, 3.0]) == "▁▅█"
    assert draw_sparkline([5.0, 5.0]) == "▁▁"
