from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.report.numbers import Scale, scale_for, show_interval
from steelyard.stats.interval import Interval

FIGURES = st.floats(min_value=-1e15, max_value=1e15, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2.2e9, "B/s", "2.05 GiB/s"),
        (512, "B", "512 B"),
        (0.0024, "s", "2.40 ms"),
        (90, "s", "90.0 s"),
        (600, "s", "10.0 min"),
        (0, "s", "0 s"),
        (0, "B/s", "0 B/s"),
        (3100, "1/s", "3.10 k/s"),
        (12, "1/s", "12.0 /s"),
        (0.05, "%", "5.00 %"),
        (7, "1", "7.00"),
        (1e-12, "s", "0.00100 ns"),
        (1e30, "1", "1.00e+30"),
        (-2048, "B", "-2.00 KiB"),
    ],
)
def test_figures_have_the_unit_that_suits_them(value, unit, text):
    assert scale_for([value], unit).text(value) == text


def test_the_largest_value_chooses_the_unit():
    assert scale_for([1.0, 5e6, -3e9], "B").label == "GiB"
    assert scale_for([], "B/s").label == "B/s"
    assert scale_for([math.inf, math.nan], "B/s").label == "B/s"


@pytest.mark.parametrize(
    ("median", "low", "high", "text"),
    [
        (2.2e9, 2.1e9, 2.27e9, ("2.05 GiB/s", "[1.96, 2.11]")),
        (2**30, 2**30 * 0.99999, 2**30 * 1.00001, ("1.00000 GiB/s", "[0.99999, 1.00001]")),
        (2**30, 2**30 * 0.9999, 2**30 * 1.0001, ("1.0000 GiB/s", "[0.9999, 1.0001]")),
        (2**30, 2**30, 2**30, ("1.00 GiB/s", "[1.00, 1.00]")),
        (2**30, 2**30 * (1 - 1e-12), 2**30, ("1.00 GiB/s", "[1.00, 1.00]")),
        (0.0, -5.0, 700.0, ("0 B/s", "[-5, 700]")),
    ],
)
def test_an_interval_shares_the_medians_unit_and_its_ends_differ(median, low, high, text):
    assert show_interval(median, Interval(low, high, 0.97, "x"), "B/s") == text


def test_without_an_interval_there_is_only_the_median():
    assert show_interval(0.0024, None, "s") == ("2.40 ms", "")


def test_the_exact_figure_is_the_stored_one():
    assert (
        Scale("GiB/s", 2.0**30).exact_text(1288490188.8123, "B/s")
        == "1.2000 GiB/s (exactly 1288490188.8123 B/s)"
    )
    assert Scale("", 1).exact_text(3.0, "1") == "3.0000 (exactly 3.0)"


@given(value=FIGURES, unit=st.sampled_from(["s", "B", "B/s", "1/s", "%", "1"]), digits=st.integers(1, 6))
def test_what_is_printed_is_the_figure(value, unit, digits):
    scale = scale_for([value], unit)
    number = float(scale.number(value, digits)) * scale.factor
    assert number == pytest.approx(value, rel=0.51 * 10 ** (1 - digits), abs=1e-300)
