"""What a history says, on a terminal and as plain data."""

from __future__ import annotations

import json

from steelyard.analysis.history.decide import decide
from steelyard.analysis.history.load import load_history
from steelyard.report.history import history_lines, plain_history
from steelyard.report.sections.history import answer, describe_history
from steelyard.store.layout import Store


def test_the_answer_names_metric_cell_commit_and_size(make_runs):
    history = make_runs(40, shift_at=30)
    said = answer(history)
    assert said.startswith("write_bandwidth is worse in 1 of 2 cells since ")
    assert "(c30), by -1" in said
    assert said.endswith(" in outstanding=1.")
    lines = "\n".join(history_lines(history))
    assert "synthetic: 40 runs from " in lines
    assert "worse  outstanding=1: write_bandwidth" in lines
    assert "30 runs before and 10 since" in lines
    assert "--expect" in lines
    assert "since c30" in lines


def test_nothing_new_is_said_so(make_runs):
    said = describe_history(make_runs(12))
    assert (said.answer, said.mood, said.alarms) == ("Nothing is worse than it was.", "good", [])


def test_few_runs_are_said_to_be_few(make_runs):
    history = make_runs(3)
    assert answer(history) == "Too few runs to judge: a change needs 8, 4 on either level."
    assert "3 runs of 8 that a change needs" in "\n".join(history_lines(history))


def test_segments_decisions_and_what_is_left_out_are_told(make_runs, tmp_path):
    make_runs(
        16, shift_at=8, plan=lambda number: {"environment": {"kernel": {"release": f"6.{number // 12}"}}}
    )
    store = Store(tmp_path)
    history = load_history(store, "synthetic")
    decide(store, history.find_run("c1"), "ignored", "cold\x1b[31m", "me")
    lines = "\n".join(history_lines(load_history(store, "synthetic")))
    assert "kernel: 6.0 -> 6.1" in lines
    assert "ignored by me: cold\\x1b[31m" in lines
    assert "\x1b" not in lines


def test_plain_data_is_json_in_base_units(make_runs):
    document = json.loads(json.dumps(plain_history(make_runs(40, shift_at=30)), allow_nan=False))
    assert document["alarms"] == 1
    (series,) = [one for one in document["series"] if one["changes"]]
    (change,) = series["changes"]
    assert (change["label"], change["verdict"], change["is_alarm"]) == ("c30", "worse", True)
    assert 0.85 < change["comparison"]["ratio"] < 0.95
    assert len(series["points"]) == 40
