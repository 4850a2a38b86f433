"""What a trial is marked with when the clocks did not go as they should."""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard
from steelyard.controller.machine import watch
from steelyard.errors import HostDown
from steelyard.hosts.clocks import Clocks
from steelyard.model.command import Command
from steelyard.testing import FakeHost, FakeSite, Said

START = Clocks(1_795_000_000.0, 5000.0, 0.0001, 4000.0)


def later(seconds: float, *, step: float = 0.0, asleep: float = 0.0) -> Clocks:
    boot, awake = START.boot + seconds, 4000.0 + seconds - asleep
    return Clocks(START.wall + seconds + step, boot, START.uncertainty, awake)


def ran(site: FakeSite, store: Path, **more: object) -> list[str]:
    """The reasons for which the only trial of a run on this site does not count."""
    tree = {"experiment": "clocks", "workload": {"use": "command", "run": ["x"]}, "repeat": 1}
    tree |= {"disturbed": "exclude", **more}
    (trial,) = steelyard.run(tree, site=site, store=store).record.trials
    assert {mark.kind for mark in trial.marks} <= {"disturbed"}
    return [mark.reason for mark in trial.marks]


def behave(command: Command) -> Said:
    return Said(wall=1.0)


def showing(host: FakeHost, *shown: Clocks | None) -> None:
    left = iter(shown)

    async def clocks() -> Clocks | None:
        return next(left)

    host.read_clocks = clocks  # type: ignore[method-assign]


def test_a_step_of_a_hosts_clock_marks_the_trial_on_it(tmp_path: Path) -> None:
    site = FakeSite(behave, hosts=2)
    for host in site.hosts:
        host.machine = host.name
    showing(site.hosts[0], START, later(10))
    showing(site.hosts[1], START, later(10, step=3.2))
    roles = {"roles": {"client": 2}, "workload": {"use": "command", "run": ["x"], "on": "client"}}
    assert ran(site, tmp_path, **roles) == ["fake-1: the clock was stepped by +3.20 s during the trial"]


def test_a_mark_stays_with_a_trial_that_counts_all_the_same(tmp_path: Path) -> None:
    site = FakeSite(behave)
    showing(site.host, START, later(20, asleep=12))
    assert ran(site, tmp_path, disturbed="include") == [
        "the machine was suspended for 12.00 s during the trial"
    ]
    record = steelyard.last(store=tmp_path).record
    assert record.trials[0].result.is_poolable
    assert "but still count" in record.warnings[0]


def test_a_host_that_slept_marks_the_trial(tmp_path: Path) -> None:
    site = FakeSite(behave)
    showing(site.host, START, later(20, asleep=12))
    assert ran(site, tmp_path) == ["the machine was suspended for 12.00 s during the trial"]


def test_a_host_that_does_not_tell_marks_nothing(tmp_path: Path) -> None:
    site = FakeSite(behave)
    showing(site.host, START, None)
    assert ran(site, tmp_path) == []


def test_a_host_that_an_event_killed_marks_nothing_and_the_others_do(tmp_path: Path) -> None:
    site = FakeSite(behave, hosts=2)
    for host in site.hosts:
        host.machine = host.name

    async def clocks() -> Clocks | None:
        if asked.append(1) or len(asked) > 1:
            raise HostDown("host fake-0 is down")
        return START

    asked: list[int] = []
    site.hosts[0].read_clocks = clocks  # type: ignore[method-assign]
    showing(site.hosts[1], START, later(20, asleep=12))
    roles = {"roles": {"client": 2}, "workload": {"use": "command", "run": ["x"], "on": "client"}}
    assert ran(site, tmp_path, **roles) == ["fake-1: the machine was suspended for 12.00 s during the trial"]


def test_the_controllers_clock_is_watched_where_no_host_is_on_its_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter((START, later(10, step=-1.5)))
    monkeypatch.setattr(watch, "read_own_clocks", lambda: next(left))
    assert ran(FakeSite(behave), tmp_path) == [
        "the controller's machine: the clock was stepped by -1.50 s during the trial"
    ]
