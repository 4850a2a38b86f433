from __future__ import annotations

from steelyard.collectors.kit.intervals import iter_intervals, rate_of


def difference(before, after, seconds):
    return {"x": (after["x"] - before["x"]) / seconds}


def test_a_row_for_each_interval_that_took_time():
    samples = [(10.0 + m, m, {"x": str(x)}) for m, x in ((1.0, 5), (2.0, 7), (2.0, 9), (4.0, 13))]
    rows = list(iter_intervals(samples, lambda raw: {"x": float(raw["x"])}, difference))
    assert rows == [{"t": 12.0, "m": 2.0, "x": 2.0}, {"t": 14.0, "m": 4.0, "x": 2.0}]


def test_no_figure_takes_the_place_of_a_clock():
    (row,) = iter_intervals([(10.0, 1.0, {}), (11.0, 2.0, {})], dict, lambda *_: {"t": 0.0, "m": 0.0})
    assert row == {"t": 11.0, "m": 2.0}


def test_a_counter_that_is_new_or_went_back_has_no_rate():
    assert rate_of({"x": 1.0}, {"x": 5.0}, "x", 2.0) == 2.0
    assert rate_of({}, {"x": 5.0}, "x", 2.0) is None
    assert rate_of({"x": 6.0}, {"x": 5.0}, "x", 2.0) is None
