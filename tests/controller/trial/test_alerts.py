"""Monitoring rules: only what changes is told, of figures that copies tell and of services' states."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.cli.app import run as call_steelyard
from steelyard.controller.trial.alerts import AlertRule
from steelyard.model.keys.alert import Alert
from steelyard.store.layout import Store
from steelyard.store.reader import RunRecord

FILE = """\
experiment: watched
workload:
  use: command
  script: "for i in 5 5 1 1 1 5 5; do echo rate: $i; sleep 1; done"
  copies: COPIES
  metrics: {rate: {regex: 'rate: (.*)', unit: 1/s, better: higher}}
alert: [{when: rate < LIMIT}, {when: rate < LIMIT, for: 1h}]
repeat: 1
disturbed: include
"""


def test_a_rule_tells_once_when_it_has_held_long_enough_and_once_when_it_ends():
    rule = AlertRule(Alert.model_validate({"when": "x > 1", "for": "5s"}))
    moments = [(True, 0), (True, 4.9), (True, 5), (True, 9), (False, 10), (True, 11), (False, 12), (True, 13)]
    told = [(at, rule.holds) for value, at in moments if rule.take_in(value, at)]
    assert told == [(5, True), (10, False)]


@pytest.fixture
def lines(own_place):
    """The alerts in the journal of a run of the file, with so many copies and this limit."""

    def measure(copies: int, limit: int):
        Path("watched.yaml").write_text(FILE.replace("COPIES", str(copies)).replace("LIMIT", str(limit)))
        assert call_steelyard(["run", "-q", "watched.yaml"]) in (0, 1)
        record = RunRecord(Store(own_place / "store").list_runs()[-1])
        return record, [(line["rule"], line["holds"]) for line in record.journal if line["kind"] == "alert"]

    return measure


def test_a_figure_that_the_workload_tells_is_watched(lines):
    record, told = lines(1, 3)
    assert told == [(0, True), (0, False)]
    assert record.alerts == {"rate < 3": [1]}


def test_copies_are_taken_together(lines):
    _, told = lines(2, 3)
    assert told == [(0, True), (0, False)]
    _, told = lines(2, 2)
    assert told == [], "both together never fall below"


def test_what_the_rules_name_must_be_there(capsys, own_place):
    Path("bad.yaml").write_text(
        "experiment: x\nworkload: {use: command, run: ['true']}\n"
        "services: {box: {use: memcached}}\n"
        "alert: [{when: wal < 3}, {when: ring.settled}, {when: box.settled}]\n"
    )
    assert call_steelyard(["plan", "bad.yaml"]) == 2
    err = capsys.readouterr().err
    assert "'wal' is neither a figure of the workload nor a state of a service; did you mean 'wall'?" in err
    assert "ring" in err
    assert "box.settled" not in err
