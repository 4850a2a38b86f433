"""Run the phases of a workload, each in all its copies at once, and put together what they say."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from steelyard.controller.placement import Workdir
from steelyard.controller.trial.copies import PhaseCopy
from steelyard.controller.trial.lockstep import Instant, LockStep, Punctuality, measure_punctuality
from steelyard.controller.trial.merge import merge_readings
from steelyard.controller.trial.phase_result import CopyResult, PhaseResult
from steelyard.controller.trial.replays import put_plan
from steelyard.controller.trial.step import PipelineStep
from steelyard.controller.trial.surroundings import Surroundings
from steelyard.controller.trial.window import Span, Window, is_shared
from steelyard.errors import TrialFailure
from steelyard.hosts.base import Host
from steelyard.hosts.tasks import run_tasks
from steelyard.model.command import Phase, Place
from steelyard.model.metric import Reading
from steelyard.workloads.base import Workload

COUNTED = ("crashed", "timed-out", "unreadable-output")
"""Failures of a copy that a workload may count; all others are not its doing."""


@dataclass(frozen=True, slots=True)
class PhaseRunner:
    """Runs workloads for one trial."""

    around: Surroundings
    lockstep: LockStep

    async def run(
        self,
        step: PipelineStep,
        prefix: str,
        tell: Callable[[PhaseResult], None],
        began: Callable[[float], None] | None = None,
    ) -> None:
        """All phases in order; `tell` hears of each that ended. Raises TrialFailure when one fails.

        `began` hears when the measured one begins, or the first where none is (monotonic clock, s).
        """
        phases = _list_phases(step.workload, step.workdirs[0].host)
        await put_plan(self.around.context, step)
        counts = next((phase for phase in phases if phase.measured), phases[0])
        for phase in phases:
            stage = _Stage(self.around, step, f"{prefix}{phase.name}", phase.name)
            await self._run_phase(stage, tell, began if phase is counts else None)

    async def _run_phase(
        self,
        stage: _Stage,
        tell: Callable[[PhaseResult], None],
        beginning: Callable[[float], None] | None,
    ) -> None:
        instant = await self._schedule_instant(stage.step.workdirs)
        if beginning:
            beginning(time.monotonic() + (instant.seconds_left() if instant else 0.0))
        reading = window = None
        began = time.monotonic()
        try:
            ended = await stage.run_copies(instant)
            window = stage.window(ended, instant)
            reading = stage.merge_copies(ended, window)
        finally:
            if instant and stage.ready_at is not None:
                self.lockstep.record_lead(stage.ready_at - began)
            # Also of one that failed, as evidence.
            start = _measure_start(instant, stage.found)
            tell(PhaseResult(stage.label, tuple(stage.found.values()), reading, start, window))

    async def _schedule_instant(self, workdirs: Sequence[Workdir]) -> Instant | None:
        if len(workdirs) == 1 or not self.around.context.experiment.start.together:
            return None
        return await self.lockstep.schedule_instant(workdirs)


@dataclass
class _Stage:
    """One phase of a workload entry while it runs. `label` names it in the record, `name` in the workload.

    `found` are its copies that have ended, by name; `ready_at` is when the last one waited for the instant.
    """

    around: Surroundings
    step: PipelineStep
    label: str
    name: str
    found: dict[str, CopyResult] = field(default_factory=dict)
    ready_at: float | None = None

    async def run_copies(self, instant: Instant | None) -> list[CopyResult]:
        """All at once. Raises TrialFailure when one fails, unless that only counts: it ends the others."""
        workdirs = self.step.workdirs
        async with run_tasks(*(self._run_copy(workdir, instant) for workdir in workdirs)) as running:
            await asyncio.gather(*running)
        return [self.found[workdir.copy.name] for workdir in workdirs]

    async def _run_copy(self, workdir: Workdir, instant: Instant | None) -> None:
        copy = PhaseCopy(self.around, self.step, self.label, self.name, workdir)
        ended = await copy.run(instant, self._note_ready)
        self.found[ended.name] = ended
        if ended.failure and not self._is_counted(ended.failure):
            raise ended.failure

    def _note_ready(self) -> None:
        self.ready_at = time.monotonic()

    def _is_counted(self, failure: TrialFailure) -> bool:
        return self.step.workload.failures == "count" and failure.category in COUNTED

    def window(self, ended: Sequence[CopyResult], instant: Instant | None) -> Window | None:
        """When those that say something worked, where rates of them add up and their clocks compare."""
        copies = [(copy, copy.reading) for copy in ended if copy.reading]
        alike = len({copy.host.machine for copy, _ in copies}) == 1
        rates = [metric.name for metric in self.step.workload.metrics() if is_shared(metric)]
        if len(copies) < 2 or not (instant or alike) or not rates:
            return None
        ahead = {name: clock.offset for name, clock in instant.clocks.items()} if instant else {}
        processes, series = {}, {}
        for copy, reading in copies:
            shift = ahead.get(copy.host.name, 0.0)
            began = copy.exit.started - shift
            processes[copy.name] = Span(began, began + copy.exit.wall)
            series[copy.name] = [dataclasses.replace(each, at=each.at - shift) for each in reading.series]
        return Window.of(rates, processes, series)

    def merge_copies(self, ended: Sequence[CopyResult], window: Window | None) -> Reading | None:
        """What the copies say together; None when nothing was measured.

        Failures that only count must not be all there is: then the first is raised.
        """
        if failure := ended[0].failure if all(copy.failure for copy in ended) else None:
            raise failure
        readings = {copy.name: copy.reading for copy in ended if copy.reading}
        if not readings:
            return None
        reading = merge_readings(self.step.workload.metrics(), readings, window)
        if self.step.workload.failures == "trial":
            return reading
        rates = [copy.reading.values.get("failure_rate", 0.0) if copy.reading else 1.0 for copy in ended]
        return dataclasses.replace(
            reading, values={**reading.values, "failure_rate": sum(rates) / len(rates)}
        )


def _measure_start(instant: Instant | None, found: Mapping[str, CopyResult]) -> Punctuality | None:
    exits = {name: (copy.host, copy.exit) for name, copy in found.items()}
    return measure_punctuality(instant, exits) if instant and exits else None


def _list_phases(workload: Workload[Any], host: Host) -> list[Phase]:
    """A workload's phases, whose names decide where each one's output goes."""
    anywhere = Place(PurePosixPath("scratch"), PurePosixPath("raw"), host.cores, host.memory, 0)
    return list(workload.phases(anywhere))
