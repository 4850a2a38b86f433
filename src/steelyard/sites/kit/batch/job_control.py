"""Job control from outside: how jobs stand, following one until it is over, ending and suspending it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from steelyard.errors import HostError, ParseFailure
from steelyard.sites.kit.batch.job import NODE_FAILED, Job, JobState
from steelyard.sites.kit.batch.options import BatchOptionsT
from steelyard.sites.kit.batch.scheduler_calls import SchedulerCalls


class JobControl(SchedulerCalls[BatchOptionsT]):
    """What can be asked of jobs, and done with them, by their ids."""

    # How jobs stand -----------------------------------------------------------------------------------------

    async def fetch_jobs(self, ids: Iterable[str]) -> dict[str, Job]:
        """How jobs stand, by one call of the scheduler (and one more when it has forgotten some).

        A job that it does not know is `lost`. Raises HostError when the scheduler cannot be asked.
        """
        wanted = tuple(dict.fromkeys(ids))
        if not wanted:
            return {}
        argv = self.status_argv(wanted)
        answer = await self._ask(argv)
        if answer.has_failed and not self.unknown_job_pattern.search(answer.stderr + answer.stdout):
            raise HostError(f"{self.title} does not report the state of the jobs: {answer.complaint}")
        by_id = self._parse_answer(argv, lambda: self.parse_status(answer.stdout, time.time()))
        by_id |= await self._fetch_history(self.list_missing_jobs(wanted, by_id))
        jobs = [by_id.get(identity, Job(identity, JobState.LOST)) for identity in wanted]
        return {job.id: await self._add_down_hosts(job, job.hosts) for job in jobs}

    async def fetch_job(self, identity: str) -> Job:
        """How one job stands; for several, `fetch_jobs` costs as much."""
        return (await self.fetch_jobs([identity]))[identity]

    async def follow(self, identity: str) -> AsyncIterator[Job]:
        """The job as it stands, and again whenever that changed, until it is over."""
        before, pause = None, self.first_pause
        while True:
            job = await self.fetch_job(identity)
            if job != before:
                yield job
                before, pause = job, self.first_pause
            if job.state.is_over:
                return
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, self.last_pause)

    async def wait_until(self, identity: str, wanted: Callable[[Job], bool]) -> Job:
        """The job as soon as it is as wanted, or over. A caller that gives up cancels this."""
        job = Job(identity, JobState.LOST)
        async for job in self.follow(identity):
            if wanted(job):
                break
        return job

    async def _fetch_history(self, gone: Sequence[str]) -> dict[str, Job]:
        """What the scheduler's records tell of jobs that it has forgotten; nothing of those they lack."""
        argv = self.history_argv(gone) if gone else ()
        if not argv:
            return {}
        try:
            answer = await self._ask_once(argv)
            told = not answer.has_failed or self.unknown_job_pattern.search(
                answer.stderr + answer.stdout
            )  # of some perhaps
            return self.parse_history(answer.stdout) if told else {}
        except (HostError, ParseFailure):
            return {}  # many sites keep no history, and then the jobs are unknown

    async def _add_down_hosts(self, job: Job, hosts: Sequence[str]) -> Job:
        """Name the hosts that are down in what is said of a job that ends because of one.

        By then they may be up again, or the scheduler does not tell; then none is named.
        """
        argv = self.down_argv(hosts) if hosts and job.reason == NODE_FAILED else ()
        if not argv:
            return job
        with suppress(HostError):
            answer = await self._ask_once(argv)
            down = [host for host in hosts if host in answer.stdout.split()]
            if down and not answer.has_failed:
                return replace(job, reason=f"{NODE_FAILED} ({', '.join(down)})")
        return job

    # Acting on jobs -----------------------------------------------------------------------------------------

    async def cancel(self, identity: str) -> None:
        """End a job; nothing happens when it is over. Raises HostError, also for a job that nobody knows."""
        job = await self.fetch_job(
            identity
        )  # first, since scancel says nothing of a job that it does not know
        if job.state is JobState.LOST:
            raise HostError(job.sentence)
        if not job.state.is_over:
            await self._change("cancel", self.cancel_argv(identity), identity)

    async def end(self, identity: str) -> None:
        """Have a job's controller end in good order; cancel the job when it does not. Raises HostError.

        One that is queued has no controller; Slurm's scancel would wait for one in vain.
        """
        argv = self.end_argv(identity)
        queued = (await self.fetch_job(identity)).state is JobState.QUEUED
        if argv and not queued and not (await self._ask(argv)).has_failed:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.last_pause):
                    await self.wait_until(identity, lambda job: job.state.is_over)
                    return
        await self.cancel(identity)

    async def suspend(self, identity: str) -> None:
        """Stop a running job, or hold a queued one. Raises HostError, also when that is not allowed."""
        job = await self._fetch_unfinished_job(identity)
        if job.state is not JobState.SUSPENDED:
            await self._change("suspend", self.suspend_argv(job), identity)

    async def resume(self, identity: str) -> None:
        """Let a suspended or held job go on. Raises HostError."""
        job = await self._fetch_unfinished_job(identity)
        if job.state is not JobState.RUNNING:
            await self._change("resume", self.resume_argv(job), identity)

    async def _fetch_unfinished_job(self, identity: str) -> Job:
        job = await self.fetch_job(identity)
        if job.state.is_over:
            raise HostError(job.sentence)
        return job

    async def _change(self, what: str, argv: tuple[str, ...], identity: str) -> None:
        answer = await self._ask(argv)
        if answer.has_failed and not (await self.fetch_job(identity)).state.is_over:
            hint = "some schedulers allow this only to operators" if what != "cancel" else ""
            raise HostError(f"{self.title} did not {what} job {identity}: {answer.complaint}", hint=hint)
