"""Submission: from the words of a Steelyard command to a job that is queued."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from steelyard.errors import HostError
from steelyard.sites._batch_options import BatchOptionsT
from steelyard.sites._job import JobRequest
from steelyard.sites._job_control import JobControl
from steelyard.sites._script import job_name, job_script

AT_ONCE = 4


class Submission(JobControl[BatchOptionsT]):
    """Three steps: a `request` says what is asked for, its `script` what runs, `submit` queues it."""

    def request(
        self,
        name: str,
        arguments: Sequence[str],
        *,
        hosts: int,
        output: Path,
        working_directory: Path,
        environment: Mapping[str, str] | None = None,
    ) -> JobRequest:
        """A job that runs `steelyard ARGUMENTS…` with all that the site's options say."""
        chosen = self.chosen
        return JobRequest(
            name=job_name(name),
            argv=(chosen.python or sys.executable, "-m", "steelyard", *arguments),
            hosts=chosen.nodes or hosts,
            seconds=float(chosen.time),
            output=output.absolute(),
            working_directory=working_directory.absolute(),
            partition=chosen.queue,
            account=chosen.account,
            qos=chosen.qos,
            reservation=chosen.reservation,
            exclusive=chosen.exclusive,
            environment=dict(environment or {}),
            passed_through=chosen.options,
        )

    def script(self, request: JobRequest) -> str:
        """The job's script. Raises UsageError."""
        shell = self.chosen.shell or ("/bin/bash -l" if self.chosen.setup else "/bin/sh")
        return job_script(request, shell, self.chosen.setup, self.script_prelude(request))

    async def submit(self, request: JobRequest) -> str:
        """Queue a job; its id. Raises HostError with the scheduler's own words.

        It is tried again only while the scheduler cannot be reached: a job whose submission was not confirmed
        may be queued all the same.
        """
        argv = self.submit_argv(request)
        answer = await self._ask(argv, stdin=self.script(request), again_after_silence=False)
        if answer.code is None:
            hint = f"it may have queued the job all the same: look for '{request.name}' before trying again"
            raise HostError(f"{self.title} did not confirm the job in time ({argv[0]})", hint=hint)
        if answer.failed:
            hint = (
                "nothing was submitted; `options`, `queue`, `time`, `nodes` of the site say what is asked for"
            )
            raise HostError(f"{self.title} refused the job: {answer.complaint}", hint=hint)
        return self._parsed(argv, lambda: self.submitted(answer.stdout))

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
            await asyncio.gather(*map(self.cancel, queued), return_exceptions=True)
            raise wrong[0]
        return queued
