"""The base of all batch sites: what Slurm, LSF, PBS, Grid Engine and other schedulers share.

The user's command submits one job, whose script becomes a controller inside the allocation; there `lease`
hands out the allocation's hosts. Where to look:

- `options`: what a user may say of a batch site
- `scheduler`: what the file of one scheduler fills in, builders and parsers; `nodes` helps them
- `scheduler_calls`: calling its commands, patiently
- `submission`: from outside, queueing jobs; `script` is what such a job runs
- `job_control`: from outside, how jobs stand (`job`), following, ending and suspending them
- `engine`: what a workload that submits jobs of its own is handed of a scheduler
- `allocation`: from inside a job, its hosts, the time left, and why it ends
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, ClassVar

from steelyard.hosts.base import Host
from steelyard.hosts.token import Token
from steelyard.model.engine import Engine
from steelyard.sites.base import Capability, Site
from steelyard.sites.kit.batch.allocation import Allocation
from steelyard.sites.kit.batch.engine import SchedulerEngine
from steelyard.sites.kit.batch.job import Job, JobRequest
from steelyard.sites.kit.batch.job_control import JobControl
from steelyard.sites.kit.batch.options import BatchOptions, BatchOptionsT
from steelyard.sites.kit.batch.scheduler import Scheduler
from steelyard.sites.kit.batch.scheduler_calls import SchedulerCalls
from steelyard.sites.kit.batch.script import job_name
from steelyard.sites.kit.batch.submission import Submission


class BatchSite(Site[BatchOptionsT]):
    """A site that has a scheduler, of the subclass's `scheduler_class`, and what works with any of them.

    From outside of jobs, `submission` queues them and `jobs` controls them; from inside, `allocation` is the
    job's. All of them run the scheduler's commands by its `calls`.
    """

    Options = BatchOptions
    is_batch = True
    count_option = "nodes"
    covers: ClassVar[tuple[str, ...]] = ("C4S.26",)
    examples = ({"nodes": 4, "time": "2h"},)
    scheduler_class: ClassVar[type[Scheduler[Any]]]

    def __init__(self, options: BatchOptionsT) -> None:
        super().__init__(options)
        self.scheduler = self.scheduler_class(options)
        self.calls = SchedulerCalls(self.scheduler)
        self.jobs = JobControl(self.scheduler, self.calls)
        self.submission = Submission(self.scheduler, self.calls, self.jobs)
        name = type(self).__name__.lower()
        self.allocation = Allocation(name, self.scheduler, self.calls, self.jobs)

    # From outside of a job ----------------------------------------------------------------------------------

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

    async def submit(self, request: JobRequest) -> str:
        """Queue a job; its id. Raises HostError with the scheduler's own words."""
        return await self.submission.submit(request)

    async def fetch_jobs(self, ids: Iterable[str]) -> dict[str, Job]:
        """How jobs stand; one that the scheduler does not know is `lost`. Raises HostError."""
        return await self.jobs.fetch_jobs(ids)

    async def end(self, identity: str) -> None:
        """Have a job end in good order, or cancel it. Raises HostError."""
        await self.jobs.end(identity)

    async def suspend(self, identity: str) -> None:
        """Stop a running job, or hold a queued one. Raises HostError; UsageError if no job can be."""
        await self.jobs.suspend(identity)

    async def resume(self, identity: str) -> None:
        """Let a suspended or held job go on. Raises HostError; UsageError if no job can be suspended."""
        await self.jobs.resume(identity)

    # From inside a job --------------------------------------------------------------------------------------

    def current_job(self) -> str | None:
        """The id of the job of this scheduler that this process belongs to; None outside of any."""
        return self.allocation.current_job()

    def size(self) -> int | None:
        """The hosts of the allocation; outside of one as many as the options name, or as are asked for."""
        return len(self.allocation.list_hosts()) if self.current_job() else self.options.nodes

    def launcher(self) -> str:
        """As its options say, else Open MPI's, which finds the scheduler by itself."""
        return self.options.launcher or "mpirun"

    def engine(self) -> Engine:
        """Its scheduler's builders and parsers. Raises UsageError, HostError."""
        return SchedulerEngine.of(self.scheduler)

    def capabilities(self) -> frozenset[Capability]:
        """The store lies on a file system that all hosts share."""
        return frozenset({"shared-files"})

    async def fetch_seconds_left(self) -> float | None:
        """How long this job may still run; None when that is unlimited, or nobody knows."""
        return await self.allocation.fetch_seconds_left()

    async def describe_failure(self) -> str:
        """`Slurm ends job 17: a node failed (n3)`; nothing when the job ends for another reason."""
        return await self.allocation.describe_failure()

    def lease(
        self, token: Token, log: Path, hosts: int | None
    ) -> AbstractAsyncContextManager[tuple[Host, ...]]:
        """The first hosts of the allocation; the one that we are on is driven directly."""
        return self.allocation.lease(token, log, hosts)
