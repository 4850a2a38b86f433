from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import UnitError
from steelyard.units import Duration, Frequency, Rate, Share, Size, parse_quantity, show, show_span


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("200 MiB/s", 200 * 2**20, "B/s"),
        ("3 Gbit/s", 375e6, "B/s"),
        ("2000/s", 2000, "1/s"),
        ("50ms", 0.05, "s"),
        ("1.5kB", 1500, "B"),
        ("5 %", 0.05, "1"),
        ("-3", -3, "1"),
        ("1_000 kB", 1e6, "B"),
        ("2min", 120, "s"),
    ],
)
def test_reads_what_people_write(text, value, unit):
    quantity = parse_quantity(text)
    assert quantity.value == pytest.approx(value)
    assert quantity.unit == unit


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("1G", "write 'GiB' for units of 1024 or 'GB' for units of 1000"),
        ("4k", "write 'KiB' for units of 1024 or 'kB' for units of 1000"),
        ("5 parsec", "unknown unit 'parsec'"),
        ("fast", "not a number with a unit"),
        ("3 MiB/min", "a rate is per second"),
        ("1e999 s", "too large"),
        ("", "not a number"),
    ],
)
def test_says_what_is_wrong_with_a_unit(text, advice):
    with pytest.raises(UnitError) as caught:
        parse_quantity(text)
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Size, "5s"),
        (Duration, "4MiB"),
        (Rate, "4MiB"),
        (Size, "-1MiB"),
        (Duration, "5"),
        (Share, "5s"),
        (Frequency, "5 B/s"),
    ],
)
def test_a_measure_refuses_another_kind(kind, text):
    with pytest.raises(UnitError, match=r"for example|not be negative"):
        kind.parse(text)


@pytest.mark.parametrize("plain", [5, 5.0, True, None])
def test_a_number_without_unit_is_refused(plain):
    with pytest.raises(UnitError, match="has no unit"):
        Size.parse(plain)


@given(st.integers(0, 2**60))
def test_sizes_print_as_they_are_read(count):
    assert Size.parse(str(Size(count))) == count


@given(st.floats(0, 1e12))
def test_durations_print_as_they_are_read(seconds):
    assert Duration.parse(str(Duration(seconds))) == pytest.approx(seconds, rel=1e-11)


@given(st.text(max_size=80))
def test_any_text_is_a_quantity_or_a_unit_error(text):
    with contextlib.suppress(UnitError):
        assert math.isfinite(parse_quantity(text).value)


@given(st.floats(1e-9, 1e18), st.sampled_from(["s", "B", "B/s", "1/s", "1"]))
def test_shown_figures_are_within_their_digits(value, unit):
    text = show(value, unit, digits=3)
    if (unit != "1" and not text.endswith("/s")) or unit == "B/s":
        assert parse_quantity(text.replace("–", "0")).value == pytest.approx(value, rel=0.01)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2.2e9, "B/s", "2.05 GiB/s"),
        (0.0024, "s", "2.40 ms"),
        (0.031, "%", "3.10 %"),
        (0, "s", "0 s"),
        (1234, "1/s", "1.23 k/s"),
        (12345.6, "req/s", "12346 req/s"),
        (0.5, "GFLOP/s", "0.500 GFLOP/s"),
    ],
)
def test_shows_figures_as_people_read_them(value, unit, text):
    assert show(value, unit) == text


def test_shows_spans_as_a_clock_does():
    assert [show_span(x) for x in (0, 5, 291, 3723)] == ["0:00", "0:05", "4:51", "1:02:03"]


def test_a_rate_of_things_may_be_bare_as_it_can_mean_but_one_thing():
    assert Frequency.parse(500) == Frequency.parse("500/s") == 500
    assert str(Frequency.parse(500)) == "500/s"
    for wrong in (True, math.inf, "500 req/s", -1):
        with pytest.raises(UnitError):
            Frequency.parse(wrong)
    with pytest.raises(UnitError, match="has no unit"):
        Rate.parse(500)  # bits or bytes?
