"""What a run tells while it goes on. The command line draws it; a notebook or a test may listen too."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.model.keys.alert import Alert
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

    def on_alert(self, folder: RunFolder, rule: Alert, trial: str, *, holds: bool) -> None:
        """A rule of the file begins to hold in a trial, or holds no more; `trial` is as people call it."""

    def on_end(self, folder: RunFolder, state: str, reason: str) -> None:
        """The run is over: `complete`, `interrupted`, `cancelled` or `failed`."""


class BothObservers(Observer):
    """Tells two observers everything, the first one first; see `Observer` for what each method says."""

    def __init__(self, first: Observer, second: Observer) -> None:
        self._both = (first, second)

    def on_start(self, folder: RunFolder, progress: Progress, seed: int) -> None:
        """The run begins."""
        for one in self._both:
            one.on_start(folder, progress, seed)

    def on_trial_start(self, trial: Trial, number: int, progress: Progress) -> None:
        """A trial begins."""
        for one in self._both:
            one.on_trial_start(trial, number, progress)

    def on_trial_end(self, result: Result, message: str, progress: Progress) -> None:
        """A trial has ended."""
        for one in self._both:
            one.on_trial_end(result, message, progress)

    def on_warning(self, text: str) -> None:
        """A warning."""
        for one in self._both:
            one.on_warning(text)

    def on_wait(self, text: str) -> None:
        """How a job stands."""
        for one in self._both:
            one.on_wait(text)

    def on_alert(self, folder: RunFolder, rule: Alert, trial: str, *, holds: bool) -> None:
        """A rule holds, or no more."""
        for one in self._both:
            one.on_alert(folder, rule, trial, holds=holds)

    def on_end(self, folder: RunFolder, state: str, reason: str) -> None:
        """The run is over."""
        for one in self._both:
            one.on_end(folder, state, reason)
