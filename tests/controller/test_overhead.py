"""What Steelyard itself costs is recorded when a run ends, however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import steelyard
from steelyard.analysis.findings import Findings
from steelyard.analysis.overhead import sum_overhead
from steelyard.api import Run
from steelyard.controller.overhead import OverheadMeter
from steelyard.errors import HostLost
from steelyard.report.plain import plain_run
from steelyard.testing import FakeHost, FakeSite, Said

STAT = "7 (a (b) c) S 1 7 7 0 -1 4194560 500 0 0 0 150 50 900 900 20 0 1 0 100 1000 10 0"


class Agent(FakeHost):
    """A host whose agent is a process of its own."""

    def __init__(self, name: str, pid: int | None, stat: str = STAT, machine: str = "") -> None:
        super().__init__(
            lambda command: Said(), {f"/proc/{pid}/stat": stat}, name=name, machine=machine or name
        )
        self.pid = pid

    def agent(self) -> int | None:
        return self.pid


def agents(*hosts: FakeHost) -> object:
    found = OverheadMeter()
    asyncio.run(found.read_agents(hosts))
    return found.facts()["agents"]


def test_an_agents_own_time_is_told_without_that_of_its_programs() -> None:
    assert agents(Agent("n1", 7), Agent("n2", 7)) == {"n1": 2.0, "n2": 2.0}


def test_hosts_that_share_an_agent_count_it_once() -> None:
    assert agents(Agent("n1", 7, machine="m"), Agent("n2", 7, machine="m")) == {"n1": 2.0}


@pytest.mark.parametrize(
    "host", [Agent("n1", None), Agent("n1", 7, "nonsense"), Agent("n1", 7, "7 (x) S 1 -")]
)
def test_what_cannot_be_told_is_not_known(host: FakeHost) -> None:
    assert agents(host) == {"n1": None}


def test_a_lost_host_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lost(patterns: object) -> dict[str, str]:
        raise HostLost("host n1 is lost")

    host = Agent("n1", 7)
    monkeypatch.setattr(host, "read", lost)
    assert agents(host) == {"n1": None}


def test_a_host_that_hangs_does_not_either(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hanging(patterns: object) -> dict[str, str]:
        await asyncio.Event().wait()
        raise AssertionError

    host = Agent("n1", 7)
    monkeypatch.setattr(host, "read", hanging)
    monkeypatch.setattr("steelyard.controller.overhead._PATIENCE", 0.05)
    assert agents(host) == {"n1": None}


def test_a_run_records_it_and_shows_it(measure: Callable[..., Run]) -> None:
    record = measure("true", repeat=2).record
    told = record.journal[-1]["overhead"]
    assert told["wall"] > 0
    assert told["controller"] > 0
    assert list(told["agents"]) == ["local"]
    assert told["agents"]["local"] is not None
    shown = plain_run(Findings(record))["overhead"]
    assert shown["of_a_core"]["controller"] == pytest.approx(told["controller"] / told["wall"])


def test_a_run_on_hosts_that_cannot_tell_says_so(tmp_path: Path) -> None:
    tree = {"experiment": "x", "workload": {"use": "command", "run": ["x"]}, "repeat": 1}
    run = steelyard.run(tree, site=FakeSite(lambda command: Said(wall=1.0)), store=tmp_path)
    found = sum_overhead(run.record.journal)
    assert found is not None
    assert (found.agents, found.unknown) == ({}, ("fake",))
