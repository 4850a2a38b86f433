from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steelyard.report.columns import align, shorten, width


def test_columns_are_as_wide_as_a_terminal_shows_them():
    assert align([["a", "1", "x"], ["測定", "10", ""], ["é", "2", "y"]], right={1}) == [
        "a      1  x",
        "測定  10",
        "é      2  y",
    ]


def test_a_shortened_text_says_so():
    assert shorten("a long text", 6) == "a lon…"
    assert shorten("short", 6) == "short"
    assert shorten("測定測定", 5) == "測定…"


@given(text=st.text(), most=st.integers(1, 30))
def test_a_shortened_text_fits(text, most):
    assert width(shorten(text, most)) <= max(most, 0)
