"""kill -9 of the controller at any instant: nothing lives on, scratch is swept, and resume makes it whole.

The instants are the uses of each kind of system call in an uninterrupted run, and each write to the journal:
before it, after it, and in its middle.
"""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from conftest import ForkServer, Survivor

    Strike = Callable[..., Survivor]

IN_DEFAULT, IN_FULL = 40, 200
MORE_IN_DEFAULT, MORE_IN_FULL = 4, 40


class Instant(NamedTuple):
    """The nth use of a kind of call, before or after it, or (a write to the journal) in its middle."""

    kind: str
    nth: int
    when: str

    def fault(self, number: int = signal.SIGKILL, **more: Any) -> dict[str, Any]:
        return {**self._asdict(), "signal": number, **more}


MIDWAY = Instant("journal", 7, "after")
"""When two trials have ended and the third has begun."""


def of_kind(kind: str, count: int) -> list[list[Instant]]:
    """All instants of a kind, those far apart first; an audit event has no after."""
    spread = (1 + number * 7919 % count for number in range(count))
    numbers = dict.fromkeys([*spread, *range(1, count + 1)])
    if kind == "journal":
        return [[Instant(kind, nth, when) for nth in numbers] for when in ("before", "torn", "after")]
    if kind.startswith("audit "):
        return [[Instant(kind, nth, "before") for nth in numbers]]
    turns = (("before", "after"), ("after", "before"))
    return [[Instant(kind, nth, when) for turn in turns for nth, when in zip(numbers, itertools.cycle(turn))]]


def chosen(counts: dict[str, int], most: int, first: tuple[Instant, ...] = ()) -> list[Instant]:
    """So many instants, a turn for each kind as long as it has any."""
    kinds = (listed for kind, count in sorted(counts.items()) for listed in of_kind(kind, count))
    turns = itertools.zip_longest(*kinds)
    rest = (instant for turn in turns for instant in turn if instant)
    return list(itertools.islice(dict.fromkeys(itertools.chain(first, rest)), most))


def journal_instants(count: int) -> tuple[Instant, ...]:
    whens = ("before", "torn", "after")
    return tuple(Instant("journal", nth, when) for nth in range(1, count + 1) for when in whens)


def least(found: list[dict[str, int]]) -> dict[str, int]:
    """How often each kind of call is used for certain: what depends on timing is counted several times."""
    return {
        kind: min(each[kind] for each in found) for kind in found[0] if all(kind in each for each in found)
    }


@pytest.fixture(scope="module")
def counts(fork_server: ForkServer, stage: Any) -> dict[str, int]:
    """Of an uninterrupted run. Should a kind be used less often the next time, `begin` aims lower."""
    with stage() as lab:
        survivor = fork_server.begin(lab)
        assert survivor.outcome.code == 0, survivor.outcome.said
        survivor.is_whole()
        return survivor.outcome.counts


@pytest.fixture(scope="module")
def counts_of_resume(fork_server: ForkServer, stage: Any) -> dict[str, int]:
    """Of the resume of a run that was struck midway."""
    found = []
    for _ in range(3):
        with stage() as lab:
            fork_server.begin(lab, MIDWAY.fault())
            outcome = fork_server.run(lab, "resume", "last")
            assert outcome.code == 0, outcome.said
            found.append(outcome.counts)
    return least(found)


@pytest.fixture(scope="module")
def counts_of_stopping(fork_server: ForkServer, stage: Any) -> dict[str, int]:
    """From Ctrl-C midway to the end in good order."""
    found = []
    for _ in range(3):
        with stage() as lab:
            survivor = fork_server.begin(lab, MIDWAY.fault(signal.SIGINT))
            assert survivor.outcome.code == 130, survivor.outcome.said
            found.append(survivor.outcome.counts)
    return least(found)


def survive(instant: Instant, strike: Strike) -> None:
    survivor = strike(instant.fault())
    assert survivor.outcome.code == -signal.SIGKILL
    survivor.nothing_left()
    survivor.is_made_whole()


@pytest.mark.parametrize("number", range(IN_DEFAULT))
def test_an_instant(number: int, counts: dict[str, int], strike: Strike) -> None:
    survive(chosen(counts, IN_DEFAULT)[number], strike)


@pytest.mark.full
@pytest.mark.parametrize("number", range(IN_FULL))
def test_every_instant(number: int, counts: dict[str, int], strike: Strike) -> None:
    """Every write to the journal, and the rest spread over all kinds."""
    survive(chosen(counts, IN_FULL, journal_instants(counts["journal"]))[number], strike)


def survive_twice(fault: dict[str, Any], strike: Strike) -> None:
    survivor = strike(MIDWAY.fault())
    survivor.strike("resume", "last", fault=fault)
    if not survivor.was_struck():
        survive_twice(survivor.aims_lower(fault), strike)
        return
    assert survivor.outcome.code == -signal.SIGKILL
    survivor.nothing_left()
    survivor.is_made_whole()


@pytest.mark.parametrize("number", range(MORE_IN_DEFAULT))
def test_the_resume_is_killed_too(number: int, counts_of_resume: dict[str, int], strike: Strike) -> None:
    survive_twice(chosen(counts_of_resume, MORE_IN_FULL)[number * 9].fault(), strike)


@pytest.mark.full
@pytest.mark.parametrize("number", range(MORE_IN_FULL))
def test_the_resume_is_killed_at_many_instants(
    number: int, counts_of_resume: dict[str, int], strike: Strike
) -> None:
    survive_twice(chosen(counts_of_resume, MORE_IN_FULL)[number].fault(), strike)


def survive_stopping(instant: Instant, strike: Strike) -> None:
    survivor = strike(MIDWAY.fault(signal.SIGINT, then=instant.fault()))
    assert survivor.outcome.code == -signal.SIGKILL
    survivor.nothing_left()
    survivor.is_made_whole()


@pytest.mark.parametrize("number", range(MORE_IN_DEFAULT))
def test_it_is_killed_while_it_stops(number: int, counts_of_stopping: dict[str, int], strike: Strike) -> None:
    survive_stopping(chosen(counts_of_stopping, MORE_IN_FULL)[number * 9], strike)


@pytest.mark.full
@pytest.mark.parametrize("number", range(MORE_IN_FULL))
def test_it_is_killed_at_many_instants_while_it_stops(
    number: int, counts_of_stopping: dict[str, int], strike: Strike
) -> None:
    survive_stopping(chosen(counts_of_stopping, MORE_IN_FULL)[number], strike)
