"""Looks at a run again and again: its journal, its current trial, and whether its controller lives."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from steelyard.analysis.damage import guard_record
from steelyard.cli.watching.picture import draw_run
from steelyard.cli.watching.samples import LiveSeries, TrialSamples
from steelyard.cli.watching.state import RunState
from steelyard.store.layout import RunFolder
from steelyard.store.reader import UNDER_WAY, glance
from steelyard.store.tail import Tail

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_LINES = 3
LOOK_AT_LOCK_EVERY = 3.0
"""Seconds between two looks at whether the controller lives: each takes its lock for an instant."""


class Watcher:
    """What is known of a run at this moment."""

    def __init__(self, folder: RunFolder) -> None:
        self.state = RunState(folder)
        self._folder, self._tail = folder, Tail(folder.journal)
        self._samples: TrialSamples | None = None
        self._told: list[str] = []
        self._due = 0.0

    def look(self) -> bool:
        """Take in what is new; whether the run is over."""
        with guard_record(self._folder.id):
            for line in self._tail.read_new_lines():
                self.state.take_in(line)
        if not self.state.is_over and time.monotonic() >= self._due:
            self._due = time.monotonic() + LOOK_AT_LOCK_EVERY
            now = glance(self._folder).state
            if now not in UNDER_WAY:
                self.state.state = now
        return self.state.is_over

    def draw(self, width: int, height: int) -> RenderableType:
        """The picture of this moment."""
        return draw_run(self.state, self._read_samples(), width=width, height=height)

    def take_notes(self) -> list[str]:
        """The notes since this was asked before."""
        fresh = [note for note in self.state.notes if note not in self._told]
        self._told = list(self.state.notes)
        return fresh

    def _read_samples(self) -> list[LiveSeries]:
        trial = self.state.trial
        if trial is None:
            return []
        if self._samples is None or self._samples.number != trial.number:
            self._samples = TrialSamples(self._folder, trial.number, self.state.metrics)
        with guard_record(self._folder.id):
            return self._samples.read_lines(MOST_LINES)
