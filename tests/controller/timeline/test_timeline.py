"""Events beside real trials: in order, at their time or by a condition; harm is healed, misses are marked."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from steelyard import api

pytestmark = pytest.mark.skipif(not shutil.which("iperf3"), reason="iperf3 is not installed")
Lines = list[dict[str, Any]]
FOR_EVER = 10**9
"""More events than ever come: what fails a trial ends its workload."""


@pytest.fixture
def played(told: Any, lasting: Callable[[int], list[str]]) -> Callable[..., api.Run]:
    """Run a workload that waits for so many events while the timeline acts on an iperf3 server beside it."""

    def run(*timeline: dict[str, Any], until: int = FOR_EVER, keep: str = "run", **more: Any) -> api.Run:
        tree = {
            "experiment": "played",
            "roles": {"server": 1, "client": 1},
            "services": {"net": {"use": "iperf3", "open": True, "on": "server", "keep": keep}},
            "workload": {"use": "command", "on": "client", "run": lasting(until)},
            "timeline": list(timeline),
            "telemetry": "off",
            "repeat": 1,
            "disturbed": "exclude",
            **more,
        }
        return api.run(tree, site="local:2", observer=told)

    return run


def events(run: api.Run, kind: str = "event-ended") -> Lines:
    return [line for line in run.record.journal if line["kind"] == kind]


def test_entries_fire_in_the_order_of_the_file_each_when_the_one_before_is_complete(
    played: Callable[..., api.Run],
) -> None:
    run = played(
        {"at": "200ms", "do": "pause", "service": "net", "node": 0, "length": "300ms"},
        {"at": "100ms", "do": "run", "run": ["echo", "late"], "on": "client"},
        until=2,
    )
    first, second = events(run)
    assert (first["event"], second["event"]) == ("pause", "run")
    assert first["began"] >= 0.2
    assert (second["asked"], second["began"] >= first["began"] + first["took"]) == (0.1, True)
    (trial,) = run.record.trials
    assert trial.result.status == "ok", trial.message
    (said,) = (run.record.folder.trial(1) / "events").rglob("*.stdout")
    assert said.read_text() == "late\n"


def test_a_closed_loop_during_an_outage_is_a_warning_of_the_run(played: Callable[..., api.Run]) -> None:
    nobody = {"use": "redis_benchmark", "on": "client", "server": "127.0.0.1", "port": 1}
    run = played({"at": "0s", "do": "pause", "service": "net", "node": 0}, workload=nobody)
    (text,) = [text for text in run.record.warnings if "coordinated omission" in text]
    assert text.endswith("see the outage of `pause` (coordinated omission); use ycsb with a `rate`")


def test_again_and_again_beside_the_others(played: Callable[..., api.Run]) -> None:
    run = played(
        {"at": "0.2s", "every": "200ms", "do": "run", "run": ["true"], "on": "server"},
        {"at": "0.5s", "do": "run", "run": ["true"], "on": "client"},
        until=20,
    )
    again = [line["asked"] for line in events(run) if line["entry"] == 0]
    assert again == pytest.approx([0.2 * number for number in range(1, len(again) + 1)])
    assert len(again) >= 19
    assert [line["entry"] for line in events(run)].count(1) == 1


def test_a_kill_on_purpose_fails_no_trial_and_is_healed_for_the_next(played: Callable[..., api.Run]) -> None:
    run = played({"at": "0.1s", "do": "kill", "service": "net", "node": 0}, until=1, repeat=2)
    assert [trial.result.status for trial in run.record.trials] == ["ok", "ok"]
    assert len([line for line in run.record.journal if line["kind"] == "service-ready"]) == 1


def test_when_its_condition_holds(played: Callable[..., api.Run]) -> None:
    run = played(
        {"at": "0s", "do": "kill", "service": "net", "node": 0},
        {"at": "0.2s", "do": "restart", "service": "net", "node": 0},
        {"when": "net.settled", "for": "0.6s", "within": "1h", "do": "run", "run": ["true"], "on": "client"},
        until=3,
    )
    *_, last = events(run)
    assert (last["entry"], last["asked"]) == (2, None)
    assert last["began"] >= 0.8


def test_a_condition_that_names_what_is_not_told_fails_at_once(played: Callable[..., api.Run]) -> None:
    roles = {"server": 1, "client": 1}
    store = {"store": {"use": "memcached", "open": True, "on": "server"}}
    if not shutil.which("memcached"):
        pytest.skip("memcached is not installed")
    wanted = {"when": "store.conections > 9", "within": "1min", "do": "run", "run": ["true"], "on": "client"}
    run = played(wanted, roles=roles, services=store)
    (trial,) = run.record.trials
    assert trial.result.category == "event-failed", trial.message
    assert "did you mean 'store.connections'" in trial.message


def test_a_condition_that_never_holds_fails_the_trial(played: Callable[..., api.Run]) -> None:
    run = played(
        {"at": "0s", "do": "kill", "service": "net", "node": 0},
        {"when": "net.settled", "within": "0.6s", "do": "run", "run": ["true"], "on": "client"},
    )
    (trial,) = run.record.trials
    assert trial.result.category == "event-failed"
    assert "entry 2 of the timeline, run: 'net.settled' did not become true within 0.6 s" in trial.message


def test_a_command_that_fails_fails_the_trial(played: Callable[..., api.Run]) -> None:
    run = played({"at": "0s", "do": "run", "run": ["sh", "-c", "echo no >&2; exit 3"], "on": "server"})
    (trial,) = run.record.trials
    assert trial.result.category == "event-failed"
    assert "sh on local-0 ended with 3; no" in trial.message


def test_what_did_not_come_is_marked(played: Callable[..., api.Run]) -> None:
    run = played(
        {"at": "10min", "do": "run", "run": ["true"], "on": "server"},
        {"at": "0s", "every": "10min", "do": "run", "run": ["true"], "on": "server"},
        until=1,
    )
    (trial,) = run.record.trials
    assert [(mark.kind, mark.reason) for mark in trial.marks if mark.kind == "incomplete"] == [
        ("incomplete", "entry 1 of the timeline, run did not start before its phase ended")
    ]
    assert trial.result.status == "ok"


def test_an_event_that_cannot_happen_here_is_told_before_the_trial(played: Callable[..., api.Run]) -> None:
    roles = {"client": 1, "server": "all"}  # how many those are, the site says
    run = played({"at": "0s", "do": "kill", "service": "net", "node": 7}, roles=roles)
    (trial,) = run.record.trials
    assert (trial.result.category, "node 7" in trial.message) == ("event-failed", True)


def test_a_site_that_cannot_cut_is_told_before_anything_starts(played: Callable[..., api.Run]) -> None:
    with pytest.raises(Exception, match=r"timeline, entry 1 \(cut\): site local:2 cannot cut the network"):
        played({"at": "0s", "do": "cut", "on": "server"})
