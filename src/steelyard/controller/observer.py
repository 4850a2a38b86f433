"""What a run tells while it goes on. The command line draws it; a notebook or a test may listen too."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.model.trial import Result, Trial
from steelyard.store.layout import RunFolder


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is. `least` and `most` bound the number of trials; `left` is in seconds, or None."""

    done: int
    failed: int
    least: int
    most: int
    left: float | None


class Observer:
    """Base that listens and says nothing. No method may raise or block."""

    def on_start(self, folder: RunFolder, progress: Progress, seed: int) -> None:
        """The run's folder exists, and the first trial is next."""

    def on_trial_start(self, trial: Trial, number: int, progress: Progress) -> None:
        """A trial begins."""

    def on_trial_end(self, result: Result, message: str, progress: Progress) -> None:
        """A trial has ended, well or not, and is safely in the journal."""

    def on_warning(self, text: str) -> None:
        """Something that the user should know, said once."""

    def on_wait(self, text: str) -> None:
        """How the job stands that the run goes on in, whenever that changes."""

    def on_end(self, folder: RunFolder, state: str, reason: str) -> None:
        """The run is over: `complete`, `interrupted`, `cancelled` or `failed`."""
