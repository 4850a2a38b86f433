"""What a trial gives to the phases of its workloads."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from steelyard.controller.attempt import Attempt
from steelyard.controller.context import RunContext
from steelyard.controller.jobs.queues import hold_queue
from steelyard.controller.placement import Workdir
from steelyard.controller.trial.replays import find_plan
from steelyard.controller.trial.step import PipelineStep
from steelyard.hosts.base import Host
from steelyard.model.command import Phase, Place
from steelyard.model.keys.reference import Known

_SEED_STEP = 104_729


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where copies run, for how long, what they may know, and where their output goes.

    `cores` are those of each host, by name, that a workload has for itself beside services; `known` is what
    there is to know of services and roles.
    """

    context: RunContext
    attempt: Attempt
    cores: Mapping[str, int]
    known: Known

    def find_limit(self, phase: Phase, step: PipelineStep) -> float | None:
        """Seconds that a phase may take: its own limit, else that of its entry, else that of the file."""
        return phase.timeout or step.use.timeout or self.context.experiment.timeout

    def find_launcher(self, step: PipelineStep) -> str:
        """How ranks start: as the entry says, else as the site does."""
        return step.use.launcher or self.context.site.site.launcher()

    def make_place(self, step: PipelineStep, workdir: Workdir, raw: PurePosixPath) -> Place:
        """What a copy may know."""
        host, number = workdir.host, workdir.copy.number
        return Place(
            scratch=workdir.scratch,
            raw=raw,
            cores=host.cores,
            memory=host.memory,
            seed=(self.attempt.seed + number * _SEED_STEP) % 2**31,
            copy=number,
            copies=len(step.workdirs),
            host=host.name,
            address=host.address,
            peers=tuple(dict.fromkeys(each.host.address for each in step.workdirs)),
            to=step.to,
            share=self.cores.get(host.name, 0),
            references=self.known,
            endpoints=step.named,
            ranks=workdir.copy.ranks.total if workdir.copy.ranks else 1,
            plan=find_plan(workdir) if step.workload.trace() else None,
        )

    def hold_queue(self, host: Host, phase: Phase) -> AbstractAsyncContextManager[None]:
        """For as long as a phase may have jobs in the queue of an engine."""
        return hold_queue(host, phase.queue, self.context.folder, self.context.warn)

    def make_folder(self, workdir: Workdir, phase: str) -> Path:
        """Where the output of a copy goes."""
        slot, name = workdir.copy.slot.name, workdir.copy.folder(phase)
        return self.context.writer.make_phase_folder(self.attempt.number, slot, name)
