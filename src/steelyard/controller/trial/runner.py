"""The life of one trial: scratch, preparation, phases, judgement, record."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.controller.deployment.deployment import Deployment, list_occupants, share_machines
from steelyard.controller.deployment.ready_services import ReadyServices, run_while_alive
from steelyard.controller.deployment.resets import Resets
from steelyard.controller.machine.watch import TrialWatcher
from steelyard.controller.placement import Placement, Workdir
from steelyard.controller.scratch import Scratches
from steelyard.controller.timeline.stages import Stages
from steelyard.controller.timeline.timeline import Timeline
from steelyard.controller.trial.data import TrialData
from steelyard.controller.trial.lockstep import LockStep
from steelyard.controller.trial.phases import PhaseRunner
from steelyard.controller.trial.pipeline import Pipeline, PipelineStep
from steelyard.controller.trial.prepare import Preparation
from steelyard.errors import HostError, StoreFull, TrialFailure
from steelyard.events.base import EventContext
from steelyard.hosts.lease import MinderError
from steelyard.model.experiment import Experiment
from steelyard.model.keys.roles import Selection
from steelyard.model.keys.timeline import SCRIPT
from steelyard.model.keys.uses import WorkloadUse
from steelyard.model.metric import Mark
from steelyard.model.trial import Cell, Result, Trial
from steelyard.spec.bind import bind_all
from steelyard.spec.placement import resolve_placement
from steelyard.store.writer import RunWriter
from steelyard.workloads.base import Workload

LITTLE = 128 * 1024


class TrialRunner:
    """Executes trials on the hosts of a run and writes their records."""

    def __init__(
        self,
        experiment: Experiment,
        placement: Placement,
        writer: RunWriter,
        scratches: Scratches,
        watch: TrialWatcher,
        deployment: Deployment,
        seed: int,
        launcher: str = "mpirun",
    ) -> None:
        self.experiment, self.placement, self.writer = experiment, placement, writer
        self.scratches, self.watch, self.seed = scratches, watch, seed
        self.deployment, self.launcher = deployment, launcher
        self._lockstep = LockStep()
        self._resets = Resets(experiment, deployment.snapshots)

    async def execute(self, trial: Trial, number: int, attempt: int) -> tuple[Result, TrialData]:
        """Run a trial and record it. A failure of the trial is a result, never raised.

        Raises HostLost when a host cannot be reached before the trial begins: then no trial can be made.
        """
        await asyncio.gather(*(host.check() for host in self.placement.hosts))
        began = time.monotonic()
        account = TrialData()
        self.writer.journal.write(
            "trial-started",
            sync=True,
            trial=number,
            attempt=attempt,
            repetition=trial.repetition,
            parameters=dict(trial.cell.parameters),
        )
        try:
            await self._run_trial(trial, number, account)
        except TrialFailure as failure:
            account.failure = await self._find_cause(failure)
        except MinderError:
            raise  # nothing can be started any more; resume makes this trial again
        except (StoreFull, HostError) as error:
            category = "store-full" if isinstance(error, StoreFull) else "host-failed"
            account.failure = TrialFailure(category, error.message)
        if account.failure and account.failure.category == "store-full":
            self.writer.shrink(number)
        result = _make_result(trial, account, time.monotonic() - began)
        self._record(result, account, number)
        return result, account

    async def _run_trial(self, trial: Trial, number: int, account: TrialData) -> None:
        workloads = bind_all(self.experiment, trial.cell)
        async with AsyncExitStack() as scope:
            legs = [
                PipelineStep(
                    *entry, await scope.enter_async_context(self._make_workdirs(*entry, trial, number))
                )
                for entry in workloads
            ]
            self._count_copies(account, [leg.workdirs for leg in legs])
            deployed = await scope.enter_async_context(self.deployment.deploy_for_trial(trial.cell, number))
            account.metrics |= deployed.times()
            account.marks += deployed.marks()
            legs = [leg.bind(trial.cell, deployed.known) for leg in legs]
            runner, stages = self._make_runner(trial, number, deployed), Stages()
            timeline = await self._make_timeline(trial, number, deployed, stages, scope)
            course = Pipeline(self.experiment, trial.cell, legs, runner, deployed, account, stages)
            work = self._measure(trial, number, account, deployed, course, timeline)
            await run_while_alive(deployed, work, self.writer.journal.write)

    async def _measure(
        self,
        trial: Trial,
        number: int,
        account: TrialData,
        deployed: ReadyServices,
        course: Pipeline,
        timeline: Timeline,
    ) -> None:
        """What happens once all services are there: preparation, phases beside events, judgement."""
        if self.experiment.reset == "snapshot":
            await self._resets.prepare_data(trial.cell, deployed, course.prepare)
        await self._prepare(course, number, account)
        watch = self.watch.watch_trial(
            number,
            trial.cell.key,
            course.seconds(),
            thorough=self.deployment.has_services,
            deployed=deployed,
        )
        async with watch as watched, timeline.heal_at_exit():
            await timeline.run_with_events(course.measure())
            account.marks += timeline.marks()
            account.metrics |= timeline.figures
            account.compute(self.experiment.metrics, trial.cell.parameters)
            self._judge(account, await watched.read_marks(account.user_time))

    def _make_runner(self, trial: Trial, number: int, deployed: ReadyServices) -> PhaseRunner:
        return PhaseRunner(
            self._folder(number),
            seed=self._trial_seed(trial),
            start=self.experiment.start,
            lockstep=self._lockstep,
            launcher=self.launcher,
            cores=self._own_cores(trial.cell),
            known=deployed.known,
        )

    async def _make_timeline(
        self, trial: Trial, number: int, deployed: ReadyServices, stages: Stages, scope: AsyncExitStack
    ) -> Timeline:
        """The events of the trial, each of which could happen here. Raises TrialFailure."""
        runs = any(entry.do in ("run", SCRIPT) for entry in self.experiment.timeline)
        hosts = self.placement.hosts if runs else ()
        event_context = EventContext(
            {service.context.name: service for service in deployed.services},
            lambda text: tuple(slot.host for slot in self.placement.select_slots(Selection.parse(text))),
            {
                host.name: await scope.enter_async_context(
                    self.scratches.get_scratch(host).make_directory("events")
                )
                for host in hosts
            },
            self.writer.folder.trial(number) / "events",
            frozenset(name for name, use in self.experiment.services.items() if use.keep != "trial"),
            deployed.known,
            self.deployment.snapshots.save_as_last,
            self.deployment.snapshots.recover_last,
        )
        note = self.writer.journal.write
        seed = self._trial_seed(trial)
        timeline = Timeline(self.experiment, trial.cell, event_context, stages, number, note, seed)
        timeline.check()
        return timeline

    def _own_cores(self, cell: Cell) -> dict[str, int]:
        """Of each host, for workloads beside the services that are there."""
        parts = share_machines(self.placement.hosts, list_occupants(self.experiment, self.placement, cell))
        return {name: share.cores for name, share in parts.items()}

    def _make_workdirs(
        self, use: WorkloadUse, workload: Workload[Any], trial: Trial, number: int
    ) -> AbstractAsyncContextManager[tuple[Workdir, ...]]:
        copies = self.placement.copies(resolve_placement(use, trial.cell.parameters, self.experiment))
        return self.scratches.make_workdirs(workload, trial, number, copies)

    def _count_copies(self, account: TrialData, workdirs: Sequence[Sequence[Workdir]]) -> None:
        """The copies of the measured workload, and their hosts, where it is more than one."""
        uses = zip(self.experiment.workload, workdirs, strict=True)
        measured = max((of for use, of in uses if use.measured), key=len, default=())
        if len(measured) > 1 or len(self.placement.hosts) > 1:
            account.copies = max(1, len(measured))
            account.host_names = tuple(dict.fromkeys(workdir.host.name for workdir in measured))

    def _judge(self, account: TrialData, marks: list[Mark]) -> None:
        """Disturbed trials do not count, unless the file says that they do; then that is a warning."""
        counted = self.experiment.disturbed == "include"
        account.marks += [replace(mark, counted=counted) for mark in marks]
        if counted and marks:
            account.warnings.append(
                "some trials were disturbed but still count, as 'disturbed: include' asks"
            )

    async def _prepare(self, course: Pipeline, number: int, account: TrialData) -> None:
        async def warm_up(times: int) -> None:
            for turn in range(1, times + 1):
                await course.measure(f"warm-up-{turn}-")

        if self.experiment.before_each:
            steps = Preparation(course.workdirs(), warm_up=warm_up, folder=self._folder(number))
            account.preparation, marks = await steps.carry_out(self.experiment.before_each)
            account.marks += marks
            account.warnings += [f"{mark.reason}: such trials do not count" for mark in marks]

    def _folder(self, number: int) -> Callable[[str, str], Path]:
        def make(slot: str, phase: str) -> Path:
            return self.writer.make_phase_folder(number, slot, phase)

        return make

    def _trial_seed(self, trial: Trial) -> int:
        """A seed for the tool, the same whenever this very trial is run."""
        return (self.seed * 1_000_003 + trial.repetition * 7919 + _hash_text(trial.cell.key)) % 2**31

    async def _find_cause(self, failure: TrialFailure) -> TrialFailure:
        """A crash may have a cause that the tool did not name: a full store or test directory."""
        if failure.category not in ("crashed", "unreadable-output", "disk-full"):
            return failure
        if shutil.disk_usage(self.writer.folder.path).free < LITTLE:
            return TrialFailure(
                "store-full", f"no space left in {self.writer.folder.path}; {failure.message}"
            )
        for host in self.placement.hosts:
            base = self.scratches.get_scratch(host).base
            if await host.read_free_space(base) < LITTLE:
                where = f"{base} on {host.name}" if len(self.placement.hosts) > 1 else f"{base}"
                return TrialFailure("disk-full", f"no space left in {where}; {failure.message}")
        return failure

    def _record(self, result: Result, account: TrialData, number: int) -> None:
        """The journal's line counts; the two documents beside it only add detail."""
        folder = self.writer.folder.trial(number)
        document = {
            "trial": number,
            "parameters": dict(result.trial.cell.parameters),
            "repetition": result.trial.repetition,
            "prepared": dict(account.preparation),
            "phases": [document for ended in account.phases for document in ended.documents()],
        }
        try:
            self.writer.make_directory(folder)
            self.writer.write_document(folder / "trial.json", document)
            if account.metrics or account.histograms:
                bins = {name: {str(k): n for k, n in b.items()} for name, b in account.histograms.items()}
                content = {"values": account.metrics, "histograms": bins, "copies": account.copy_values()}
                self.writer.write_document(folder / "metrics.json", content, sync=bool(bins))
        except StoreFull as error:
            account.warnings.append(f"trial {number}: {error.message}")


def _make_result(trial: Trial, account: TrialData, seconds: float) -> Result:
    failure, marks = account.failure, tuple(account.marks)
    who = {"copies": account.copies, "on": account.host_names}
    if failure:
        return Result(trial, "failed", seconds, {}, marks, failure.category, **who)  # type: ignore[arg-type]
    return Result(trial, "ok", seconds, dict(account.metrics), marks, **who)  # type: ignore[arg-type]


def _hash_text(text: str) -> int:
    """A number from a text that is the same in every process, unlike `hash`."""
    value = 0
    for byte in text.encode(errors="surrogatepass"):
        value = (value * 131 + byte) % 2**31
    return value
