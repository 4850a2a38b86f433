"""Drive a whole run: ask the design, execute trials, keep the journal."""

from __future__ import annotations

import asyncio
import time

from steelyard.controller.context import RunContext
from steelyard.controller.control.steering import Steering
from steelyard.controller.jobs.limit import TimeLimit
from steelyard.controller.observer import Progress
from steelyard.controller.trial.data import TrialData
from steelyard.controller.trial.record import describe_end
from steelyard.controller.trial.runner import TrialRunner
from steelyard.design import Design
from steelyard.errors import StoreFull
from steelyard.model.trial import Result, Trial

SIGNAL_FOLLOWS, SIGNAL_MAY_FOLLOW = 10.0, 1.0
"""Seconds for which a signal is waited for that ends us, where somebody cancelled the run, and in a job."""


class TrialLoop:
    """The loop over the trials of a session; `design` wants those that are left for it."""

    def __init__(
        self, context: RunContext, design: Design, runner: TrialRunner, limit: TimeLimit, steering: Steering
    ) -> None:
        self._steering = steering
        self._context, self._design, self._runner, self._limit = context, design, runner, limit
        self._results = context.results
        self._failed = self._results.failed
        self._warned: set[str] = set()
        self._began = time.monotonic()
        self._done_before = len(self._results)

    async def run(self, first_number: int) -> str:
        """Execute what the design wants. How it ended: `complete`, `budget`, `time-limit` or `extended`."""
        number = first_number
        while batch := self._design.next(self._results):
            for trial in batch:
                _stop_if_cancelled()
                await self._steering.wait_while_suspended()
                if self._steering.is_extended:
                    return "extended"
                if self._limit.is_reached:
                    return "time-limit"
                number = await self._run_with_retries(trial, number) + 1
        if self._steering.is_extended:
            return "extended"
        self._steering.close_trials()
        return "budget" if self._design.is_out_of_budget(self._results) else "complete"

    def progress(self) -> Progress:
        """How far it is."""
        done = len(self._results)
        least, most = self._design.count_trials(self._results)
        here = done - self._done_before
        pace = (time.monotonic() - self._began) / here if here else None
        left = pace * max(0, least - done) if pace is not None else None
        return Progress(done, self._failed, least, most, left)

    async def _run_with_retries(self, trial: Trial, number: int) -> int:
        """Execute a trial, again after failures that the file says to retry. The last number used."""
        retry = self._context.experiment.retry
        for attempt in range(1, 2 + (retry.times if retry else 0)):
            self._context.observer.on_trial_start(trial, number, self.progress())
            result, data = await self._runner.execute(trial, number, attempt)
            if result.status == "failed":
                await self._wait_for_signal()
            again = retry is not None and result.category in retry.on and attempt <= retry.times
            self._end(result, data, again=again)
            self._limit.record_duration(result.seconds)
            if not again:
                break
            number += 1
        return number

    async def _wait_for_signal(self) -> None:
        """Whoever ends a job signals all its processes, and ours may be the last to be heard.

        Then the trial was cut off and is no failure: it is made again by who goes on with the run.
        """
        if self._context.folder.canceller():
            await asyncio.sleep(SIGNAL_FOLLOWS)
            raise asyncio.CancelledError
        if self._context.site.site.current_job():
            await asyncio.sleep(SIGNAL_MAY_FOLLOW)

    def _end(self, result: Result, data: TrialData, *, again: bool) -> None:
        for text in data.warnings:
            self._warn(text)
        failed = self._failed + (result.status == "failed" and not again)
        counts = {"done": len(self._results) + (not again), "failed": failed}
        retried = {"retried": True} if again else {}
        self._context.note("trial-ended", sync=True, **describe_end(result, data), **counts, **retried)
        if not again:
            self._results.add(result)  # after its line is on the disk, so that memory never knows more
            self._failed = failed
        message = data.failure.message if data.failure else ""
        if again and self._context.experiment.retry:
            message += f"; retry {data.attempt.count} of {self._context.experiment.retry.times} follows"
        self._context.observer.on_trial_end(result, message, self.progress())
        self._check_space(result)

    def _check_space(self, result: Result) -> None:
        """After a trial that found the store full, go on only when there is room again."""
        journal = self._context.writer.journal
        if (result.category != "store-full" and journal.has_reserve) or journal.has_room():
            return
        hint = "free some space, then run `steelyard resume last`; finished trials are safe"
        raise StoreFull(f"the store {self._context.writer.folder.path} is full", hint=hint)

    def _warn(self, text: str) -> None:
        """Tell and record something once."""
        if text not in self._warned:
            self._warned.add(text)
            self._context.warn(text)


def _stop_if_cancelled() -> None:
    """Should something have swallowed the cancellation of this task, here it ends nevertheless."""
    task = asyncio.current_task()
    if task and task.cancelling():
        raise asyncio.CancelledError
