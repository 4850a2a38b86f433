"""A batch site's scheduler as a workload sees it that submits jobs: its builders and parsers, and no more."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError
from steelyard.model.command import Command
from steelyard.model.engine import EngineJob, EngineSubmission
from steelyard.sites.kit.batch.job import JobRequest
from steelyard.sites.kit.batch.options import BatchOptions
from steelyard.sites.kit.batch.scheduler import NamesJobs, Scheduler

_ANY = "1"  # an id, where only the program matters


@dataclass(frozen=True, slots=True)
class SchedulerEngine:
    """Raises HostError where the scheduler's client is not here, as its builders do."""

    scheduler: Scheduler[Any]
    names: NamesJobs

    @classmethod
    def of(cls, scheduler: Scheduler[Any]) -> SchedulerEngine:
        """That of a scheduler that finds jobs by their name. Raises UsageError for others."""
        if not isinstance(scheduler, NamesJobs):
            what = f"jobs cannot be measured with {scheduler.title} yet"
            raise UsageError(f"{what}: Steelyard does not find its jobs by name")
        return cls(scheduler, scheduler)

    @property
    def title(self) -> str:
        """The scheduler's."""
        return self.scheduler.title

    @property
    def programs(self) -> tuple[str, ...]:
        """Of the commands whose builders need no job."""
        commands = (self.describe([_ANY]), self.cancel(_ANY), self.list_unfinished("x"))
        return tuple(dict.fromkeys(command.argv[0] for command in commands))

    @property
    def id_pattern(self) -> tuple[str, int]:
        """The scheduler's."""
        pattern = self.scheduler.job_id_pattern
        return pattern.pattern, pattern.flags

    @property
    def variables(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The scheduler's."""
        return self.scheduler.env_filter_prefixes, self.scheduler.env_filter_exceptions

    def submit(self, job: EngineJob) -> EngineSubmission:
        """As a site's own job, but that it shares its host with others, unless the options say otherwise.

        It is not warned: Slurm's signal may come a minute early, so that of a job of a minute it would end
        some that have only begun.
        """
        options: BatchOptions = self.scheduler.options
        request = JobRequest(
            name=job.name,
            argv=job.words,
            hosts=1,
            seconds=job.seconds,
            output=Path(os.devnull),
            working_directory=Path("/"),
            partition=options.queue,
            account=options.account,
            qos=options.qos,
            reservation=options.reservation,
            exclusive=options.exclusive and "exclusive" in options.model_fields_set,
            extra_options=options.options,
            script_file=Path(job.file) if self.scheduler.runs_a_file else None,
            warned=False,
        )
        script = self.scheduler.make_script(request)
        given = self.scheduler.submit_input(request, script)
        command = Command(self.scheduler.submit_argv(request), stdin=given)
        return EngineSubmission(command, script if self.scheduler.runs_a_file else None)

    def describe(self, ids: Sequence[str]) -> Command:
        """The scheduler's."""
        return Command(self.scheduler.status_argv(ids))

    def list_unfinished(self, name: str) -> Command:
        """The scheduler's."""
        return Command(self.names.unfinished_argv(name))

    def list_stamps(self, name: str) -> Command | None:
        """Its hosts share a file system with the one that submits."""
        return None

    def cancel(self, identity: str) -> Command:
        """The scheduler's."""
        return Command(self.scheduler.cancel_argv(identity))

    def cancel_all(self, name: str) -> Command:
        """The scheduler's."""
        return Command(self.names.cancel_named_argv(name))

    def parse_description(self, stdout: str) -> Mapping[str, str]:
        """The scheduler's, as sentences."""
        jobs = self.scheduler.parse_status(stdout, time.time())
        return {identity: job.sentence for identity, job in jobs.items()}
