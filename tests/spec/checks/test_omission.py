"""Closed loops during events that stop a service."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.model.experiment import Experiment
from steelyard.model.trial import Cell
from steelyard.spec.checks.omission import omissions

PAUSE = {"at": "1s", "do": "pause", "service": "db", "node": 0, "length": "1s"}
RESTART = {"at": "3s", "do": "restart", "service": "db", "node": 0}
REDIS = {"db": {"use": "redis", "on": "server", "keep": "run"}}


def warned(workload: Any, *timeline: dict[str, Any], cells: tuple[Cell, ...] = (Cell({}),)) -> list[str]:
    tree = {
        "experiment": "outage",
        "parameters": {"mode": ["under-load", "ping-pong"]},
        "roles": {"server": 1, "client": 1},
        "services": REDIS,
        "workload": workload,
        "timeline": list(timeline),
    }
    return omissions(Experiment.model_validate(tree), cells)


def ycsb(**more: Any) -> dict[str, Any]:
    return {"use": "ycsb", "on": "client", "to": "db", "records": 100, "duration": "5s", **more}


def test_a_closed_loop_that_an_event_stops_is_told_what_it_will_not_see():
    assert warned(ycsb(), PAUSE, RESTART, PAUSE) == [
        "ycsb waits for each answer before its next request, so few requests see the outage of `pause` and "
        "`restart` "
        "(coordinated omission); give `rate`"
    ]
    assert not warned(ycsb(rate="100/s"), PAUSE), "requests are due, whatever the server does"
    assert not warned(ycsb()), "nothing stops"
    assert not warned(ycsb(), {"at": "1s", "do": "run", "run": ["sync"], "on": "server"})


def test_one_cell_that_is_a_closed_loop_is_enough():
    sockperf = {"use": "sockperf", "mode": "${mode}", "on": "client", "to": "db"}
    cells = (Cell({"mode": "under-load"}), Cell({"mode": "ping-pong"}))
    assert not warned(sockperf, PAUSE, cells=cells[:1])
    assert len(warned(sockperf, PAUSE, cells=cells)) == 1


def test_only_the_phase_in_which_it_happens_counts_and_only_when_it_is_measured():
    load = {**ycsb(do="load", duration=None), "phase": "load"}
    phases = [load, {**ycsb(rate="100/s"), "phase": "run"}]
    assert not warned(phases, {**PAUSE, "during": "run"})
    assert warned(phases, {**PAUSE, "during": "load"})
    assert not warned([{**load, "measured": False}, phases[1]], {**PAUSE, "during": "load"})


@pytest.mark.parametrize(
    ("workload", "remedy"),
    [
        ({"use": "pgbench"}, "give `rate`"),
        ({"use": "pgbench", "rate": 9}, None),
        ({"use": "redis_benchmark"}, "use ycsb with a `rate`"),
        ({"use": "memaslap"}, "use ycsb with a `rate`"),
        ({"use": "netbench"}, "use sockperf with `mode: under-load`"),
        ({"use": "sockperf", "rate": 9}, "use `mode: under-load`"),
        ({"use": "sockperf", "mode": "under-load"}, None),
        ({"use": "sockperf", "mode": "throughput"}, None),
        ({"use": "iperf3"}, None),
        ({"use": "command", "run": ["true"]}, None),
    ],
)
def test_each_workload_knows_what_helps(workload, remedy):
    found = warned({**workload, "on": "client", "to": "db"}, PAUSE)
    assert [text.rpartition("; ")[2] for text in found] == ([remedy] if remedy else [])


@pytest.mark.parametrize(
    "event",
    [
        {"do": "kill", "service": "db", "node": 0},
        {"do": "cut", "on": "server"},
        {"do": "partition", "between": ["server", "client"]},
    ],
)
def test_all_events_that_stop_something_are_meant(event):
    assert warned(ycsb(), {"at": "1s", **event})
