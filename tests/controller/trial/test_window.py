"""What copies did while all of them worked."""

from __future__ import annotations

import pytest

from steelyard.controller.trial.merge import merge_readings
from steelyard.controller.trial.window import Span, Window, is_shared
from steelyard.model.metric import Metric, Reading, SeriesSample, latency_metrics

RATE = Metric("rate", "1/s", "higher")
PEAK = Metric("peak", "1/s", "higher", over_copies="max")


def slices(*rates: float, begin: float = 0.0) -> list[SeriesSample]:
    """A sample a second."""
    return [SeriesSample(begin + n + 1, 1.0, {"rate": rate}) for n, rate in enumerate(rates)]


def together(**series: list[SeriesSample]) -> float:
    """The rate of all, of copies whose figure is the mean of their samples."""
    means = {name: sum(each.values["rate"] for each in found) / len(found) for name, found in series.items()}
    readings = {name: Reading({"rate": mean}) for name, mean in means.items()}
    return merge_readings(
        [RATE], readings, Window.of(["rate"], dict.fromkeys(series, Span(0, 99)), series)
    ).values["rate"]


def test_rates_of_copies_that_worked_at_the_same_time_add_up():
    assert together(a=slices(5, 7), b=slices(3, 3)) == 9
    late = slices(*[3] * 50, begin=1.0)
    assert together(a=slices(*[1] * 10, *[5] * 40), b=late) == pytest.approx(4.2 + 3), "by less than 5 %"


def test_who_works_alone_and_faster_for_that_counts_only_while_all_work():
    # One copy after the other would have all 10 for itself; for two seconds both shared them.
    early, late = slices(10, 10, 5, 5), slices(5, 5, 10, 10, begin=2.0)
    assert sum(sample.values["rate"] for sample in early + late) / 4 == 15, "what the sum of the rates says"
    assert together(a=early, b=late) == pytest.approx(10), "what the system did"


def test_a_window_may_cut_through_a_sample():
    assert together(a=slices(4, 8), b=slices(6, begin=0.5)) == pytest.approx(12)


def test_the_figure_keeps_the_meaning_that_its_tool_gives_it():
    """As with a receiver's rate beside a series of the sender's: only how it went over time is taken."""
    series = {"a": slices(10, 10, 5, 5), "b": slices(5, 5, begin=2.0)}
    readings = {"a": Reading({"rate": 6.0, "peak": 9.0}), "b": Reading({"rate": 4.0, "peak": 8.0})}
    window = Window.of(["rate"], dict.fromkeys(series, Span(0, 99)), series)
    values = merge_readings([RATE, PEAK], readings, window).values
    assert values["rate"] == pytest.approx(6.0 * 5 / 7.5 + 4.0)
    assert values["peak"] == 9.0, "what does not add up is as it was"


def test_without_samples_of_all_the_sum_stays_and_is_doubted():
    processes = {"a": Span(0.0, 10.0), "b": Span(5.0, 15.0)}
    window = Window.of(["rate"], processes, {"a": slices(1.0), "b": []})
    readings = {"a": Reading({"rate": 2.0}), "b": Reading({"rate": 3.0})}
    assert merge_readings([RATE], readings, window).values == {"rate": 5.0}
    assert window.facts() == {"common": 5.0, "whole": 15.0, "by": "processes"}
    (text,) = window.warnings()
    assert "different times: rate of all is the sum of each copy's own rate" in text
    assert not window.marks(), "processes take longer than their work"
    assert not Window.of(["rate"], {"a": Span(0, 10), "b": Span(0.4, 10.1)}, {}).warnings()


def test_a_rate_beside_the_samples_is_doubted_too():
    series = {"a": slices(10, 10, 5, 5), "b": slices(5, 5, begin=2.0)}
    spans = dict.fromkeys(series, Span(0, 99))
    assert not Window.of(["rate"], spans, series).warnings(), "it is of the common window"
    (text,) = Window.of(["rate", "sent"], spans, series).warnings()
    assert "different times: sent of all is the sum" in text


def test_copies_that_never_worked_at_once_have_no_rate_together():
    series = {"a": slices(5, 5), "b": slices(5, 5, begin=3.0)}
    window = Window.of(["rate"], dict.fromkeys(series, Span(0, 9)), series)
    (mark,) = window.marks()
    assert (mark.kind, mark.reason) == (
        "incomplete",
        "a ended before b began: no rate covers all copies at once",
    )
    assert window.facts() == {"common": 0.0, "whole": 5.0, "by": "samples"}


def test_only_rates_that_add_up_are_of_a_window():
    assert is_shared(RATE)
    assert is_shared(Metric("bandwidth", "B/s", "higher"))
    assert is_shared(Metric("requests", "req/s", "higher"))
    assert not is_shared(Metric("power", "W", "lower"))
    assert not is_shared(PEAK)
    assert not is_shared(Metric("retransmits", "1", "lower"))
    assert not any(map(is_shared, latency_metrics("latency", "time")))
