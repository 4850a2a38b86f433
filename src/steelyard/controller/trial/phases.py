"""Run the phases of a workload, each in all its copies at once, and read what they left behind."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.controller.attempt import Attempt
from steelyard.controller.context import RunContext
from steelyard.controller.jobs.queues import hold_queue
from steelyard.controller.placement import Workdir
from steelyard.controller.trial.evidence import judge, read_output
from steelyard.controller.trial.live_samples import sample_output
from steelyard.controller.trial.lockstep import (
    ANSWER_WITHIN,
    Instant,
    LockStep,
    Punctuality,
    measure_punctuality,
)
from steelyard.controller.trial.merge import drop_short, merge_readings
from steelyard.controller.trial.phase_result import CopyResult, PhaseResult
from steelyard.controller.trial.replays import find_plan, put_plan
from steelyard.controller.trial.result_files import ResultFiles
from steelyard.controller.trial.step import PipelineStep
from steelyard.controller.trial.window import Span, Window, is_shared
from steelyard.errors import HostLost, TrialFailure
from steelyard.hosts.base import Host, Process, Streams, finish
from steelyard.hosts.capturing import fetch_segments
from steelyard.hosts.short_programs import explain_missing_file
from steelyard.hosts.tasks import run_tasks
from steelyard.hosts.wrapping import read_kernel, wrap_command
from steelyard.launchers import launch_alone
from steelyard.model.command import Command, Phase, Place
from steelyard.model.condition_check import ConditionCheck
from steelyard.model.keys.reference import FOLDER, Known
from steelyard.model.metric import Reading
from steelyard.store.journal import write_failure
from steelyard.workloads.base import Workload

COUNTED = ("crashed", "timed-out", "unreadable-output")
"""Failures of a copy that a workload may count; all others are not its doing."""
_SEED_STEP = 104_729


def list_phases(workload: Workload[Any], host: Host) -> list[Phase]:
    """A workload's phases, whose names decide where each one's output goes."""
    anywhere = Place(PurePosixPath("scratch"), PurePosixPath("raw"), host.cores, host.memory, 0)
    return list(workload.phases(anywhere))


class PhaseRunner:
    """Runs workloads for one trial.

    `cores` are those of each host, by name, that a workload has for itself beside services; `known` is what
    there is to know of services and roles.
    """

    def __init__(
        self,
        context: RunContext,
        attempt: Attempt,
        lockstep: LockStep,
        cores: Mapping[str, int],
        known: Known,
    ) -> None:
        self._context, self._attempt, self._lockstep = context, attempt, lockstep
        self._cores, self.known = cores, known

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
        phases = list_phases(step.workload, step.workdirs[0].host)
        await put_plan(self._context, step)
        counts = next((phase for phase in phases if phase.measured), phases[0])
        for phase in phases:
            stage = _Stage(self, step, f"{prefix}{phase.name}", phase.name)
            await self._run_phase(stage, tell, began if phase is counts else None)

    @property
    def limit(self) -> float | None:
        """Seconds that a phase may take where neither it nor its entry says."""
        return self._context.experiment.timeout

    @property
    def launcher(self) -> str:
        """How ranks start on the site."""
        return self._context.site.site.launcher()

    async def _run_phase(
        self,
        stage: _Stage,
        tell: Callable[[PhaseResult], None],
        beginning: Callable[[float], None] | None,
    ) -> None:
        workdirs = stage.step.workdirs
        instant = await self._schedule_instant(workdirs)
        if beginning:
            beginning(time.monotonic() + (max(0.0, instant.at / 1e9 - time.time()) if instant else 0.0))
        copies: dict[str, CopyResult] = {}
        reading = window = None
        began = time.monotonic()
        try:
            await _run_all(stage.run_copy(workdir, instant, copies) for workdir in workdirs)
            ended = [copies[workdir.copy.name] for workdir in workdirs]
            window = stage.window(ended, instant)
            reading = stage.merge_copies(ended, window)
        finally:
            if instant and stage.ready_at is not None:
                self._lockstep.record_lead(stage.ready_at - began)
            # Also of one that failed, as evidence.
            start = _measure_start(instant, copies)
            tell(PhaseResult(stage.label, tuple(copies.values()), reading, start, window))

    async def _schedule_instant(self, workdirs: Sequence[Workdir]) -> Instant | None:
        if len(workdirs) == 1 or not self._context.experiment.start.together:
            return None
        return await self._lockstep.schedule_instant(workdirs)

    def make_place(self, step: PipelineStep, workdir: Workdir, raw: PurePosixPath) -> Place:
        """What a copy may know."""
        host, number = workdir.host, workdir.copy.number
        return Place(
            scratch=workdir.scratch,
            raw=raw,
            cores=host.cores,
            memory=host.memory,
            seed=(self._attempt.seed + number * _SEED_STEP) % 2**31,
            copy=number,
            copies=len(step.workdirs),
            host=host.name,
            address=host.address,
            peers=tuple(dict.fromkeys(each.host.address for each in step.workdirs)),
            to=step.to,
            share=self._cores.get(host.name, 0),
            references=self.known,
            endpoints=step.named,
            ranks=workdir.copy.ranks.total if workdir.copy.ranks else 1,
            plan=find_plan(workdir) if step.workload.trace() else None,
        )

    def hold_queue(self, host: Host, phase: Phase) -> AbstractAsyncContextManager[None]:
        """For as long as a phase may have jobs in the queue of an engine."""
        return hold_queue(host, phase.queue, self._context.folder, self._context.warn)

    def make_folder(self, workdir: Workdir, phase: str) -> Path:
        """Where the output of a copy goes."""
        slot, name = workdir.copy.slot.name, workdir.copy.folder(phase)
        return self._context.writer.make_phase_folder(self._attempt.number, slot, name)


@dataclass
class _Stage:
    """One phase of a workload entry while it runs. `label` names it in the record, `name` in the workload."""

    runner: PhaseRunner
    step: PipelineStep
    label: str
    name: str
    ready_at: float | None = None

    async def run_copy(self, workdir: Workdir, instant: Instant | None, found: dict[str, CopyResult]) -> None:
        """One copy from its start to what it says. Raises TrialFailure, unless its failure only counts."""
        folder, host = self.runner.make_folder(workdir, self.label), workdir.host
        raw = await _make_raw(workdir, folder)
        plain = self._phase(self.runner.make_place(self.step, workdir, raw))
        phase = await self._wrap_phase(workdir, raw, plain)
        phase = dataclasses.replace(phase, command=self._launch(workdir, phase.command))
        limit = phase.timeout or self.step.use.timeout or self.runner.limit
        if missing := await explain_missing_file(host, phase.command, self.runner.known.get(FOLDER)):
            raise TrialFailure("tool-missing", missing)
        directory = workdir.outside(phase.command.cwd or workdir.scratch)
        results = ResultFiles(host, directory, phase.results)
        await results.record_states()
        async with self.runner.hold_queue(host, phase):
            process = await self._start(workdir, phase, folder, instant)
            async with self._sample_output(phase, folder):
                exit_, timed_out = await finish(process, limit)
        if not host.shares_files:
            await host.get(raw, folder / "raw")
        await results.fetch(folder / "raw")
        if self.step.wrap.capture:
            await fetch_segments(host, self._trace_place(workdir), folder / "trace" / "segments")
        ended = CopyResult(
            workdir.copy.name, host, phase.command, dataclasses.replace(exit_, timed_out=timed_out)
        )
        if self.step.wrap.any:
            got = await read_kernel(host, workdir.outside(workdir.scratch))
            ended = dataclasses.replace(
                ended, condition_check=ConditionCheck(f"{self.label} of {ended.name}", self.step.wrap, got)
            )
        try:
            judge(plain, ended.exit, folder, limit, self.step.wrap)
            if phase.measured and self.step.use.measured:
                read = read_output(self.step.workload, phase, ended.exit, folder)
                reading = drop_short(self.step.workload.metrics(), read)
                ended = dataclasses.replace(ended, reading=reading)
        except TrialFailure as failure:
            ended = dataclasses.replace(ended, failure=_locate_failure(failure, workdir, self.step.workdirs))
        found[ended.name] = ended
        if ended.failure and not self._is_counted(ended.failure):
            raise ended.failure

    def _sample_output(self, phase: Phase, folder: Path) -> AbstractAsyncContextManager[None]:
        if phase.measured and self.step.use.measured:
            return sample_output(self.step.workload, phase.name, folder)
        return nullcontext()

    async def _start(self, workdir: Workdir, phase: Phase, folder: Path, instant: Instant | None) -> Process:
        streams = Streams(folder / "stdout", folder / "stderr", _write_stdin(phase.command, folder))
        at = instant.host_time(workdir.host) if instant else None
        starting = workdir.start(phase.command, streams, at=at)
        if instant is None:
            return await starting
        try:
            async with asyncio.timeout(ANSWER_WITHIN + max(0.0, instant.at / 1e9 - time.time())):
                process = await starting
        except TimeoutError:
            raise HostLost(
                f"{workdir.host.name} was not ready for the common start within {ANSWER_WITHIN:g} s"
            ) from None
        self.ready_at = time.monotonic()
        return process

    def _phase(self, place: Place) -> Phase:
        return next(phase for phase in self.step.workload.phases(place) if phase.name == self.name)

    async def _wrap_phase(self, workdir: Workdir, raw: PurePosixPath, phase: Phase) -> Phase:
        folder = self.runner.known.get(FOLDER)
        wrapped = await wrap_command(
            workdir.host,
            phase.wrapped,
            self.step.wrap,
            workdir.scratch,
            raw,
            folder,
            trace=self._trace_place(workdir),
        )
        return dataclasses.replace(phase, command=phase.complete(wrapped))

    def _trace_place(self, workdir: Workdir) -> PurePosixPath:
        return workdir.home / f"trace-{self.label}"

    def _launch(self, workdir: Workdir, command: Command) -> Command:
        ranks = workdir.copy.ranks
        if ranks is None:
            return launch_alone(command)
        return ranks.launch_command(command, self.step.use.launcher or self.runner.launcher)

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


async def _run_all(copies: Any) -> None:
    """Wait for all; should one fail, the others are ended, and its failure is raised."""
    async with run_tasks(*copies) as running:
        await asyncio.gather(*running)


async def _make_raw(workdir: Workdir, folder: Path) -> PurePosixPath:
    """Where result files are written: into the record, or beside the scratch of a host that is far away."""
    if workdir.host.shares_files:
        return PurePosixPath(folder.absolute() / "raw")
    path = workdir.home.with_name(f"{workdir.home.name}.{folder.name}.raw")
    await workdir.host.make_directory(path)
    return path


def _write_stdin(command: Command, folder: Path) -> Path | None:
    if command.stdin is None:
        return None
    path = folder / "stdin"
    try:
        path.write_text(command.stdin, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise write_failure(path, error) from error
    return path


def _locate_failure(failure: TrialFailure, workdir: Workdir, workdirs: Sequence[Workdir]) -> TrialFailure:
    if len(workdirs) == 1:
        return failure
    where = f"{workdir.copy.name} on {workdir.host.name}"
    return TrialFailure(failure.category, f"{where}: {failure.message}")
