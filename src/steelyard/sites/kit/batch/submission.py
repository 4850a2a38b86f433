"""Submission: from what is asked of a scheduler to a job that is queued."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.errors import HostError
from steelyard.files import write_whole
from steelyard.sites.kit.batch.job import JobRequest
from steelyard.sites.kit.batch.job_control import JobControl
from steelyard.sites.kit.batch.scheduler import Scheduler
from steelyard.sites.kit.batch.scheduler_calls import SchedulerCalls

AT_ONCE = 4


class Submission:
    """Queues jobs; the scheduler's script of a request says what runs."""

    def __init__(self, scheduler: Scheduler[Any], calls: SchedulerCalls, jobs: JobControl) -> None:
        self._scheduler, self._calls, self._jobs = scheduler, calls, jobs

    async def submit(self, request: JobRequest) -> str:
        """Queue a job; its id. Raises HostError with the scheduler's own words.

        It is tried again only while the scheduler cannot be reached: a job whose submission was not confirmed
        may be queued all the same.
        """
        script = self._scheduler.make_script(request)
        if self._scheduler.runs_a_file:
            request = replace(request, script_file=_name_script(request, script))
        argv, given = self._scheduler.submit_argv(request), self._scheduler.submit_input(request, script)
        if request.script_file:
            _write_script(request.script_file, script)
        answer = await self._calls.ask(argv, stdin=given, again_after_silence=False)
        if answer.code is None:
            hint = f"the job may have been queued anyway: look for '{request.name}' before trying again"
            name = self._scheduler.name_command(argv)
            raise HostError(f"{self._scheduler.title} did not confirm the job in time ({name})", hint=hint)
        if answer.has_failed:
            hint = "nothing was submitted; check the site's `options`, `queue`, `time` and `nodes`"
            raise HostError(f"{self._scheduler.title} rejected the job: {answer.complaint}", hint=hint)
        return self._calls.parse_answer(argv, lambda: self._scheduler.parse_job_id(answer.stdout))

    async def submit_all(self, requests: Iterable[JobRequest]) -> tuple[str, ...]:
        """Queue several jobs, or none: when one is refused, those that are queued already are cancelled.

        A few calls are under way at once; schedulers spend most of the time of one waiting.
        """
        gate = asyncio.Semaphore(AT_ONCE)

        async def submit_one(request: JobRequest) -> str:
            async with gate:
                return await self.submit(request)

        outcomes = await asyncio.gather(*map(submit_one, requests), return_exceptions=True)
        queued = tuple(identity for identity in outcomes if isinstance(identity, str))
        wrong = [error for error in outcomes if isinstance(error, BaseException)]
        if wrong:
            await asyncio.gather(*map(self._jobs.cancel, queued), return_exceptions=True)
            raise wrong[0]
        return queued


def _name_script(request: JobRequest, script: str) -> Path:
    """Beside the job's output, which its host sees, too. Equal scripts share a file."""
    return request.output.with_name(f"job-{hashlib.sha256(script.encode()).hexdigest()[:16]}.sh")


def _write_script(path: Path, script: str) -> None:
    try:
        write_whole(path, script.encode(), mode=0o700)
    except OSError as error:
        raise HostError(f"cannot write the job's script {path}: {error.strerror}") from error
