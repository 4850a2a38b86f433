"""A run's page while it goes on: its sentence, its cells filling, its current trial, what is noted."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.analysis.over_time.event_log import group_events
from steelyard.controller.machine.lock_files import find_measuring_run
from steelyard.store.layout import RunFolder
from steelyard.untrusted import open_regular
from steelyard.watching.progress import CellView, RunProgress, describe_cell, measure_progress
from steelyard.watching.watcher import Watcher
from steelyard.web.live.changes import Changes, wait_for_change
from steelyard.web.live.channel import LiveChannel, View
from steelyard.web.live.plot import Plot, plot_series

TICK = 0.5
"""Seconds between two looks where nothing says that there is something new, as on a shared file system."""
MOST_CELLS = 200
_OUTPUT_BYTES, _OUTPUT_LINES = 4096, 12


class RunNow(NamedTuple):
    """A run at this moment: what a program is told, and what the parts of its page are drawn from."""

    run: str
    title: str
    state: str
    since: float
    ended: float
    why: str
    progress: RunProgress
    metric: str
    parameters: tuple[str, ...]
    cells: list[CellView]
    more_cells: int
    trial: dict[str, Any] | None
    notes: list[str]


class RunChannel(LiveChannel):
    """One run. Its journal is read on as it grows, its current trial's samples twice a second."""

    def __init__(self, folder: RunFolder, changes: Changes) -> None:
        super().__init__()
        self._folder, self._changes = folder, changes
        self._watcher: Watcher | None = None
        self._event = asyncio.Event()
        self._alone = threading.Lock()  # who gives up waiting for a look leaves its thread at work
        self.now: RunNow | None = None

    async def enter(self, stack: AsyncExitStack) -> None:
        """Be told when the journal grows."""
        self._event = await stack.enter_async_context(self._changes.watch(self._folder.journal))

    async def look(self) -> View:
        """In a thread: a long journal is read for the first time."""
        return await asyncio.to_thread(self._look_alone)

    async def wait(self) -> None:
        """Until the journal grows, or for a moment."""
        await wait_for_change(self._event, TICK)

    def _look_alone(self) -> View:
        with self._alone:
            return self._look()

    def _look(self) -> View:
        if self._watcher is None:
            self._watcher = Watcher(self._folder)
        over = self._watcher.look()
        self.now = now = describe_run(self._watcher, self._folder.id)
        lasting = {"cells-head": self.draw("cells-head", "cells_head", now.parameters, now.metric)}
        for place, view in enumerate(now.cells):
            lasting[f"cell-{place}"] = self.draw(f"cell-{place}", "cell", view, place)
        lasting["notes"] = self.draw("notes", "notes", now.notes)
        fleeting = {
            "state": self.draw("state", "state", now.state, now.progress, now.since, now.ended, now.why),
            "trial": self.draw("trial", "trial", now.run, now.trial),
            "actions": self.draw("actions", "actions", now.run, now.state, now.parameters),
            "series": self.draw("series", "series", self._plot()),
            "output": self.draw("output", "output", self._read_output()),
        }
        return View(self._watcher.sequence, lasting, fleeting, over)

    def _plot(self) -> list[Plot]:
        watcher = self._watcher
        if watcher is None or watcher.state.trial is None:
            return []
        events = group_events(watcher.state.event_lines).get(watcher.state.trial.number, [])
        return [plot_series(line, events) for line in watcher.read_samples()]

    def _read_output(self) -> str:
        """The last lines that the current trial's newest phase printed."""
        trial = self._watcher.state.trial if self._watcher else None
        files = list(self._folder.trial(trial.number).glob("*/*/stdout")) if trial else []
        return read_last_lines(max(files, key=_find_age, default=None))


def describe_run(watcher: Watcher, run: str) -> RunNow:
    """What is known of a run at this moment."""
    state = watcher.state
    cells = list(state.cells.values())
    shown = [describe_cell(one, state) for one in cells[:MOST_CELLS]]
    trial = dataclasses.asdict(state.trial) if state.trial else None
    return RunNow(
        run,
        state.title,
        state.state,
        state.since,
        state.ended,
        _explain_wait(state.state, run, has_begun=bool(state.trial or state.done > state.done_before)),
        measure_progress(state),
        state.metric.name if state.metric else "",
        tuple(cells[0].cell.parameters) if cells else (),
        shown,
        len(cells) - len(shown),
        trial,
        list(state.notes),
    )


def _explain_wait(state: str, run: str, *, has_begun: bool) -> str:
    """Why no trial has begun, where this machine's turn is another run's."""
    if state != "running" or has_begun:
        return ""
    measuring = find_measuring_run() or ""
    return f"It waits for its turn: {measuring}." if measuring and run not in measuring else ""


def read_last_lines(path: Path | None) -> str:
    """The end of a file of output; empty where there is none."""
    with suppress(OSError):
        if path:
            with open_regular(path) as file:
                file.seek(max(0, file.seek(0, 2) - _OUTPUT_BYTES))
                text = file.read(_OUTPUT_BYTES).decode("utf-8", "replace")
            return "\n".join(text.splitlines()[-_OUTPUT_LINES:])
    return ""


def _find_age(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0
