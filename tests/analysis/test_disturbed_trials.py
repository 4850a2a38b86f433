"""A cell with its disturbed trials counted in, and what disturbed them."""

from __future__ import annotations

import pytest

from steelyard.analysis.summary import summarise_run
from steelyard.model.metric import Metric

RATE = Metric("rate", "1/s", "higher")


def growing(cell, repetition, rng):
    return {"rate": float(repetition)}


def steal(share):
    return (
        "disturbed",
        f"steal: the hypervisor took {100 * share:.1f} % of the CPU time",
        "steal",
        share,
        "%",
    )


def one(build, marks, repetitions=12, **changes):
    plan = {"parameters": {"a": [1]}, "metrics": [RATE], "figures": growing, "repetitions": repetitions}
    record = build(**plan, marks={("a=1", n): mark for n, mark in marks.items()}, **changes)
    return summarise_run(record).cells[0].metrics["rate"]


def test_a_quiet_cell_has_nothing_of_it(build):
    found = one(build, {})
    assert (found.with_disturbed, found.substitute, found.disturbance) == (None, None, "")
    assert found.shown_summary is found.summary


def test_where_enough_count_the_others_are_only_there_to_compare(build):
    found = one(build, {1: steal(0.1), 2: steal(0.2)})
    assert (found.shown_summary.n, found.shown_summary.median, found.disturbance) == (10, 7.5, "")
    assert (found.with_disturbed.summary.n, found.with_disturbed.summary.median) == (12, 6.5)


@pytest.mark.parametrize(
    ("lost", "under"), [(7, "under steal, median 4.0 %"), (12, "under steal, median 6.5 %")]
)
def test_where_too_few_count_or_none_all_of_them_are_shown(build, lost, under):
    found = one(build, {n: steal(n / 100) for n in range(1, lost + 1)})
    assert (found.summary.n if found.summary else 0) == 12 - lost
    assert (found.shown_summary.n, found.shown_summary.median) == (12, 6.5)
    assert found.shown_summary.interval is not None
    assert found.disturbance == under


def test_too_few_trials_are_not_shown_disturbed_where_that_gives_no_interval_either(build):
    found = one(build, {1: steal(0.1)}, repetitions=3)
    assert (found.shown_summary.n, found.disturbance) == (2, "")


def test_fallbacks_answer_another_question(build):
    found = one(build, dict.fromkeys(range(1, 13), ("fallback", "buffered instead of direct")))
    assert (found.with_disturbed, found.shown_summary, found.marked_median) == (None, None, 6.5)
    found = one(build, {1: ("fallback", "buffered"), **{n: steal(0.1) for n in range(2, 13)}})
    assert found.shown_summary.n == 11


def test_causes_come_the_most_frequent_first(build):
    load = ("disturbed", "foreign CPU load 0.25 cores (stress-ng)", "foreign CPU load", 0.25, "cores")
    found = one(build, {1: load, **{n: steal(0.1) for n in range(2, 13)}})
    assert found.disturbance == "under steal, median 10 % and foreign CPU load, median 0.2 cores"


def test_an_old_record_tells_the_cause_and_no_figure(build):
    old = ("disturbed", "foreign CPU load 0.62 cores (stress-ng)")
    assert one(build, dict.fromkeys(range(1, 13), old)).disturbance == "under foreign CPU load"


def test_failed_trials_have_no_figure_to_count(build):
    failures = {("a=1", n): ("crashed", "") for n in range(1, 4)}
    found = one(build, {n: steal(0.1) for n in range(1, 13)}, failures=failures)
    assert found.shown_summary.n == 9
