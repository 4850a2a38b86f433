"""SIGINT, SIGTERM, SIGHUP and SIGUSR1 end a run in good order, whenever they come."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import ForkServer, Lab, Survivor

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
TRIALS = 6
LINES = 2 + 1 + 2 * TRIALS  # of an uninterrupted run: first and last, the scratch, two a trial
SLOW = """
experiment: slow
workload: {use: command, run: [sleep, 0.05]}
repeat: 6
disturbed: include
"""
MANY = """
experiment: many
workload: {{use: command, script: "test -e {calm} || sleep 0.05"}}
repeat: 100
disturbed: include
"""


def in_good_order(survivor: Survivor, number: int) -> None:
    """It ended with 130 and its last line; before it began, and when it was over already, it may just end."""
    survivor.nothing_left()
    code, said = survivor.outcome.code, survivor.outcome.said
    journal = survivor.lab.journal() if survivor.lab.runs() else []
    if not journal:
        assert code in (130, -number), said
    elif journal[-1].get("state") == "complete":
        assert code in (0, 130, -number), said
        assert sum(line["kind"] == "trial-ended" for line in journal) == TRIALS
    else:
        assert (code, journal[-1]["kind"], journal[-1]["state"]) == (130, "run-ended", "interrupted"), said
        assert "resume" in said
    assert sum(line["kind"] == "run-ended" for line in journal) <= 1
    survivor.is_made_whole()


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("nth", [2, 9])
def test_a_signal_at_a_line_of_the_journal(number: int, nth: int, strike: Callable[[Any], Survivor]) -> None:
    survivor = strike({"kind": "journal", "nth": nth, "when": "after", "signal": number})
    in_good_order(survivor, number)
    assert survivor.outcome.code == 130, "between the first trial and the last there is no excuse"


@pytest.mark.full
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, LINES + 1))
def test_a_signal_at_every_line_of_the_journal(
    number: int, when: str, nth: int, strike: Callable[[Any], Survivor]
) -> None:
    in_good_order(strike({"kind": "journal", "nth": nth, "when": when, "signal": number}), number)


@pytest.mark.full
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("kind", ["epoll", "os.stat", "os.open", "os.mkdir", "socket.recv"])
@pytest.mark.parametrize("nth", [1, 5, 12])
def test_a_signal_at_other_instants(
    number: int, kind: str, nth: int, strike: Callable[[Any], Survivor]
) -> None:
    in_good_order(strike({"kind": kind, "nth": nth, "when": "before", "signal": number}), number)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_from_outside(
    number: int, lab: Lab, fork_server: ForkServer, until: Callable[..., bool]
) -> None:
    """A real process, at an instant that nobody chose, long before its end."""
    calm = lab.place / "calm"
    started = lab.start("run", lab.file(MANY.format(calm=calm)))
    assert until(lambda: lab.runs() and len(lab.journal()) > 1)
    time.sleep(random.Random(number).uniform(0, 0.2))
    started.process.send_signal(number)
    outcome = started.ended()
    assert outcome.code == 130, outcome.said
    ended = lab.journal()[-1]
    assert (ended["kind"], ended["state"]) == ("run-ended", "interrupted")
    calm.touch()
    resumed = fork_server.run(lab, "resume", "last")
    assert resumed.code == 0, resumed.said
    assert lab.journal()[-1]["state"] == "complete"
    assert [result[1:3] for result in lab.results()] == [(k, "ok") for k in range(1, 101)]


def test_impatience_does_no_harm(lab: Lab, until: Callable[..., bool]) -> None:
    """Ctrl-C again and again."""
    process = lab.start("run", lab.file(MANY.format(calm="never"))).process
    assert until(lambda: lab.runs() and len(lab.journal()) > 1)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.002)
    assert process.returncode in (130, -signal.SIGINT)  # a shell says 130 for both
    assert not lab.bearers(lab.runs()[0].name)
    assert [line["state"] for line in lab.journal() if line["kind"] == "run-ended"] == ["interrupted"]
