"""A function that yields entries: what it is told, and what is said of its mistakes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from steelyard.controller.timeline.script import EntryOutcome, TimelineScript
from steelyard.errors import TrialFailure
from steelyard.model.experiment import Experiment
from steelyard.model.keys.timeline import Entry
from steelyard.model.trial import Cell

DONE = EntryOutcome(0.0, 0.1, 0.2, {"host": "local"})


def script(function: Any, seed: int = 1, **more: Any) -> TimelineScript:
    experiment = Experiment(
        experiment="scripted",
        parameters={"n": [1, 2]},
        roles={"server": 1, "client": 1},
        services={"net": {"use": "iperf3", "open": True, "on": "server"}},
        workload=[
            {"use": "command", "phase": "load", "on": "client", "run": ["true"]},
            {"use": "command", "phase": "run", "on": "client", "run": ["true"]},
        ],
        timeline={"during": "run", "use": "here.py:f", **more},
    )
    (entry,) = experiment.timeline
    return TimelineScript(entry.with_function(function), experiment, Cell({"n": 2}), seed)


def test_it_knows_its_trial_and_what_came_of_each() -> None:
    heard: list[Any] = []

    def f(trial: Any) -> Iterator[Any]:
        heard.append((dict(trial.parameters), trial.elapsed, dict(trial.states)))
        heard.append((yield {"do": "kill", "service": "net", "node": 0, "at": "1s"}))
        heard.append((trial.elapsed, trial.states["net.settled"]))

    played = script(f)
    entry = played.next_entry(0.5, {"net.settled": True}, None)
    assert entry is not None
    assert (entry.do, entry.at, entry.options) == ("kill", 1.0, {"service": "net", "node": 0})
    assert entry.during == "run", "that of the function, when it names none"
    assert played.next_entry(2.0, {"net.settled": False}, DONE) is None
    assert heard == [({"n": 2}, 0.5, {"net.settled": True}), DONE, (2.0, False)]


def test_what_it_draws_is_the_same_each_time_with_one_seed() -> None:
    def f(trial: Any) -> Iterator[Any]:
        while True:
            yield Entry(do="run", options={"run": [str(trial.random.random())], "on": "server"})

    def drawn(seed: int) -> list[Any]:
        played = script(f, seed)
        found = [played.next_entry(0, {}, outcome) for outcome in (None, DONE)]
        return [word for entry in found if entry for word in entry.options["run"]]

    assert drawn(7) == drawn(7)
    assert len({*drawn(7), *drawn(8)}) == 4


def test_bare_numbers_are_seconds() -> None:
    def f(trial: Any) -> Iterator[Any]:
        yield {"do": "run", "run": ["true"], "on": "client", "at": trial.elapsed + 0.25, "within": 5}

    entry = script(f).next_entry(1.0, {}, None)
    assert entry is not None
    assert (entry.at, entry.within) == (1.25, 5.0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"do": "kil", "service": "net", "node": 0}, "did you mean 'kill'"),
        ({"do": "kill", "service": "nte", "node": 0}, "nte"),
        ({"do": "kill", "service": "net"}, "node"),
        ({"do": "kill", "service": "net", "node": 3}, "node: 3 is out of range"),
        ({"do": "kill", "service": "net", "node": 0, "during": "rum"}, "there is no phase 'rum'"),
        ({"do": "kill", "service": "net", "node": 0, "at": "soon"}, "at"),
        ({"do": "run", "run": ["true"], "on": "client", "when": "nte.settled"}, "nte"),
        ({"do": "run", "run": ["true"], "on": "client", "every": "1s"}, "'every'"),
        ({"use": "other.py:g"}, "another function"),
        ("kill", "kill"),
        (None, "None"),
    ],
)
def test_a_wrong_entry_is_told_as_in_a_file(given: Any, said: str) -> None:
    def f(trial: Any) -> Iterator[Any]:
        yield given

    with pytest.raises(TrialFailure, match=r"^here\.py:f yields an invalid entry: ") as caught:
        script(f).next_entry(0, {}, None)
    assert said in caught.value.message
    assert caught.value.category == "event-failed"


def test_its_own_mistake_has_its_line() -> None:
    def f(trial: Any) -> Iterator[Any]:
        yield {"do": "kill", "service": "net", "node": trial.parameters["m"]}

    with pytest.raises(TrialFailure, match=r"here\.py:f, line \d+: KeyError: 'm'"):
        script(f).next_entry(0, {}, None)


def test_its_end_is_its_own_and_not_that_of_the_run() -> None:
    def leaves(trial: Any) -> Iterator[Any]:
        sys.exit(3)
        yield

    def clings(trial: Any) -> Iterator[Any]:
        try:
            yield {"do": "kill", "service": "net", "node": 0}
        finally:
            yield {"do": "restart", "service": "net", "node": 0}

    with pytest.raises(TrialFailure, match=r"line \d+: SystemExit: 3"):
        script(leaves).next_entry(0, {}, None)
    played = script(clings)
    played.next_entry(0, {}, None)
    with pytest.raises(TrialFailure, match="generator ignored GeneratorExit"):
        played.close()


def test_what_is_no_generator_function_is_refused() -> None:
    with pytest.raises(ValueError, match="'all_at_once' is not a generator function"):
        Entry.of(all_at_once)
    with pytest.raises(ValidationError, match="not a generator function"):
        Experiment(experiment="x", workload={"use": "command", "run": ["true"]}, timeline=all_at_once)


def all_at_once(trial: Any) -> list[Any]:
    return []


def test_every_makes_no_sense_with_a_function() -> None:
    with pytest.raises(ValidationError, match="every"):
        Entry.model_validate({"do": "script", "every": 1.0, "options": {"use": "a.py:f"}})
