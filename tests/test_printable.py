"""What others wrote may look like anything, but it may not act."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.printable import make_data_printable, make_one_line, make_printable

ANY = st.text(st.characters(codec=None, categories=None, exclude_categories=()))  # surrogates too


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain ü 測 🙂", "plain ü 測 🙂"),
        ("no\u00a0break", "no\u00a0break"),
        ("\x1b[2J", r"\x1b[2J"),
        ("\x1b]0;pwn\x07", r"\x1b]0;pwn\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("\x7f\x00", r"\x7f\x00"),
        ("over\rwritten", r"over\rwritten"),
        ("two\r\nlines\tapart", "two\nlines\tapart"),
        ("a\u202eb\u2066c\u200fd", r"a\u202eb\u2066c\u200fd"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("byte \udc9b, half \ud800", r"byte \x9b, half \ud800"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_what_would_act_is_shown(text, expected):
    assert make_printable(text) == expected


def test_on_one_line_its_end_is_shown_too():
    assert make_one_line("a\r\nb\tc\x1b") == r"a\r\nb\tc\x1b"


@given(text=ANY)
def test_nothing_is_left_that_acts(text):
    shown = make_printable(text)
    assert {letter for letter in shown if unicodedata.category(letter)[0] == "C"} <= {"\n", "\t"}
    assert not re.search("[\u2028\u2029]", shown)
    assert make_printable(shown) == shown
    assert len(make_one_line(text).splitlines()) <= 1
    shown.encode()


@given(
    value=st.recursive(
        ANY | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(ANY, inner)
    )
)
def test_all_texts_in_data_are_made_so(value):
    text = json.dumps(make_data_printable(value), ensure_ascii=False)
    assert make_printable(text) == text
