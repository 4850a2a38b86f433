from __future__ import annotations

import pytest

from steelyard.analysis.over_time.telemetry import load_samples, median_trial, select_trials
from steelyard.analysis.summary import summarise_run
from steelyard.errors import StoreError
from steelyard.model.metric import Metric

RATE = Metric("rate", "1/s", "higher")
TIME = Metric("time", "s", "lower")


def growing(cell, repetition, rng):
    return {"rate": float(repetition)}


def every_second(count):
    return lambda number: [{"m": 100.0 + n, "cpu_user": n / count} for n in range(count)]


def test_the_trial_nearest_the_median_stands_for_its_cell(build):
    record = build(
        parameters={"a": [1]},
        metrics=[RATE, TIME],
        figures=growing,
        repetitions=5,
        marks={("a=1", 5): ("disturbed", "x")},
    )
    summary = summarise_run(record)
    assert median_trial(summary.cells[0], [TIME, RATE]).number == 2  # of 1 … 4, and `time` has no figures
    assert median_trial(summary.cells[0], []).number == 1


def test_a_cell_without_poolable_trials_has_none(build):
    record = build(
        parameters={"a": [1]}, metrics=[RATE], repetitions=1, failures={("a=1", 1): ("crashed", "")}
    )
    assert median_trial(summarise_run(record).cells[0], [RATE]) is None
    assert select_trials(summarise_run(record), most=3) == []


def test_of_a_cell_whose_trials_are_all_marked_one_is_shown(build):
    marks = {("a=1", 1): ("incomplete", "x"), ("a=1", 2): ("incomplete", "x")}
    record = build(parameters={"a": [1]}, metrics=[RATE], repetitions=2, marks=marks)
    assert median_trial(summarise_run(record).cells[0], [RATE]).number == 1


def test_the_shown_trials_are_spread_over_all_cells(build):
    summary = summarise_run(
        build(parameters={"a": list(range(10))}, metrics=[RATE], figures=growing, repetitions=1)
    )
    assert [trial.result.trial.cell.key for trial in select_trials(summary, most=4)] == [
        "a=0",
        "a=2",
        "a=5",
        "a=7",
    ]
    assert len(select_trials(summary, most=20)) == 10


def test_samples_count_from_the_first_and_are_thinned(build):
    record = build(parameters={"a": [1]}, repetitions=1, telemetry=every_second(1000))
    (host,) = load_samples(record, 1, ["cpu_user", "unheard_of"])
    assert host.host == "host-0"
    assert len(host.seconds) == 200
    assert (host.seconds[0], host.seconds[1]) == (0, 5)
    assert host.columns["cpu_user"][0] == pytest.approx(0.002)
    assert "unheard_of" not in host.columns
    (host,) = load_samples(
        build(parameters={"a": [1]}, repetitions=1, telemetry=every_second(3)), 1, ["cpu_user"]
    )
    assert host.seconds == [0, 1, 2]


def test_gaps_stay_gaps(build):
    record = build(
        parameters={"a": [1]}, repetitions=1, telemetry=lambda number: [{"m": 1.0, "x": 5.0}, {"m": 2.0}]
    )
    (host,) = load_samples(record, 1, ["x"])
    assert host.columns["x"] == [5.0, None]


def test_a_trial_without_telemetry_has_no_hosts_and_a_damaged_file_is_an_error(build):
    record = build(parameters={"a": [1]}, repetitions=1)
    assert load_samples(record, 1, ["x"]) == []
    path = record.folder.telemetry(1, "host-0", "parquet")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a table")
    with pytest.raises(StoreError, match="cannot read"):
        load_samples(record, 1, ["x"])


def test_a_table_without_a_clock_is_left_out(build):
    record = build(parameters={"a": [1]}, repetitions=1, telemetry=lambda number: [{"x": 5.0}])
    assert load_samples(record, 1, ["x"]) == []
