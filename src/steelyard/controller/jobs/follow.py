"""Follow a run that goes on in a job: its journal lies on a file system that both sides see."""

from __future__ import annotations

import asyncio
from typing import Any

from steelyard.controller.design_document import load_experiment
from steelyard.controller.jobs.run_job import RunJob
from steelyard.controller.observer import Observer, Progress
from steelyard.controller.signals import catch_signals
from steelyard.design import Design, Results
from steelyard.errors import HostError, Interrupted
from steelyard.sites.kit.batch.job import Job, JobState
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord, parse_trial
from steelyard.store.tail import Tail

LOOK_EVERY = 0.5
ASK_LEAST, ASK_MOST = 1.0, 20.0
"""How often the scheduler is asked, in seconds: the longer it stays the same, the less often."""


class Follower:
    """Tells an observer what happens to a run in a job."""

    def __init__(self, folder: RunFolder, observer: Observer) -> None:
        self.folder, self.observer = folder, observer
        self._tail = Tail(folder.journal)
        record = RunRecord(folder)
        experiment = load_experiment(record)
        self._design, self._results = Design(experiment, record.seed), Results()
        self._told, self._ended = "", False
        self._state, self._reason = "", ""

    async def follow(self) -> None:
        """Return when the run is complete. Raises HostError when it failed, or its job ended before it,
        Interrupted when it was stopped, or we were: then the job goes on.
        """
        with catch_signals():
            try:
                await self._wait_until_ended()
            except asyncio.CancelledError:
                hint = f"`steelyard cancel {self.folder.id}` cancels it, `status` shows its progress"
                raise Interrupted(f"run {self.folder.id} continues in its job", hint=hint) from None
        hint = f"`steelyard resume {self.folder.id}` continues it"
        if self._state == "failed":
            raise HostError(self._reason, hint=hint)
        if self._state in ("interrupted", "cancelled"):
            raise Interrupted(f"run {self.folder.id} was {self._state}: {self._reason}", hint=hint)

    async def _wait_until_ended(self) -> None:
        pause = ASK_LEAST
        due = 0.0
        loop = asyncio.get_running_loop()
        while not self._poll_journal():
            if loop.time() >= due:
                pause = min(pause * 1.5, ASK_MOST) if not await self._poll_scheduler() else ASK_LEAST
                due = loop.time() + pause
            await asyncio.sleep(LOOK_EVERY)

    def _poll_journal(self) -> bool:
        for line in self._tail.read_new_lines():
            self._report_line(line)
        return self._ended

    def _report_line(self, line: dict[str, Any]) -> None:
        match line["kind"]:
            case "run-resumed":
                self._ended = False
                self.observer.on_start(self.folder, self._progress(), self._design.seed)
            case "trial-ended" if not line.get("retried"):
                record = parse_trial(line)
                self._results.add(record.result)
                self.observer.on_trial_end(record.result, record.message, self._progress())
            case "warning":
                self.observer.on_warning(str(line["text"]))
            case "run-submitted":
                self._ended = False
            case "run-ended":
                self._ended = line.get("next") is None
                self._state, self._reason = str(line["state"]), str(line["reason"])
                if self._ended:
                    self.observer.on_end(self.folder, self._state, self._reason)

    async def _poll_scheduler(self) -> bool:
        """Ask the scheduler; whether it has something new to say."""
        job = await RunJob(RunRecord(self.folder)).query()
        if job.state.is_over and not self._poll_journal():
            await asyncio.sleep(
                2 * LOOK_EVERY
            )  # the last lines may still be on their way through the file server
            if not self._poll_journal():
                raise self._make_job_error(job)
        if job.sentence == self._told:
            return False
        self._told = job.sentence
        self.observer.on_wait(job.sentence)
        return True

    def _make_job_error(self, job: Job) -> HostError | Interrupted:
        hint = f"see {self.folder.job_log}; `steelyard resume {self.folder.id}` continues, nothing is lost"
        if job.state is JobState.CANCELLED:
            return Interrupted(f"{job.sentence}, but run {self.folder.id} is not complete", hint=hint)
        return HostError(f"{job.sentence}, but run {self.folder.id} is not complete", hint=hint)

    def _progress(self) -> Progress:
        least, most = self._design.count_trials(self._results)
        return Progress(len(self._results), self._results.failed, least, most, None)
