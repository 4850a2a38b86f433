"""Submission: from the words of a Steelyard command to a job that is queued."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from steelyard.errors import HostError
from steelyard.sites.kit.batch.job import JobRequest
from steelyard.sites.kit.batch.job_control import JobControl
from steelyard.sites.kit.batch.options import BatchOptionsT
from steelyard.sites.kit.batch.script import job_name, job_script

AT_ONCE = 4


class Submission(JobControl[BatchOptionsT]):
    """Three steps: a `make_request` says what is asked for, its `script` what runs, `submit` queues it."""

    def make_request(
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
        options = self.options
        return JobRequest(
            name=job_name(name),
            argv=(options.python or sys.executable, "-m", "steelyard", *arguments),
            hosts=options.nodes or hosts,
            seconds=float(options.time),
            output=output.absolute(),
            working_directory=working_directory.absolute(),
            partition=options.queue,
            account=options.account,
            qos=options.qos,
            reservation=options.reservation,
            exclusive=options.exclusive,
            environment=dict(environment or {}),
            extra_options=options.options,
        )

    def script(self, request: JobRequest) -> str:
        """The job's script. Raises UsageError."""
        shell = self.options.shell or ("/bin/bash -l" if self.options.setup else "/bin/sh")
        return job_script(request, shell, self.options.setup, self.script_prelude(request))

    async def submit(self, request: JobRequest) -> str:
        """Queue a job; its id. Raises HostError with the scheduler's own words.

        It is tried again only while the scheduler cannot be reached: a job whose submission was not confirmed
        may be queued all the same.
        """
        argv = self.submit_argv(request)
        answer = await self._ask(argv, stdin=self.script(request), again_after_silence=False)
        if answer.code is None:
            hint = f"the job may have been queued anyway: look for '{request.name}' before trying again"
            raise HostError(f"{self.title} did not confirm the job in time ({argv[0]})", hint=hint)
        if answer.has_failed:
            hint = "nothing was submitted; check the site's `options`, `queue`, `time` and `nodes`"
            raise HostError(f"{self.title} rejected the job: {answer.complaint}", hint=hint)
        return self._parse_answer(argv, lambda: self.parse_job_id(answer.stdout))

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
