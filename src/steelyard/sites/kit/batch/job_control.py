"""Job control from outside: how jobs stand, following one until it is over, ending and suspending it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from steelyard.errors import HostError, ParseFailure, UsageError
from steelyard.sites.kit.batch.job import NODE_FAILED, Job, JobState
from steelyard.sites.kit.batch.scheduler import Scheduler, Suspending
from steelyard.sites.kit.batch.scheduler_calls import SchedulerCalls

_PAUSES_TO_END = 6
"""For so many of the longest pauses between questions, a controller may end in good order: a minute."""


class JobControl:
    """What can be asked of jobs, and done with them, by their ids."""

    def __init__(self, scheduler: Scheduler[Any], calls: SchedulerCalls) -> None:
        self._scheduler, self._calls = scheduler, calls
        self._cancelled: set[str] = set()
        self._missing_since: dict[str, float] = {}  # on the monotonic clock

    # How jobs stand -----------------------------------------------------------------------------------------

    async def fetch_jobs(self, ids: Iterable[str]) -> dict[str, Job]:
        """How jobs stand, by one call of the scheduler (and one more when it has forgotten some).

        A job that it does not know is `lost`. Raises HostError when the scheduler cannot be asked.
        """
        wanted = tuple(dict.fromkeys(ids))
        if not wanted:
            return {}
        by_id = await self._fetch_status(wanted)
        by_id |= await self._fetch_history(self._scheduler.list_missing_jobs(wanted, by_id))
        missing = self._scheduler.list_missing_jobs(wanted, by_id)
        jobs = {identity: by_id.get(identity, Job(identity, JobState.LOST)) for identity in wanted}
        jobs |= {identity: self._explain_missing_job(jobs[identity]) for identity in missing}
        return {identity: await self.add_down_hosts(job, job.hosts) for identity, job in jobs.items()}

    async def fetch_job(self, identity: str) -> Job:
        """How one job stands; for several, `fetch_jobs` costs as much."""
        return (await self.fetch_jobs([identity]))[identity]

    async def follow(self, identity: str) -> AsyncIterator[Job]:
        """The job as it stands, and again whenever that changed, until it is over."""
        before, pause = None, self._calls.first_pause
        while True:
            job = await self.fetch_job(identity)
            if job != before:
                yield job
                before, pause = job, self._calls.first_pause
            if job.state.is_over:
                return
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, self._calls.last_pause)

    async def wait_until(self, identity: str, wanted: Callable[[Job], bool]) -> Job:
        """The job as soon as it is as wanted, or over. A caller that gives up cancels this."""
        job = Job(identity, JobState.LOST)
        async for job in self.follow(identity):
            if wanted(job):
                break
        return job

    async def _fetch_status(self, wanted: Sequence[str]) -> dict[str, Job]:
        argv = self._scheduler.status_argv(wanted)
        answer = await self._calls.ask(argv)
        if answer.has_failed and not self._calls.knows_no_such_job(answer):
            what = f"{self._scheduler.title} does not report the state of the jobs"
            raise HostError(f"{what}: {answer.complaint}")
        parse = self._scheduler.parse_status
        return self._calls.parse_answer(argv, lambda: parse(answer.stdout, time.time()))

    def _explain_missing_job(self, job: Job) -> Job:
        now = time.monotonic()
        seconds = now - self._missing_since.setdefault(job.id, now)
        was_cancelled = job.id in self._cancelled
        return self._scheduler.explain_unrecorded_job(job, seconds, was_cancelled=was_cancelled)

    async def _fetch_history(self, gone: Sequence[str]) -> dict[str, Job]:
        """What the scheduler's records tell of jobs that it has forgotten; nothing of those they lack."""
        argv = self._scheduler.history_argv(gone) if gone else ()
        if not argv:
            return {}
        try:
            answer = await self._calls.ask_once(argv)
            told = not answer.has_failed or self._calls.knows_no_such_job(answer)  # of some perhaps
            return self._scheduler.parse_history(answer.stdout) if told else {}
        except (HostError, ParseFailure):
            return {}  # many sites keep no history, and then the jobs are unknown

    async def add_down_hosts(self, job: Job, hosts: Sequence[str]) -> Job:
        """Name the hosts that are down in what is said of a job that ends because of one.

        By then they may be up again, or the scheduler does not tell; then none is named.
        """
        argv = self._scheduler.down_argv(hosts) if hosts and job.reason == NODE_FAILED else ()
        if not argv:
            return job
        with suppress(HostError):
            answer = await self._calls.ask_once(argv)
            down = [host for host in hosts if host in answer.stdout.split()]
            if down and not answer.has_failed:
                return replace(job, reason=f"{NODE_FAILED} ({', '.join(down)})")
        return job

    # Acting on jobs -----------------------------------------------------------------------------------------

    async def cancel(self, identity: str) -> None:
        """End a job; nothing happens when it is over. Raises HostError, also for a job that nobody knows."""
        job = await self.fetch_job(identity)  # first: scancel says nothing of a job that it does not know
        if job.state is JobState.LOST:
            raise HostError(job.sentence)
        if not job.state.is_over:
            await self._change("cancel", self._scheduler.cancel_argv(identity), identity)
        self._cancelled.add(identity)

    async def end(self, identity: str) -> None:
        """Have a job's controller end in good order; cancel the job when it does not. Raises HostError.

        One that is queued has no controller; Slurm's scancel would wait for one in vain.
        """
        argv = self._scheduler.end_argv(identity)
        queued = (await self.fetch_job(identity)).state is JobState.QUEUED
        if argv and not queued and not (await self._calls.ask(argv)).has_failed:
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSES_TO_END * self._calls.last_pause):
                    await self.wait_until(identity, lambda job: job.state.is_over)
                    return
        await self.cancel(identity)

    async def suspend(self, identity: str) -> None:
        """Stop a running job, or hold a queued one.

        Raises UsageError, before anything is asked, when the scheduler cannot suspend; HostError, also when
        that is not allowed.
        """
        scheduler = self._require_suspending(identity)
        job = await self._fetch_unfinished_job(identity)
        if job.state is not JobState.SUSPENDED:
            await self._change("suspend", scheduler.suspend_argv(job), identity)
            await self._wait_for_change(job)

    async def resume(self, identity: str) -> None:
        """Let a suspended or held job go on. Raises as `suspend` does."""
        scheduler = self._require_suspending(identity)
        job = await self._fetch_unfinished_job(identity)
        if job.state is not JobState.RUNNING:
            await self._change("resume", scheduler.resume_argv(job), identity)
            await self._wait_for_change(job)

    async def _wait_for_change(self, before: Job) -> None:
        """For a moment: some schedulers show a job as it was until its host has answered."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._calls.last_pause):
                await self.wait_until(
                    before.id, lambda job: (job.state, job.reason) != (before.state, before.reason)
                )

    def _require_suspending(self, identity: str) -> Suspending:
        if isinstance(self._scheduler, Suspending):
            return self._scheduler
        hint = "wait until it has finished, or `steelyard cancel` it: `steelyard resume` continues the run"
        what = f"{self._scheduler.title} can neither suspend nor hold jobs: job {identity} was left as it is"
        raise UsageError(what, hint=hint)

    async def _fetch_unfinished_job(self, identity: str) -> Job:
        job = await self.fetch_job(identity)
        if job.state.is_over:
            raise HostError(job.sentence)
        return job

    async def _change(self, what: str, argv: tuple[str, ...], identity: str) -> None:
        answer = await self._calls.ask(argv)
        if answer.has_failed and not (await self.fetch_job(identity)).state.is_over:
            hint = "some schedulers allow this only to operators" if what != "cancel" else ""
            raise HostError(
                f"{self._scheduler.title} did not {what} job {identity}: {answer.complaint}", hint=hint
            )
