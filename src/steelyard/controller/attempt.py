"""One attempt at a trial: what identifies it in the record, and what it draws from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from steelyard.model.trial import Cell, Trial


@dataclass(frozen=True, slots=True)
class Attempt:
    """`number` is that of its folder, `count` how often the trial has been attempted with this one.

    `seed` is for tools and functions that draw: the same whenever this very trial is run.
    """

    trial: Trial
    number: int
    count: int
    seed: int

    @classmethod
    def of(cls, trial: Trial, number: int, count: int, run_seed: int) -> Self:
        """With the seed of the trial, which follows from that of the run."""
        seed = (run_seed * 1_000_003 + trial.repetition * 7919 + _hash_text(trial.cell.key)) % 2**31
        return cls(trial, number, count, seed)

    @property
    def cell(self) -> Cell:
        """The cell of the trial."""
        return self.trial.cell


def _hash_text(text: str) -> int:
    """A number from a text that is the same in every process, unlike `hash`."""
    value = 0
    for byte in text.encode(errors="surrogatepass"):
        value = (value * 131 + byte) % 2**31
    return value
