"""What all batch schedulers share: submitting, asking, polling, ending, and the hosts of an allocation.

A backend, the file of one scheduler, is a handful of pure builders and parsers (below, under "The backend");
this base makes all calls. The user's command submits one job, whose script becomes a controller inside the
allocation; there `lease` hands out the allocation's hosts.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal, Protocol, TypeVar

from pydantic import AliasChoices, Field

from steelyard.errors import HostError, ParseFailure
from steelyard.remote.base import Host
from steelyard.remote.call import Answer, call
from steelyard.remote.lease import Lease
from steelyard.remote.local import LocalHost
from steelyard.remote.piped import PipedTransport
from steelyard.remote.shell import ShellHost
from steelyard.remote.together import together
from steelyard.remote.token import Token
from steelyard.remote.transport import Transport
from steelyard.sites._job import NODE_FAILED, Job, JobRequest, JobState
from steelyard.sites._script import ENDS, job_name, job_script
from steelyard.sites.base import Capability, Site, SiteOptions
from steelyard.units import Duration

HOUR = Duration(3600)
AT_ONCE = 4
FAILURE_WITHIN = 1.0
"""Seconds that a job which is being ended may spend on asking why."""


class Caller(Protocol):
    """Runs a scheduler's command; `steelyard.remote.call.call`, or a stand-in."""

    def __call__(
        self, argv: Sequence[str], *, stdin: str | None = None, env: Mapping[str, str] | None = None
    ) -> Awaitable[Answer]:
        """What the command said. Raises HostError when it is missing."""


class BatchOptions(SiteOptions):
    """What every batch scheduler can be told. All of it may stand in `sites.yaml`."""

    nodes: int | None = Field(
        None, ge=1, description="How many hosts; by default what the largest cell needs."
    )
    time: Duration = Field(HOUR, description="Time limit of a job, for example 2h; schedulers count minutes.")
    queue: str = Field(
        "", validation_alias=AliasChoices("queue", "partition"), description="Queue or partition."
    )
    account: str = Field("", description="Account or project that is charged.")
    qos: str = Field("", description="Quality of service, or service class.")
    reservation: str = Field("", description="Name of an advance reservation.")
    exclusive: bool = Field(True, description="Whole hosts: the work of others would disturb.")
    options: tuple[str, ...] = Field(
        (), description='Further words for the submit command: ["--constraint=ib"].'
    )
    setup: tuple[str, ...] = Field((), description="Lines of shell run in the job first, as `module load …`.")
    shell: str = Field("", description="Shell of the job script: /bin/sh, with `setup` a bash login shell.")
    split: Literal["by-hosts"] | None = Field(
        None, description="by-hosts: one job after the other for each number of hosts, so that none is idle."
    )
    launcher: str = Field("", description="How ranks are started: mpirun, srun, jsrun, blaunch, pbsdsh.")
    python: str = Field(
        "", description="Python that runs Steelyard in the job; by default the one that submits."
    )


BatchOptionsT = TypeVar("BatchOptionsT", bound=BatchOptions)
Understood = TypeVar("Understood")


class BatchSite(Site[BatchOptionsT]):
    """Base of all batch sites. Waits and patience are in seconds.

    `caller` runs the scheduler's commands. `patience`: for how long a scheduler may be out of reach.
    `first_pause`, `last_pause`: between two looks at a job; pauses grow while nothing changes.
    """

    options = BatchOptions
    by_job = True
    count_option = "nodes"
    caller: Caller = staticmethod(call)
    patience: float = 60.0
    first_pause: float = 0.2
    last_pause: float = 10.0

    # The backend --------------------------------------------------------------------------------------------

    title: ClassVar[str]  # how people call it: Slurm
    drops: ClassVar[tuple[str, ...]] = ()  # beginnings of variables that would change what its commands do
    keeps: ClassVar[tuple[str, ...]] = ()  # variables that are kept all the same
    unknown: ClassVar[re.Pattern[str]]  # how it says that it does not know a job
    unreachable: ClassVar[
        re.Pattern[str]
    ]  # how it says that it did not get to it, so that nothing has happened

    @abstractmethod
    def submit_argv(self, request: JobRequest) -> tuple[str, ...]:
        """The submit command; the script comes on its standard input."""

    @abstractmethod
    def submitted(self, stdout: str) -> str:
        """The job's id. Raises ParseFailure."""

    @abstractmethod
    def status_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """One command that describes all these jobs."""

    @abstractmethod
    def parse_status(self, stdout: str, now: float) -> dict[str, Job]:
        """The jobs that it describes, more than asked for perhaps. Raises ParseFailure."""

    def forgotten(self, wanted: Iterable[str], found: Mapping[str, Job]) -> list[str]:
        """The jobs for which `history_argv` is to be asked."""
        return [identity for identity in wanted if identity not in found]

    def history_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """A command that describes jobs which the scheduler has forgotten; empty when there is none."""
        return ()

    def parse_history(self, stdout: str) -> dict[str, Job]:
        """As `parse_status`, for `history_argv`."""
        return {}

    def down_argv(self, hosts: Sequence[str]) -> tuple[str, ...]:
        """A command that prints the names of those of these hosts that are down; empty when there is none."""
        return ()

    @abstractmethod
    def cancel_argv(self, identity: str) -> tuple[str, ...]:
        """The command that ends a job, whatever its state."""

    def end_argv(self, identity: str) -> tuple[str, ...]:
        """The command that asks only the controller of a running job to end; empty where there is none.

        A scheduler that cancels a job ends all its steps at once, and the controller would see lost hosts.
        """
        return ()

    @abstractmethod
    def suspend_argv(self, job: Job) -> tuple[str, ...]:
        """The command that stops a running job, or holds one that is queued."""

    @abstractmethod
    def resume_argv(self, job: Job) -> tuple[str, ...]:
        """The opposite."""

    @abstractmethod
    def own_job(self, environment: Mapping[str, str]) -> str | None:
        """The id of the job that a process with this environment belongs to."""

    def host_file(self, environment: Mapping[str, str]) -> Path | None:
        """The file in which the job's hosts stand, for schedulers that write one."""
        return None

    @abstractmethod
    def allocated(self, environment: Mapping[str, str], content: str) -> tuple[str, ...]:
        """The job's hosts in the scheduler's order; `content` is that of `host_file`. Raises ParseFailure."""

    def here(self, environment: Mapping[str, str], hosts: Sequence[str]) -> str | None:
        """Which of the job's hosts this machine is; None when none of them is recognised."""
        own = os.uname().nodename.partition(".")[0]
        return next((host for host in hosts if host.partition(".")[0] == own), None)

    def addresses_argv(self, hosts: Sequence[str]) -> tuple[str, ...]:
        """A command that tells the addresses of hosts whose names mean nothing here; empty for none."""
        return ()

    def parse_addresses(self, stdout: str) -> dict[str, str]:
        """Address by host, from `addresses_argv`."""
        return {}

    def step(self, host: str, identity: str) -> tuple[str, ...]:
        """What starts a program on a host of the job and passes its three streams; its words follow."""
        raise NotImplementedError

    def transport(self, name: str, address: str) -> Transport:
        """The way to a host of the job."""
        return PipedTransport(name, address, self.step(name, self.inside() or ""))

    def before(self, request: JobRequest) -> tuple[str, ...]:
        """Lines of shell that prepare what the scheduler itself cannot: a warning before the time limit."""
        return ()

    # Jobs ---------------------------------------------------------------------------------------------------

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
        return job_script(request, shell, self.chosen.setup, self.before(request))

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
        return self._understood(argv, lambda: self.submitted(answer.stdout))

    async def submit_all(self, requests: Iterable[JobRequest]) -> tuple[str, ...]:
        """Queue several jobs, or none: when one is refused, those that are queued already are cancelled.

        A few calls are under way at once; schedulers spend most of the time of one waiting.
        """
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(request: JobRequest) -> str:
            async with gate:
                return await self.submit(request)

        found = await asyncio.gather(*map(one, requests), return_exceptions=True)
        queued = tuple(identity for identity in found if isinstance(identity, str))
        wrong = [error for error in found if isinstance(error, BaseException)]
        if wrong:
            await asyncio.gather(*map(self.cancel, queued), return_exceptions=True)
            raise wrong[0]
        return queued

    async def jobs(self, ids: Iterable[str]) -> dict[str, Job]:
        """How jobs stand, by one call of the scheduler (and one more when it has forgotten some).

        A job that it does not know is `lost`. Raises HostError when the scheduler cannot be asked.
        """
        wanted = tuple(dict.fromkeys(ids))
        if not wanted:
            return {}
        argv = self.status_argv(wanted)
        answer = await self._ask(argv)
        if answer.failed and not self.unknown.search(answer.stderr + answer.stdout):
            raise HostError(f"{self.title} does not tell how the jobs stand: {answer.complaint}")
        found = self._understood(argv, lambda: self.parse_status(answer.stdout, time.time()))
        found |= await self._history(self.forgotten(wanted, found))
        jobs = [found.get(identity, Job(identity, JobState.LOST)) for identity in wanted]
        return {job.id: await self._blamed(job, job.hosts) for job in jobs}

    async def job(self, identity: str) -> Job:
        """How one job stands; for several, `jobs` costs as much."""
        return (await self.jobs([identity]))[identity]

    async def follow(self, identity: str) -> AsyncIterator[Job]:
        """The job as it stands, and again whenever that changed, until it is over."""
        before, pause = None, self.first_pause
        while True:
            job = await self.job(identity)
            if job != before:
                yield job
                before, pause = job, self.first_pause
            if job.state.over:
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

    async def cancel(self, identity: str) -> None:
        """End a job; nothing happens when it is over. Raises HostError, also for a job that nobody knows."""
        job = await self.job(
            identity
        )  # asked first, since scancel says nothing of a job that it does not know
        if job.state is JobState.LOST:
            raise HostError(job.sentence)
        if not job.state.over:
            await self._change("cancel", self.cancel_argv(identity), identity)

    async def end(self, identity: str) -> None:
        """Have a job's controller end in good order; cancel the job when it does not. Raises HostError."""
        argv = self.end_argv(identity)
        if argv and not (await self._ask(argv)).failed:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.last_pause):
                    await self.wait_until(identity, lambda job: job.state.over)
                    return
        await self.cancel(identity)

    async def suspend(self, identity: str) -> None:
        """Stop a running job, or hold a queued one. Raises HostError, also when that is not allowed."""
        job = await self._present(identity)
        if job.state is not JobState.SUSPENDED:
            await self._change("suspend", self.suspend_argv(job), identity)

    async def resume(self, identity: str) -> None:
        """Let a suspended or held job go on. Raises HostError."""
        job = await self._present(identity)
        if job.state is not JobState.RUNNING:
            await self._change("resume", self.resume_argv(job), identity)

    # Inside a job -------------------------------------------------------------------------------------------

    def inside(self) -> str | None:
        """The id of the job of this scheduler that this process belongs to; None outside of any."""
        return self.own_job(os.environ)

    def allocation(self) -> tuple[str, ...]:
        """The names of the job's hosts, in the scheduler's order. Raises HostError."""
        if self.inside() is None:
            hint = f"`steelyard run --site {type(self).__name__.lower()}` submits one"
            raise HostError(f"this process is not in a job of {self.title}", hint=hint)
        try:
            file = self.host_file(os.environ)
            return self.allocated(os.environ, file.read_text() if file else "")
        except (OSError, ParseFailure) as error:
            raise HostError(
                f"the hosts of job {self.inside()} of {self.title} are unknown: {error}"
            ) from error

    def size(self) -> int | None:
        """The hosts of the allocation; outside of one as many as the options name, or as are asked for."""
        return len(self.allocation()) if self.inside() else self.chosen.nodes

    def launcher(self) -> str:
        """As its options say, else Open MPI's, which finds the scheduler by itself."""
        return self.chosen.launcher or "mpirun"

    def capabilities(self) -> frozenset[Capability]:
        """The store lies on a file system that all hosts share."""
        return frozenset({"shared-files"})

    async def seconds_left(self) -> float | None:
        """How long this job may still run; None when that is unlimited, or nobody knows.

        The scheduler is asked, since its operator may have changed it; when it does not answer, what the job
        script noted when it began.
        """
        own = self.inside()
        try:
            job = await self.job(own) if own else None
        except HostError:
            job = None
        if job and job.started and job.limit:
            return job.started + job.limit - time.time()
        noted = os.environ.get(ENDS, "")
        return int(noted) - time.time() if noted.isdecimal() else None

    async def failure(self) -> str:
        """`Slurm ends job 17: a node failed (n3)`; nothing when the job ends for another reason."""
        own = self.inside()
        with suppress(HostError, TimeoutError):
            async with asyncio.timeout(FAILURE_WITHIN):
                job = await self._blamed(await self.job(own), self.allocation()) if own else None
                if job and job.reason.startswith(NODE_FAILED):
                    return f"{self.title} ends job {job.id}: {job.reason}"
        return ""

    @asynccontextmanager
    async def lease(self, token: Token, log: Path, hosts: int | None) -> AsyncIterator[tuple[Host, ...]]:
        """The first hosts of the allocation; the one that we are on is driven directly."""
        names = self.allocation()
        if hosts is not None and hosts > len(names):
            name = type(self).__name__.lower()
            hint = f"submit with more: nodes: {hosts} in sites.yaml, or --site {name}:{hosts}"
            have = f"job {self.inside()} of {self.title} has {len(names)}: {', '.join(names[:8])}"
            raise HostError(f"{hosts} hosts were asked for, but {have}", hint=hint)
        chosen = names[:hosts]
        addresses = await self._addresses(chosen)
        here = self.here(os.environ, chosen)
        far = {name: self._far(name, addresses[name], token, log) for name in chosen if name != here}
        async with AsyncExitStack() as stack:
            opened: dict[str, Host] = dict(far)
            if here:  # it needs no step of the scheduler
                lease = await stack.enter_async_context(Lease.open(token, log=log))
                opened[here] = LocalHost(lease, here, addresses[here])
            await stack.enter_async_context(together(tuple(far.values())))
            yield tuple(opened[name] for name in chosen)

    # How it is done -----------------------------------------------------------------------------------------

    def _far(self, name: str, address: str, token: Token, log: Path) -> ShellHost:
        return ShellHost(self.transport(name, address), token, log, shares_files=True)

    async def _addresses(self, hosts: Sequence[str]) -> dict[str, str]:
        """Names, since what a host's own name stands for there may be a loopback address."""
        found = {host: host for host in hosts}
        argv = self.addresses_argv(hosts)
        if argv and not all(await asyncio.gather(*map(_resolves, hosts))):
            answer = await self._ask(argv)
            if not answer.failed:
                found |= self._understood(argv, lambda: self.parse_addresses(answer.stdout))
        return found

    async def _history(self, gone: Sequence[str]) -> dict[str, Job]:
        argv = self.history_argv(gone) if gone else ()
        if not argv:
            return {}
        try:
            answer = await self.caller(argv, env=self._environment())
            told = not answer.failed or self.unknown.search(answer.stderr + answer.stdout)  # of some perhaps
            return self.parse_history(answer.stdout) if told else {}
        except (HostError, ParseFailure):
            return {}  # many sites keep no history, and then the jobs are unknown

    async def _blamed(self, job: Job, hosts: Sequence[str]) -> Job:
        """Name the hosts that are down in what is said of a job that ends because of one.

        By then they may be up again, or the scheduler does not tell; then none is named.
        """
        argv = self.down_argv(hosts) if hosts and job.reason == NODE_FAILED else ()
        if not argv:
            return job
        with suppress(HostError):
            answer = await self.caller(argv, env=self._environment())
            down = [host for host in hosts if host in answer.stdout.split()]
            if down and not answer.failed:
                return replace(job, reason=f"{NODE_FAILED} ({', '.join(down)})")
        return job

    async def _present(self, identity: str) -> Job:
        job = await self.job(identity)
        if job.state.over:
            raise HostError(job.sentence)
        return job

    async def _change(self, what: str, argv: tuple[str, ...], identity: str) -> None:
        answer = await self._ask(argv)
        if answer.failed and not (await self.job(identity)).state.over:
            hint = "some schedulers let only operators do that" if what != "cancel" else ""
            raise HostError(f"{self.title} did not {what} job {identity}: {answer.complaint}", hint=hint)

    async def _ask(
        self, argv: tuple[str, ...], *, stdin: str | None = None, again_after_silence: bool = True
    ) -> Answer:
        """Call the scheduler, again while it cannot be reached, with growing pauses, until patience ends."""
        deadline, pause = time.monotonic() + self.patience, self.first_pause
        while True:
            answer = await self.caller(argv, stdin=stdin, env=self._environment())
            silent = answer.code is None
            if silent and not again_after_silence:
                return answer
            if not silent and not (answer.failed and self.unreachable.search(answer.stderr + answer.stdout)):
                return answer
            if time.monotonic() + pause > deadline:
                hint = "jobs that are queued or running are not harmed; try again when it is back"
                raise HostError(f"{self.title} cannot be reached: {argv[0]}: {answer.complaint}", hint=hint)
            await asyncio.sleep(pause)
            pause = min(pause * 2, self.last_pause)

    def _understood(self, argv: tuple[str, ...], parse: Callable[[], Understood]) -> Understood:
        try:
            return parse()
        except ParseFailure as error:
            hint = f"is another program called {argv[0]} first on PATH? it is taken for {self.title}'s"
            raise HostError(
                f"{argv[0]} printed what cannot be understood: {error.message}", hint=hint
            ) from error

    def _environment(self) -> dict[str, str]:
        """Ours, in the C locale, without what would filter a list or describe another job of ours."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in self.keeps or not name.startswith((*self.drops, "STEELYARD_TOKEN", "STEELYARD_CHILD"))
        }
        return kept | {"LC_ALL": "C"}


async def _resolves(name: str) -> bool:
    """Whether a name stands for an address on this machine."""
    try:
        return bool(await asyncio.get_running_loop().getaddrinfo(name, None))
    except OSError:
        return False
