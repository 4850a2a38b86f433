"""Units of metrics: ours, misspelt ones, and any other word."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import UnitError
from steelyard.model.unit import base_unit, convert_number, read_quantity
from steelyard.units import KNOWN, parse_quantity


@pytest.mark.parametrize(
    "word", ["GFLOP/s", "W", "J", "req/s", "IOPS", "events/s", "ns/op", "m^2", "N·m", "°C"[1:]]
)
def test_any_word_is_a_unit_and_stays_as_it_is(word):
    assert base_unit(word) == (1, word)
    assert read_quantity(f"2.5 {word}") == (2.5, word)


@pytest.mark.parametrize(
    ("word", "base"),
    [
        ("ms", (1e-3, "s")),
        ("MiB/s", (2**20, "B/s")),
        ("1/s", (1, "1/s")),
        ("%", (0.01, "%")),
        ("1", (1, "1")),
    ],
)
def test_ours_are_scaled(word, base):
    assert base_unit(word) == base


@pytest.mark.parametrize(
    "word", ["KB", "mb/s", "MIB", "Mb", "K", "M", "Gi", "MS", "a b", "x" * 30, "-", "2x", "<b>"]
)
def test_what_is_one_of_ours_misspelt_is_none(word):
    with pytest.raises(UnitError):
        base_unit(word)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("43.99ms", "s", 0.04399),
        ("7", "ms", 0.007),
        ("98%", "%", 0.98),
        ("98", "%", 0.98),
        ("1.5k", "1/s", 1500),
        ("300 mW", "W", 0.3),
        ("2 kW", "mW", 2e6),
        ("3 Gbit/s", "MiB/s", 375e6),
    ],
)
def test_a_number_is_converted_from_the_unit_that_it_bears(text, unit, value):
    assert convert_number(text, unit) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "unit"), [("5 ms", "B"), ("5 W", "J"), ("5k", "B"), ("5%", "s"), ("5 mW", "mJ"), ("x", "s")]
)
def test_a_unit_of_another_kind_is_refused(text, unit):
    with pytest.raises(UnitError):
        convert_number(text, unit)


@given(st.text(max_size=40), st.sampled_from([*sorted(KNOWN), "1", "%", "W", "GFLOP/s"]))
def test_whatever_is_read_is_a_number_or_an_error(text, unit):
    with contextlib.suppress(UnitError):
        assert not math.isnan(convert_number(text, unit))


@given(st.floats(0, 1e9), st.sampled_from(sorted(KNOWN)))
def test_what_we_know_is_read_as_everywhere(number, word):
    assert read_quantity(f"{number!r} {word}") == parse_quantity(f"{number!r} {word}")
