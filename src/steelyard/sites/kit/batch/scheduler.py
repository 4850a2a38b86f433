"""What Steelyard must know of one scheduler: its commands, how it answers, and the hosts of its jobs.

This is all that the file of a scheduler fills in. It calls nothing and remembers nothing: builders (`…_argv`)
make the words of a command, parsers read what it printed; `scheduler_calls` runs it.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Generic, Protocol, runtime_checkable

from steelyard.errors import ParseFailure
from steelyard.hosts.transport import Transport
from steelyard.sites.kit.batch.job import Job, JobRequest
from steelyard.sites.kit.batch.options import BatchOptionsT
from steelyard.sites.kit.batch.script import job_script


def select_options(request: JobRequest, **options: str) -> tuple[str, ...]:
    """The words of what a request sets, such as `-q short`; `options` are the scheduler's by attribute."""
    values = {option: getattr(request, name) for name, option in options.items()}
    return tuple(word for option, value in values.items() if value for word in (option, value))


@runtime_checkable
class Suspending(Protocol):
    """A scheduler that can suspend jobs: a capability, which a scheduler has that defines both builders."""

    def suspend_argv(self, job: Job) -> tuple[str, ...]:
        """The command that stops a running job, or holds one that is queued."""

    def resume_argv(self, job: Job) -> tuple[str, ...]:
        """The opposite."""


@runtime_checkable
class NamesJobs(Protocol):
    """A scheduler that finds a user's own jobs by their name: a capability, as is suspending."""

    def unfinished_argv(self, name: str) -> tuple[str, ...]:
        """The command that prints the ids of those of this name that are not over, a line each."""

    def cancel_named_argv(self, name: str) -> tuple[str, ...]:
        """The command that ends all of them, whatever their states; it may fail where there are none."""


class Scheduler(ABC, Generic[BatchOptionsT]):
    """The contract of a scheduler's file. What is abstract it must write, the rest where it differs.

    `options` are those of its site. A scheduler that can suspend jobs is `Suspending` as well, one that finds
    them by name `NamesJobs`.
    """

    title: ClassVar[str]  # how people call it: Slurm
    env_filter_prefixes: ClassVar[
        tuple[str, ...]
    ] = ()  # beginnings of variables that would change what its commands do
    env_filter_exceptions: ClassVar[tuple[str, ...]] = ()  # variables that are kept all the same
    job_id_pattern: ClassVar[re.Pattern[str]]
    """Where in the answer to a submission the job's id stands: its first group."""
    unknown_job_pattern: ClassVar[re.Pattern[str]]
    """How it says that it does not know a job."""
    unreachable_pattern: ClassVar[re.Pattern[str]]
    """How it says that it did not get to its server, so that nothing has happened."""

    runs_a_file: ClassVar[bool] = False
    """Whether a job's script must lie in a file, and standard input has something else: `submit_input`."""

    def __init__(self, options: BatchOptionsT) -> None:
        self.options = options

    def name_command(self, argv: Sequence[str]) -> str:
        """What messages call the command that `argv` runs."""
        return argv[0]

    # Submitting ---------------------------------------------------------------------------------------------

    @abstractmethod
    def submit_argv(self, request: JobRequest) -> tuple[str, ...]:
        """The submit command."""

    def make_script(self, request: JobRequest) -> str:
        """The job's script. Raises UsageError."""
        shell = self.options.shell or ("/bin/bash -l" if self.options.setup else "/bin/sh")
        return job_script(request, shell, self.options.setup, self.script_prelude(request))

    def submit_input(self, request: JobRequest, script: str) -> str:
        """What comes on its standard input."""
        return script

    def parse_job_id(self, stdout: str) -> str:
        """The job's id. Raises ParseFailure."""
        match = self.job_id_pattern.search(stdout.strip())
        if not match:
            raise ParseFailure(f"'{stdout.strip()[:80]}' does not confirm that a job was submitted")
        return match[1]

    def script_prelude(self, request: JobRequest) -> tuple[str, ...]:
        """Lines of shell that prepare what the scheduler itself cannot: a warning before the time limit."""
        return ()

    # How jobs stand -----------------------------------------------------------------------------------------

    @abstractmethod
    def status_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """One command that describes all these jobs."""

    @abstractmethod
    def parse_status(self, stdout: str, now: float) -> dict[str, Job]:
        """The jobs that it describes, more than asked for perhaps. Raises ParseFailure."""

    def list_missing_jobs(self, wanted: Iterable[str], found: Mapping[str, Job]) -> list[str]:
        """The jobs for which `history_argv` is to be asked."""
        return [identity for identity in wanted if identity not in found]

    def history_argv(self, ids: Sequence[str]) -> tuple[str, ...]:
        """A command that describes jobs which the scheduler has forgotten; empty when there is none."""
        return ()

    def parse_history(self, stdout: str) -> dict[str, Job]:
        """As `parse_status`, for `history_argv`."""
        return {}

    def explain_unrecorded_job(self, job: Job, seconds: float, *, was_cancelled: bool) -> Job:
        """What to make of a job that is still missing then, for so many seconds; did we cancel it?"""
        return job

    def down_argv(self, hosts: Sequence[str]) -> tuple[str, ...]:
        """A command that prints the names of those of these hosts that are down; empty when there is none."""
        return ()

    # Acting on jobs -----------------------------------------------------------------------------------------

    @abstractmethod
    def cancel_argv(self, identity: str) -> tuple[str, ...]:
        """The command that ends a job, whatever its state."""

    def end_argv(self, identity: str) -> tuple[str, ...]:
        """The command that asks only the controller of a running job to end; empty where there is none.

        A scheduler that cancels a job ends all its steps at once, and the controller would see lost hosts.
        """
        return ()

    # Inside a job -------------------------------------------------------------------------------------------

    @abstractmethod
    def own_job(self, environment: Mapping[str, str]) -> str | None:
        """The id of the job that a process with this environment belongs to."""

    def host_file(self, environment: Mapping[str, str]) -> Path | None:
        """The file in which the job's hosts stand, for schedulers that write one."""
        return None

    @abstractmethod
    def parse_hosts(self, environment: Mapping[str, str], content: str) -> tuple[str, ...]:
        """The job's hosts in the scheduler's order; `content` is that of `host_file`. Raises ParseFailure."""

    def own_host(self, environment: Mapping[str, str], hosts: Sequence[str]) -> str | None:
        """Which of the job's hosts this machine is; None when none of them is recognised."""
        own = os.uname().nodename.partition(".")[0]
        return next((host for host in hosts if host.partition(".")[0] == own), None)

    def addresses_argv(self, hosts: Sequence[str]) -> tuple[str, ...]:
        """A command that tells the addresses of hosts whose names mean nothing here; empty for none."""
        return ()

    def parse_addresses(self, stdout: str) -> dict[str, str]:
        """Address by host, from `addresses_argv`."""
        return {}

    @abstractmethod
    def transport(self, job: str, name: str, address: str) -> Transport:
        """The way to a host of this job, in which we are: a step of the scheduler, or SSH without such."""
