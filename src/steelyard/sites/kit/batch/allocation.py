"""The allocation, seen from inside the job: its hosts and the ways to them, the time left, what ends it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from steelyard.errors import HostError, ParseFailure
from steelyard.hosts.base import Host
from steelyard.hosts.connect import connect_all
from steelyard.hosts.lease import Lease
from steelyard.hosts.local import LocalHost
from steelyard.hosts.shell import ShellHost
from steelyard.hosts.token import Token
from steelyard.sites.kit.batch.job import NODE_FAILED
from steelyard.sites.kit.batch.job_control import JobControl
from steelyard.sites.kit.batch.scheduler import Scheduler
from steelyard.sites.kit.batch.scheduler_calls import SchedulerCalls
from steelyard.sites.kit.batch.script import ENDS

FAILURE_WITHIN = 1.0
"""Seconds that a job which is being ended may spend on asking why."""


class Allocation:
    """What a controller inside a job knows of its hosts, and how it drives them.

    `site` is the site's name on the command line.
    """

    def __init__(self, site: str, scheduler: Scheduler[Any], calls: SchedulerCalls, jobs: JobControl) -> None:
        self._site, self._scheduler, self._calls, self._jobs = site, scheduler, calls, jobs

    def current_job(self) -> str | None:
        """The id of the job of this scheduler that this process belongs to; None outside of any."""
        return self._scheduler.own_job(os.environ)

    def list_hosts(self) -> tuple[str, ...]:
        """The names of the job's hosts, in the scheduler's order. Raises HostError."""
        if self.current_job() is None:
            hint = f"`steelyard run --site {self._site}` submits a job"
            raise HostError(f"this process is not in a {self._scheduler.title} job", hint=hint)
        try:
            file = self._scheduler.host_file(os.environ)
            return self._scheduler.parse_hosts(os.environ, file.read_text() if file else "")
        except (OSError, ParseFailure) as error:
            raise HostError(
                f"the hosts of {self._scheduler.title} job {self.current_job()} are unknown: {error}"
            ) from error

    async def fetch_seconds_left(self) -> float | None:
        """How long this job may still run; None when that is unlimited, or nobody knows.

        The scheduler is asked, since its operator may have changed it; when it does not answer, what the job
        script noted when it began.
        """
        own = self.current_job()
        try:
            job = await self._jobs.fetch_job(own) if own else None
        except HostError:
            job = None
        if job and job.start_time and job.limit:
            return job.start_time + job.limit - time.time()
        noted = os.environ.get(ENDS, "")
        return int(noted) - time.time() if noted.isdecimal() else None

    async def describe_failure(self) -> str:
        """`Slurm ends job 17: a node failed (n3)`; nothing when the job ends for another reason."""
        own = self.current_job()
        if own is None:
            return ""
        with suppress(HostError, TimeoutError):
            async with asyncio.timeout(FAILURE_WITHIN):
                job = await self._jobs.add_down_hosts(await self._jobs.fetch_job(own), self.list_hosts())
                if job.reason.startswith(NODE_FAILED):
                    return f"{self._scheduler.title} ends job {job.id}: {job.reason}"
        return ""

    @asynccontextmanager
    async def lease(self, token: Token, log: Path, hosts: int | None) -> AsyncIterator[tuple[Host, ...]]:
        """The first hosts of the allocation; the one that we are on is driven directly."""
        names = self.list_hosts()
        if hosts is not None and hosts > len(names):
            hint = f"request more: nodes: {hosts} in sites.yaml, or --site {self._site}:{hosts}"
            have = (
                f"{self._scheduler.title} job {self.current_job()} has {len(names)}: {', '.join(names[:8])}"
            )
            raise HostError(f"{hosts} hosts were requested, but {have}", hint=hint)
        options = names[:hosts]
        addresses = await self._resolve_addresses(options)
        here = self._scheduler.own_host(os.environ, options)
        remote = {
            name: self._make_remote_host(name, addresses[name], token, log)
            for name in options
            if name != here
        }
        async with AsyncExitStack() as stack:
            opened: dict[str, Host] = dict(remote)
            if here:  # it needs no step of the scheduler
                lease = await stack.enter_async_context(Lease.open(token, log=log))
                opened[here] = LocalHost(lease, here, addresses[here])
            await stack.enter_async_context(connect_all(tuple(remote.values())))
            yield tuple(opened[name] for name in options)

    def _make_remote_host(self, name: str, address: str, token: Token, log: Path) -> ShellHost:
        transport = self._scheduler.transport(self.current_job() or "", name, address)
        return ShellHost(transport, token, log, shares_files=True)

    async def _resolve_addresses(self, hosts: Sequence[str]) -> dict[str, str]:
        """Names, since what a host's own name stands for there may be a loopback address."""
        addresses = {host: host for host in hosts}
        argv = self._scheduler.addresses_argv(hosts)
        if argv and not all(await asyncio.gather(*map(_is_resolvable, hosts))):
            answer = await self._calls.ask(argv)
            if not answer.has_failed:
                parse = self._scheduler.parse_addresses
                addresses |= self._calls.parse_answer(argv, lambda: parse(answer.stdout))
        return addresses


async def _is_resolvable(name: str) -> bool:
    """Whether a name stands for an address on this machine."""
    try:
        return bool(await asyncio.get_running_loop().getaddrinfo(name, None))
    except OSError:
        return False
