"""Drive a whole run: ask the design, execute trials, keep the journal."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from steelyard.controller.jobs.limit import TimeLimit
from steelyard.controller.observer import Observer, Progress
from steelyard.controller.trial.data import TrialData
from steelyard.controller.trial.runner import TrialRunner
from steelyard.design import Design, Results
from steelyard.errors import StoreFull
from steelyard.model.experiment import Experiment
from steelyard.model.trial import Result, Trial
from steelyard.store.writer import RunWriter


class TrialLoop:
    """The loop over trials. `results` holds what earlier sessions of the run finished."""

    def __init__(
        self,
        experiment: Experiment,
        design: Design,
        results: Results,
        runner: TrialRunner,
        writer: RunWriter,
        observer: Observer,
        limit: TimeLimit,
    ) -> None:
        self.experiment, self.design, self.results = experiment, design, results
        self.runner, self.writer, self.observer, self.limit = runner, writer, observer, limit
        self.failed = sum(result.status == "failed" for result in results)
        self._warned: set[str] = set()
        self._began = time.monotonic()
        self._done_before = len(results)

    async def run(self, first_number: int) -> str:
        """Execute what the design wants. How it ended: `complete`, `budget`, or `time-limit`."""
        number = first_number
        while batch := self.design.next(self.results):
            for trial in batch:
                _stop_if_cancelled()
                if self.limit.is_reached:
                    return "time-limit"
                number = await self._run_with_retries(trial, number) + 1
        return "budget" if self.design.is_out_of_budget(self.results) else "complete"

    def progress(self) -> Progress:
        """How far it is."""
        done = len(self.results)
        least, most = self.design.count_trials(self.results)
        here = done - self._done_before
        pace = (time.monotonic() - self._began) / here if here else None
        left = pace * max(0, least - done) if pace is not None else None
        return Progress(done, self.failed, least, most, left)

    async def _run_with_retries(self, trial: Trial, number: int) -> int:
        """Execute a trial, again after failures that the file says to retry. The last number used."""
        retry = self.experiment.retry
        for attempt in range(1, 2 + (retry.times if retry else 0)):
            self.observer.on_trial_start(trial, number, self.progress())
            result, account = await self.runner.execute(trial, number, attempt)
            again = retry is not None and result.category in retry.on and attempt <= retry.times
            self._end(result, account, number, attempt, again=again)
            self.limit.record_duration(result.seconds)
            if not again:
                break
            number += 1
        return number

    def _end(self, result: Result, account: TrialData, number: int, attempt: int, *, again: bool) -> None:
        for text in account.warnings:
            self.warn(text)
        message = account.failure.message if account.failure else ""
        line = self._line(result, account, number, attempt, again)
        self.writer.journal.write("trial-ended", sync=True, **line)
        if not again:
            self.results.add(result)  # after its line is on the disk, so that memory never knows more
            self.failed = line["failed"]
        if again and self.experiment.retry:
            message += f"; retry {attempt} of {self.experiment.retry.times} follows"
        self.observer.on_trial_end(result, message, self.progress())
        self._check_space(result)

    def _line(
        self, result: Result, account: TrialData, number: int, attempt: int, again: bool
    ) -> dict[str, Any]:
        line: dict[str, Any] = {
            "trial": number,
            "attempt": attempt,
            "repetition": result.trial.repetition,
            "parameters": dict(result.trial.cell.parameters),
            "status": result.status,
            "seconds": result.seconds,
            "metrics": dict(result.metrics),
            "marks": [mark.record() for mark in result.marks],
            "done": len(self.results) + (not again),
            "failed": self.failed + (result.status == "failed" and not again),
        }
        if result.on:
            line |= {"copies": result.copies, "on": list(result.on)}
        if account.failure:
            line |= {"category": account.failure.category, "message": account.failure.message}
        if account.short:
            line["short"] = account.short
        if account.bounds:
            line["at_most"] = sorted(account.bounds)
        if account.facts:
            line["facts"] = account.facts
        return line | ({"retried": True} if again else {})

    def _check_space(self, result: Result) -> None:
        """After a trial that found the store full, go on only when there is room again."""
        journal = self.writer.journal
        if (result.category != "store-full" and journal.has_reserve) or journal.has_room():
            return
        hint = "free some space, then run `steelyard resume last`; finished trials are safe"
        raise StoreFull(f"the store {self.writer.folder.path} is full", hint=hint)

    def warn(self, text: str) -> None:
        """Tell and record something once."""
        if text not in self._warned:
            self._warned.add(text)
            self.writer.journal.write("warning", text=text)
            self.observer.on_warning(text)


def _stop_if_cancelled() -> None:
    """Should something have swallowed the cancellation of this task, here it ends nevertheless."""
    task = asyncio.current_task()
    if task and task.cancelling():
        raise asyncio.CancelledError
