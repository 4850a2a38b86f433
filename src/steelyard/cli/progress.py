"""Show a run while it goes on: a bar on a terminal, plain lines elsewhere, nothing with --quiet."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from steelyard.cli.terminal import echo
from steelyard.controller.observer import Observer
from steelyard.controller.observer import Progress as State
from steelyard.model.trial import Result, Trial
from steelyard.report.heading import describe_site
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord
from steelyard.units import show_span

if TYPE_CHECKING:
    from rich.progress import TaskID

GAP = "   "


def make_observer(*, quiet: bool) -> Observer:
    """The observer that suits where standard error goes."""
    if quiet:
        return Quiet()
    return Bar() if sys.stderr.isatty() else Lines()


class Quiet(Observer):
    """Says only what must be known."""

    def on_warning(self, text: str) -> None:
        """Warnings are never hidden."""
        echo(f"warning: {text}", err=True)


class Lines(Quiet):
    """A line for the start, for each trial, and for the end."""

    def on_start(self, folder: RunFolder, progress: State, seed: int) -> None:
        """Which run it is and how much there is to do."""
        echo(headline(folder, progress, seed), err=True)

    def on_wait(self, text: str) -> None:
        """What the scheduler says."""
        echo(text, err=True)

    def on_trial_end(self, result: Result, message: str, progress: State) -> None:
        """How a trial ended, and what is left."""
        left = f", {show_span(progress.left)} left" if progress.left else ""
        how = _format_outcome(result, message)
        more = " or more" if progress.most > progress.least else ""
        count = f"{progress.done} of {progress.least}{more}{left}"
        echo(f"{result.trial.describe(GAP)}  {how}  ({count})", err=True)

    def on_end(self, folder: RunFolder, state: str, reason: str) -> None:
        """Which run failed; why, and how to go on, is said by the error that the command ends with."""
        if state == "failed":
            echo(f"run {folder.id} failed", err=True)


class Bar(Lines):
    """One line that moves, with what failed or was marked above it."""

    def __init__(self) -> None:
        # Loaded here, as a controller that nobody watches (in a job, in a pipe) need not wait for it.
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        from steelyard.cli.screen import Screen

        self._screen = Screen()
        self._bar = Progress(
            TextColumn("{task.fields[what]}", markup=False, table_column=Column(ratio=2, no_wrap=True)),
            BarColumn(bar_width=None, table_column=Column(ratio=2)),
            TextColumn("{task.percentage:3.0f} %   {task.fields[left]}"),
            console=self._screen,
            transient=True,
            expand=True,
        )
        self._task: TaskID | None = None

    def on_start(self, folder: RunFolder, progress: State, seed: int) -> None:
        """The headline, and an empty bar."""
        self._screen.print(headline(folder, progress, seed))
        if self._task is not None:  # of what it was before it was extended
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task("", total=progress.least, completed=progress.done, what="", left="")
        self._bar.start()

    def on_trial_start(self, trial: Trial, number: int, progress: State) -> None:
        """Which trial is running."""
        self._move(progress, trial.describe(GAP))

    def on_trial_end(self, result: Result, message: str, progress: State) -> None:
        """The bar moves; what went wrong stays above it."""
        if not result.is_poolable:
            self._screen.print(f"{result.trial.describe(GAP)}  {_format_outcome(result, message)}")
        self._move(progress, result.trial.describe(GAP))

    def on_wait(self, text: str) -> None:
        """Above the bar."""
        self._screen.print(text)

    def on_warning(self, text: str) -> None:
        """Above the bar."""
        self._screen.print(f"warning: {text}", style="yellow")

    def on_end(self, folder: RunFolder, state: str, reason: str) -> None:
        """The bar goes."""
        self._bar.stop()
        super().on_end(folder, state, reason)

    def _move(self, progress: State, what: str) -> None:
        if self._task is None:
            return
        left = f"{show_span(progress.left)} left" if progress.left is not None else ""
        total = max(progress.least, progress.done)
        self._bar.update(self._task, total=total, completed=progress.done, what=what, left=left)


def headline(folder: RunFolder, progress: State, seed: int) -> str:
    """Which run, how many trials, which seed; and on which hosts."""
    already = f", {progress.done} of them already done" if progress.done else ""
    record = RunRecord(folder)
    where = describe_site(record)
    again = " · disturbed trials are repeated" if record.design.get("disturbed") == "replace" else ""
    told = f"run {folder.id} · {_format_amount(progress)} trials{already}{again} · seed {seed}"
    return f"{told}\n{where}" if where else told


def _format_amount(progress: State) -> str:
    if progress.most == progress.least:
        return str(progress.least)
    return f"{progress.least} to {progress.most}"


def _format_outcome(result: Result, message: str) -> str:
    if result.status == "failed":
        return f"FAILED ({result.category}): {message}"
    if not result.is_poolable:
        return "ok, marked: " + "; ".join(mark.reason for mark in result.marks)
    return "ok"
