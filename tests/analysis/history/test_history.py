from __future__ import annotations

import dataclasses

import pytest

from steelyard.analysis.history.decide import decide
from steelyard.analysis.history.load import load_history
from steelyard.errors import UnknownName, UsageError
from steelyard.stats.verdict import Verdict
from steelyard.store.layout import Store


def test_a_planted_regression_of_ten_per_cent_is_named_at_its_commit(make_runs):
    history = make_runs(40, shift_at=30)
    ((series, change),) = history.alarms
    assert (series.cell.key, series.metric.name) == ("outstanding=1", "write_bandwidth")
    assert (change.label, change.before, change.after) == ("c30", 30, 10)
    assert change.verdict is Verdict.WORSE
    assert change.comparison.ratio == pytest.approx(0.9, abs=0.02)
    assert len(series.current_level) == 10


def test_a_history_of_equals_raises_no_alarm(make_runs):
    history = make_runs(40)
    assert history.alarms == []
    assert [one.changes for one in history.series] == [()] * 4
    assert history.newest_is_used


def test_another_kernel_begins_a_segment_and_is_no_alarm(make_runs):
    history = make_runs(
        24,
        shift_at=12,
        plan=lambda number: {"environment": {"kernel": {"release": "6.1" if number < 12 else "6.5"}}},
    )
    assert [len(segment.runs) for segment in history.segments] == [12, 12]
    assert history.segments[1].changed == ("kernel: 6.1 -> 6.5",)
    assert history.alarms == []


def test_two_machines_that_alternate_are_two_segments(make_runs):
    history = make_runs(
        8, plan=lambda number: {"environment": {"cpu": {"model": "fast" if number % 2 else "slow"}}}
    )
    assert [len(segment.runs) for segment in history.segments] == [4, 4]


def test_another_question_begins_a_segment_too(make_runs):
    history = make_runs(
        4,
        plan=lambda number: {"design": {"workload": [{"use": "fio", "options": {"block": 4 + number // 2}}]}},
    )
    assert history.segments[1].changed == ("workload.block: 4 -> 6".replace("6", "5"),)


def test_what_was_expected_is_no_alarm_and_stays_so(make_runs, tmp_path):
    history, store = make_runs(40, shift_at=30), Store(tmp_path)
    decide(store, history.find_run("c31"), "expected", "checksums", "me")
    history = load_history(store, "synthetic")
    assert history.alarms == []
    (change,) = [change for one in history.series for change in one.changes]
    assert change.decision.why == "checksums"
    decide(store, history.find_run("c31"), "withdrawn", "", "me")
    assert len(load_history(store, "synthetic").alarms) == 1


def test_a_decision_needs_a_reason(make_runs, tmp_path):
    history = make_runs(1)
    with pytest.raises(UsageError, match="reason"):
        decide(Store(tmp_path), history.runs[0], "ignored", " ", "me")


def test_an_ignored_run_is_left_out_with_its_reason(make_runs, tmp_path):
    history, store = make_runs(3), Store(tmp_path)
    decide(store, history.find_run("c1"), "ignored", "the disk was full", "me")
    history = load_history(store, "synthetic")
    assert [run.commit for run in history.runs] == ["c0", "c2"]
    assert [one.reason for one in history.left_out] == ["ignored by me: the disk was full"]


def test_disturbed_runs_are_shown_and_not_used(make_runs):
    def plan(number):
        keys = [(f"outstanding={level}", repetition) for level in (1, 8) for repetition in range(1, 7)]
        marks = dict.fromkeys(keys, ("disturbed", "foreign CPU load", "foreign CPU load", 1.0, "cores"))
        return {"marks": marks} if number == 2 else {}

    history = make_runs(3, plan=plan)
    last = history.series[0].points[-1]
    assert (last.aside, last.n) == ("under foreign CPU load, median 1.0 cores", 6)
    assert len(history.series[0].used) == 2
    assert not history.newest_is_used


def test_a_damaged_run_spoils_no_history(make_runs, tmp_path):
    history = make_runs(3)
    history.runs[1].record.folder.design.write_text("{")
    history = load_history(Store(tmp_path), "synthetic")
    assert len(history.runs) == 2
    assert "damaged" in history.left_out[0].reason


def test_a_run_that_confirms_another_is_no_evidence_of_its_own(make_runs):
    history = make_runs(2, plan=lambda number: {"tags": {"confirms": "x"}} if number else {})
    assert [one.reason for one in history.left_out] == ["confirms x"]


def test_metrics_are_those_that_are_asked_for(make_runs):
    history = make_runs(1)
    assert [metric.name for metric in history.metrics] == ["write_bandwidth", "write_latency_p99"]
    narrow = dataclasses.replace(history, patterns=("write_l*",))
    assert {one.metric.name for one in narrow.series} == {"write_latency_p99"}
    with pytest.raises(UnknownName):
        _ = dataclasses.replace(history, patterns=("nothing",)).metrics


def test_a_metric_that_was_defined_otherwise_is_not_used(make_runs, plans):
    other = dataclasses.replace(plans.BANDWIDTH, unit="bogus")
    history = make_runs(2, plan=lambda number: {} if number else {"metrics": (other, plans.LATENCY)})
    assert history.series[0].points[0].aside == "write_bandwidth was defined otherwise"


def test_an_unknown_experiment_or_tag_names_what_there_is(make_runs, tmp_path):
    make_runs(1)
    with pytest.raises(UnknownName) as error:
        load_history(Store(tmp_path), "synthetik")
    assert "there are synthetic" in error.value.hint
    with pytest.raises(UnknownName) as error:
        load_history(Store(tmp_path), "synthetic", by="comit")
    assert "there are commit" in error.value.hint


def test_runs_are_found_by_commit_or_the_end_of_an_id(make_runs):
    history = make_runs(2)
    newest = history.runs[-1]
    assert history.find_run("c1") is newest
    assert history.find_run(newest.id[-4:]) is newest
    with pytest.raises(UnknownName):
        history.find_run("c9")
