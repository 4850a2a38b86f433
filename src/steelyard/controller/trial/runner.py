"""The life of one trial: scratch, preparation, phases, judgement, record."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.controller.attempt import Attempt
from steelyard.controller.context import RunContext
from steelyard.controller.deployment.ready_services import ReadyServices, run_while_alive
from steelyard.controller.deployment.shares import list_occupants, share_machines
from steelyard.controller.resources import SessionResources
from steelyard.controller.timeline.stages import Stages
from steelyard.controller.trial.data import TrialData
from steelyard.controller.trial.lockstep import LockStep
from steelyard.controller.trial.machine_settings import set_machines
from steelyard.controller.trial.mounted import enter_mounts
from steelyard.controller.trial.phases import PhaseRunner
from steelyard.controller.trial.pipeline import Pipeline
from steelyard.controller.trial.prepare import Preparation
from steelyard.controller.trial.record import make_result, write_documents
from steelyard.controller.trial.step import PipelineStep
from steelyard.controller.trial.surroundings import Surroundings
from steelyard.errors import HostError, StoreFull, TrialFailure
from steelyard.hosts.minder_channel import MinderError
from steelyard.model.metric import Mark
from steelyard.model.trial import Cell, Result, Trial
from steelyard.spec.bind import bind_all
from steelyard.spec.placement import resolve_placement

if TYPE_CHECKING:  # what only some runs use
    from steelyard.controller.deployment.resets import Resets
    from steelyard.controller.timeline.timeline import Timeline
    from steelyard.controller.trial.alerts import AlertMonitor

LITTLE = 128 * 1024


class TrialRunner:
    """Executes trials on the hosts of a run and writes their records."""

    def __init__(self, context: RunContext, resources: SessionResources) -> None:
        self._context, self._resources = context, resources
        self._experiment, self._writer = context.experiment, context.writer
        self._lockstep = LockStep()
        self._resets = _make_resets(context, resources)
        self._alerts = _make_alerts(context)

    async def execute(self, trial: Trial, number: int, attempt: int) -> tuple[Result, TrialData]:
        """Run a trial and record it. A failure of the trial is a result, never raised.

        Raises HostLost when a host cannot be reached before the trial begins: then no trial can be made.
        """
        await asyncio.gather(*(host.check() for host in self._resources.placement.hosts))
        began = time.monotonic()
        data = TrialData(Attempt.of(trial, number, attempt, self._context.design.seed))
        self._context.note(
            "trial-started",
            sync=True,
            trial=number,
            attempt=attempt,
            repetition=trial.repetition,
            parameters=dict(trial.cell.parameters),
        )
        try:
            await self._run_trial(data)
        except TrialFailure as failure:
            data.failure = await self._find_cause(failure)
        except MinderError:
            raise  # nothing can be started any more; resume makes this trial again
        except (StoreFull, HostError) as error:
            category = "store-full" if isinstance(error, StoreFull) else "host-failed"
            data.failure = TrialFailure(category, error.message)
        if data.failure and data.failure.category == "store-full":
            self._writer.shrink(number)
        result = make_result(data, time.monotonic() - began)
        write_documents(data, self._writer)
        return result, data

    async def _run_trial(self, data: TrialData) -> None:
        attempt, cell = data.attempt, data.attempt.cell
        async with AsyncExitStack() as scope:
            steps = await self._make_steps(attempt, scope)
            self._count_copies(data, steps)
            resources = self._resources
            settings = set_machines(
                self._experiment, resources.placement, resources.scratches, cell.parameters
            )
            data.machines = await scope.enter_async_context(settings)
            deployed = await scope.enter_async_context(self._deploy(attempt))
            data.metrics |= deployed.times()
            data.marks += deployed.marks()
            steps = [await self._place_step(step, cell, deployed, scope) for step in steps]
            stages = Stages()
            timeline = await self._make_timeline(attempt, deployed, stages, scope)
            around = Surroundings(self._context, attempt, self._own_cores(cell), deployed.known)
            runner = PhaseRunner(around, self._lockstep)
            pipeline = Pipeline(self._experiment, steps, runner, data, stages)
            work = self._measure(data, deployed, pipeline, timeline)
            await run_while_alive(deployed, work, self._context.note)

    async def _make_steps(self, attempt: Attempt, scope: AsyncExitStack) -> list[PipelineStep]:
        """The entries of `workload`, each with a scratch directory for each of its copies."""
        steps = []
        for use, workload in bind_all(self._experiment, attempt.cell):
            on = resolve_placement(use, attempt.cell.parameters, self._experiment)
            copies = self._resources.placement.copies(on)
            made = self._resources.scratches.make_workdirs(workload, attempt, copies)
            steps.append(PipelineStep(use, workload, await scope.enter_async_context(made)))
        return steps

    async def _place_step(
        self, step: PipelineStep, cell: Cell, deployed: ReadyServices, scope: AsyncExitStack
    ) -> PipelineStep:
        """The step with all that is known now, its directories where they are to be."""
        bound = step.bind(self._experiment, cell, deployed)
        keep = self._experiment.reset == "keep"
        return await scope.enter_async_context(enter_mounts(bound, deployed, keep=keep))

    def _deploy(self, attempt: Attempt) -> AbstractAsyncContextManager[ReadyServices]:
        if self._resources.deployment:
            return self._resources.deployment.deploy_for_trial(attempt.cell, attempt.number)
        return nullcontext(ReadyServices(self._resources.placement.known_values(self._experiment)))

    async def _make_timeline(
        self, attempt: Attempt, deployed: ReadyServices, stages: Stages, scope: AsyncExitStack
    ) -> Timeline | None:
        """The events of the trial, where there are any. Raises TrialFailure when one could not happen."""
        if not self._experiment.timeline:
            return None
        from steelyard.controller.trial.events import make_timeline

        return await make_timeline(self._context, self._resources, attempt, deployed, stages, scope)

    async def _measure(
        self, data: TrialData, deployed: ReadyServices, pipeline: Pipeline, timeline: Timeline | None
    ) -> None:
        """What happens once all services are there: preparation, phases beside events, judgement."""
        cell = data.attempt.cell
        if self._resets:
            await self._resets.prepare_data(cell, deployed, pipeline.prepare)
        await self._prepare(pipeline, data)
        watch = self._resources.watch.watch_trial(
            data.attempt.number,
            cell.key,
            pipeline.seconds(),
            thorough=self._resources.deployment is not None,
            deployed=deployed,
        )
        heal = timeline.heal_at_exit() if timeline else nullcontext()
        async with watch as watched, heal, self._watch_alerts(data.attempt, deployed):
            work = pipeline.measure()
            await (timeline.run_with_events(work) if timeline else work)
            if timeline:
                data.marks += timeline.marks()
                data.metrics |= timeline.figures
            data.compute(self._experiment.metrics, cell.parameters)
            self._judge(data, await watched.read_marks(data.user_time))

    def _watch_alerts(self, attempt: Attempt, deployed: ReadyServices) -> AbstractAsyncContextManager[None]:
        """Tell of the file's rules for as long as the block lasts, where it has any."""
        if not self._alerts:
            return nullcontext()
        return self._alerts.watch_trial(attempt, deployed.services_by_name)

    def _own_cores(self, cell: Cell) -> dict[str, int]:
        """Of each host, for workloads beside the services that are there."""
        placement = self._resources.placement
        parts = share_machines(placement.hosts, list_occupants(self._experiment, placement, cell))
        return {name: share.cores for name, share in parts.items()}

    def _count_copies(self, data: TrialData, steps: Sequence[PipelineStep]) -> None:
        """The copies of the measured workload, and their hosts, where it is more than one."""
        measured = max((step.workdirs for step in steps if step.use.measured), key=len, default=())
        if len(measured) > 1 or len(self._resources.placement.hosts) > 1:
            data.copies = max(1, len(measured))
            data.host_names = tuple(dict.fromkeys(workdir.host.name for workdir in measured))

    def _judge(self, data: TrialData, marks: list[Mark]) -> None:
        """Disturbed trials do not count, unless the file says that they do; then that is a warning."""
        counted = self._experiment.disturbed == "include"
        data.marks += [replace(mark, counted=counted) for mark in marks]
        if counted and marks:
            data.warnings.append("some trials were disturbed but still count, as 'disturbed: include' asks")

    async def _prepare(self, pipeline: Pipeline, data: TrialData) -> None:
        if not self._experiment.before_each:
            return

        def make_folder(slot: str, phase: str) -> Path:
            return self._writer.make_phase_folder(data.attempt.number, slot, phase)

        preparation = Preparation(pipeline.workdirs(), warm_up=pipeline.warm_up, folder=make_folder)
        data.preparation, marks = await preparation.carry_out(self._experiment.before_each)
        data.marks += marks
        data.warnings += [f"{mark.reason}: such trials do not count" for mark in marks]

    async def _find_cause(self, failure: TrialFailure) -> TrialFailure:
        """A crash may have a cause that the tool did not name: a full store or test directory."""
        if failure.category not in ("crashed", "unreadable-output", "disk-full"):
            return failure
        if shutil.disk_usage(self._context.folder.path).free < LITTLE:
            return TrialFailure(
                "store-full", f"no space left in {self._context.folder.path}; {failure.message}"
            )
        hosts = self._resources.placement.hosts
        for host in hosts:
            base = self._resources.scratches.get_scratch(host).base
            if await host.read_free_space(base) < LITTLE:
                where = f"{base} on {host.name}" if len(hosts) > 1 else f"{base}"
                return TrialFailure("disk-full", f"no space left in {where}; {failure.message}")
        return failure


def _make_resets(context: RunContext, resources: SessionResources) -> Resets | None:
    """Who gives every trial the same state to begin with, where the experiment asks for that."""
    if not context.experiment.prepares_once or not resources.deployment:
        return None
    from steelyard.controller.deployment.checkpoints import Checkpoints
    from steelyard.controller.deployment.resets import Keeper, Resets, SnapshotKeeper

    snapshots = resources.deployment.snapshots
    keeper: Keeper = SnapshotKeeper(snapshots)
    if context.experiment.reset == "checkpoint":
        keeper = Checkpoints(snapshots, resources.scratches, context.note)
    return Resets(context.experiment, keeper)


def _make_alerts(context: RunContext) -> AlertMonitor | None:
    """Who watches the rules of the experiment, where there are any."""
    if not context.experiment.alert:
        return None
    from steelyard.controller.trial.alerts import AlertMonitor

    return AlertMonitor(context)
