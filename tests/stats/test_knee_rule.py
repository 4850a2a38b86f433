"""When a level of a search for a knee is enough, and when it takes more repetitions."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.model.keys.method import Repeat
from steelyard.model.metric import Mark
from steelyard.model.trial import Cell, Result, Trial
from steelyard.stats.knee_rule import KneeRule

RULE = KneeRule("iops", 0.05, Repeat(at_least=6, at_most=8))
STEADY = (0.99, 1.0, 1.01, 1.0, 0.995, 1.005)
WILD = (0.5, 1.5, 0.7, 1.3, 1.0, 1.0)


def results(figure: float, noise: Sequence[float] = STEADY, *, failed: int = 0) -> list[Result]:
    """Repetitions around a figure, and some that timed out."""
    good = [Result(Trial(Cell({}), n), "ok", 1.0, {"iops": figure * one}) for n, one in enumerate(noise, 1)]
    bad = [Result(Trial(Cell({}), 50 + n), "failed", 1.0, {}, (), "timed-out") for n in range(failed)]
    return [*good, *bad]


def test_the_first_level_only_has_to_be_measured():
    assert RULE.is_met(results(1)[:5], results(1)[:5]) is None
    assert RULE.is_met(results(1), results(1)) is True


def test_a_level_is_enough_unless_a_later_one_surely_beats_it():
    low, same, more = results(100), results(101), results(150)
    assert RULE.is_met(same, low, same) is True
    assert RULE.is_met(more, low, more) is False
    assert RULE.is_met(low, low, same, more) is False


def test_what_is_open_is_repeated_until_at_most_and_then_decided_by_medians():
    low = results(100, WILD)
    assert RULE.is_met(results(100, WILD), low, results(100, WILD)) is None
    often = results(100, (*WILD, 1.0, 1.0))
    assert RULE.is_met(often, low, often) is True
    better = results(120, (*WILD, 1.0, 1.0))
    assert RULE.is_met(better, low, better) is False


def test_a_level_that_fails_brings_nothing_and_loses_to_one_that_does_not():
    low, failing = results(100), results(500, STEADY[:2], failed=4)
    assert RULE.is_met(failing, low, failing) is True
    assert RULE.is_met(low, failing, low) is False
    assert RULE.count_repetitions(failing) == 6


def test_a_level_that_fails_now_and_then_still_needs_enough_figures():
    now_and_then = results(150, STEADY[:4], failed=2)
    assert RULE.is_met(now_and_then, results(100), now_and_then) is None
    assert RULE.count_repetitions(now_and_then) == 4
    assert RULE.is_met(results(150, STEADY, failed=2), results(100), results(150, STEADY, failed=2)) is False


def test_a_fallback_counts_as_a_failure_and_a_disturbance_as_nothing():
    trial = Trial(Cell({}), 1)
    fallback = Result(trial, "ok", 1.0, {"iops": 5.0}, (Mark("fallback", "less"),))
    disturbed = Result(trial, "ok", 1.0, {"iops": 5.0}, (Mark("disturbed", "other"),))
    assert RULE.count_repetitions([fallback]) == 1
    assert RULE.count_repetitions([disturbed]) == 0
    assert RULE.is_met([disturbed] * 15, results(1), [disturbed] * 15) is None
    assert RULE.is_met([disturbed] * 16, results(5), [disturbed] * 16) is True


def test_on_a_busy_machine_the_search_goes_on_by_disturbed_trials():
    """No figure rests on them; a search that stopped at the second level would find nothing at all."""
    marks = (Mark("disturbed", "foreign CPU load"),)
    low, high = (
        [Result(Trial(Cell({}), n), "ok", 1.0, {"iops": figure}, marks) for n in range(1, 17)]
        for figure in (100.0, 150.0)
    )
    assert RULE.is_met(high[:15], low, high[:15]) is None
    assert RULE.is_met(high, low, high) is False
    assert RULE.is_met(low, high, low) is True
