"""What a trial draws from: a seed of its own."""

from __future__ import annotations

from steelyard.controller.attempt import Attempt
from steelyard.model.trial import Cell, Trial


def seeds(run: int, number: int = 1) -> list[int]:
    trials = [Trial(Cell({"n": n}), repetition) for n in (1, 2) for repetition in (1, 2, 3)]
    return [Attempt.of(trial, number, number, run).seed for trial in trials]


def test_the_seed_of_a_trial_is_its_own_and_stays() -> None:
    """A tool's random numbers: the same when a trial is made again, others in each repetition."""
    assert seeds(1) == seeds(1, number=7)
    assert len(set(seeds(1) + seeds(2))) == 12
    assert all(0 <= seed < 2**31 for seed in seeds(2**62))
