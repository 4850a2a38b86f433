"""Looks at a run again and again: its journal, its current trial, and whether its controller lives."""

from __future__ import annotations

import time

from steelyard.analysis.damage import guard_record
from steelyard.store.layout import RunFolder
from steelyard.store.reader import UNDER_WAY, glance
from steelyard.store.tail import Tail
from steelyard.watching.samples import LiveSeries, TrialSamples
from steelyard.watching.state import RunState

MOST_LINES = 3
LOOK_AT_LOCK_EVERY = 3.0
"""Seconds between two looks at whether the controller lives: each takes its lock for an instant."""


class Watcher:
    """What is known of a run at this moment. `sequence`: the number of the journal's last line so far."""

    def __init__(self, folder: RunFolder) -> None:
        self.state = RunState(folder)
        self._folder, self._tail = folder, Tail(folder.journal)
        self._samples: TrialSamples | None = None
        self._told: list[str] = []
        self._due = 0.0
        self.sequence = 0

    def look(self) -> bool:
        """Take in what is new; whether the run is over."""
        with guard_record(self._folder.id):
            for line in self._tail.read_new_lines():
                self.state.take_in(line)
                self.sequence = int(line["seq"])
        if not self.state.is_over and time.monotonic() >= self._due:
            self._due = time.monotonic() + LOOK_AT_LOCK_EVERY
            now = glance(self._folder).state
            if now not in UNDER_WAY:
                self.state.state = now
        return self.state.is_over

    def take_notes(self) -> list[str]:
        """The notes since this was asked before."""
        fresh = [note for note in self.state.notes if note not in self._told]
        self._told = list(self.state.notes)
        return fresh

    def read_samples(self) -> list[LiveSeries]:
        """The newest samples of the trial that runs; none between two trials."""
        trial = self.state.trial
        if trial is None:
            return []
        if self._samples is None or self._samples.number != trial.number:
            self._samples = TrialSamples(self._folder, trial.number, self.state.metrics)
        with guard_record(self._folder.id):
            return self._samples.read_lines(MOST_LINES)
