"""One copy of a phase on its host: surrounded by what it runs in, started, and read."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from steelyard.controller.placement import Workdir
from steelyard.controller.trial.evidence import judge, read_output
from steelyard.controller.trial.live_samples import sample_output
from steelyard.controller.trial.lockstep import ANSWER_WITHIN, Instant
from steelyard.controller.trial.merge import drop_short
from steelyard.controller.trial.phase_result import CopyResult
from steelyard.controller.trial.result_files import ResultFiles
from steelyard.controller.trial.step import PipelineStep
from steelyard.controller.trial.surroundings import Surroundings
from steelyard.errors import HostLost, TrialFailure
from steelyard.hosts.base import Host, Process, Streams, finish
from steelyard.hosts.capturing import fetch_segments
from steelyard.hosts.short_programs import explain_missing_file
from steelyard.hosts.wrapping import read_kernel, wrap_command
from steelyard.launchers import launch_alone
from steelyard.model.command import Command, Exit, Phase
from steelyard.model.condition_check import ConditionCheck
from steelyard.model.keys.reference import FOLDER
from steelyard.store.journal import write_failure


@dataclass(frozen=True, slots=True)
class PhaseCopy:
    """One copy while it runs. `label` names its phase in the record, `name` in the workload."""

    around: Surroundings
    step: PipelineStep
    label: str
    name: str
    workdir: Workdir

    async def run(self, instant: Instant | None, tell_ready: Callable[[], None]) -> CopyResult:
        """From its start to what it says, or how it failed. `tell_ready` hears when it waits for the instant.

        Raises TrialFailure where it could not be started, or what it left could not be fetched.
        """
        folder = self.around.make_folder(self.workdir, self.label)
        raw = await self._make_raw(folder)
        plain = self._describe(raw)
        phase = await self._surround(plain, raw)
        results = await self._note_results(phase)
        async with self.around.hold_queue(self._host, phase):
            process = await self._start(phase, folder, instant, tell_ready)
            async with self._sample_output(phase, folder):
                exit_, timed_out = await finish(process, self._limit(phase))
        await self._fetch(results, raw, folder)
        ended = dataclasses.replace(exit_, timed_out=timed_out)
        return await self._read(plain, phase.command, ended, folder)

    @property
    def _host(self) -> Host:
        return self.workdir.host

    def _limit(self, phase: Phase) -> float | None:
        return self.around.find_limit(phase, self.step)

    def _is_measured(self, phase: Phase) -> bool:
        return phase.measured and self.step.use.measured

    async def _make_raw(self, folder: Path) -> PurePosixPath:
        """Where result files are written: into the record, or beside the scratch of a far host."""
        if self._host.shares_files:
            return PurePosixPath(folder.absolute() / "raw")
        home = self.workdir.home
        path = home.with_name(f"{home.name}.{folder.name}.raw")
        await self._host.make_directory(path)
        return path

    def _describe(self, raw: PurePosixPath) -> Phase:
        place = self.around.make_place(self.step, self.workdir, raw)
        return next(phase for phase in self.step.workload.phases(place) if phase.name == self.name)

    async def _surround(self, phase: Phase, raw: PurePosixPath) -> Phase:
        """The phase in its environment, under its limits, and started by its launcher."""
        wrapped = await wrap_command(
            self._host,
            phase.wrapped,
            self.step.wrap,
            self.workdir.scratch,
            raw,
            self.around.known.get(FOLDER),
            trace=self._trace_place,
        )
        return dataclasses.replace(phase, command=self._launch(phase.complete(wrapped)))

    @property
    def _trace_place(self) -> PurePosixPath:
        return self.workdir.home / f"trace-{self.label}"

    def _launch(self, command: Command) -> Command:
        ranks = self.workdir.copy.ranks
        if ranks is None:
            return launch_alone(command)
        return ranks.launch_command(command, self.around.find_launcher(self.step))

    async def _note_results(self, phase: Phase) -> ResultFiles:
        """The files that it is to write, as they are before. Raises TrialFailure for a missing program."""
        if missing := await explain_missing_file(self._host, phase.command, self.around.known.get(FOLDER)):
            raise TrialFailure("tool-missing", missing)
        directory = self.workdir.outside(phase.command.cwd or self.workdir.scratch)
        results = ResultFiles(self._host, directory, phase.results)
        await results.record_states()
        return results

    async def _start(
        self, phase: Phase, folder: Path, instant: Instant | None, tell_ready: Callable[[], None]
    ) -> Process:
        streams = Streams(folder / "stdout", folder / "stderr", _write_stdin(phase.command, folder))
        at = instant.host_time(self._host) if instant else None
        starting = self.workdir.start(phase.command, streams, at=at)
        if instant is None:
            return await starting
        try:
            async with asyncio.timeout(ANSWER_WITHIN + instant.seconds_left()):
                process = await starting
        except TimeoutError:
            raise HostLost(
                f"{self._host.name} was not ready for the common start within {ANSWER_WITHIN:g} s"
            ) from None
        tell_ready()
        return process

    def _sample_output(self, phase: Phase, folder: Path) -> AbstractAsyncContextManager[None]:
        if self._is_measured(phase):
            return sample_output(self.step.workload, phase.name, folder)
        return nullcontext()

    async def _fetch(self, results: ResultFiles, raw: PurePosixPath, folder: Path) -> None:
        """Bring home what it wrote, and what was recorded of it."""
        if not self._host.shares_files:
            await self._host.get(raw, folder / "raw")
        await results.fetch(folder / "raw")
        if self.step.wrap.capture:
            await fetch_segments(self._host, self._trace_place, folder / "trace" / "segments")

    async def _read(self, phase: Phase, command: Command, ended: Exit, folder: Path) -> CopyResult:
        """What it says, or its failure. `phase` is as the workload describes it, `command` what ran."""
        check = await self._check_conditions()
        result = CopyResult(self.workdir.copy.name, self._host, command, ended, condition_check=check)
        try:
            judge(phase, ended, folder, self._limit(phase), self.step.wrap)
            if not self._is_measured(phase):
                return result
            read = read_output(self.step.workload, phase, ended, folder)
            reading = drop_short(self.step.workload.metrics(), read)
            return dataclasses.replace(result, reading=reading)
        except TrialFailure as failure:
            return dataclasses.replace(result, failure=self._locate_failure(failure))

    async def _check_conditions(self) -> ConditionCheck | None:
        if not self.step.wrap.any:
            return None
        got = await read_kernel(self._host, self.workdir.outside(self.workdir.scratch))
        return ConditionCheck(f"{self.label} of {self.workdir.copy.name}", self.step.wrap, got)

    def _locate_failure(self, failure: TrialFailure) -> TrialFailure:
        if len(self.step.workdirs) == 1:
            return failure
        where = f"{self.workdir.copy.name} on {self._host.name}"
        return TrialFailure(failure.category, f"{where}: {failure.message}")


def _write_stdin(command: Command, folder: Path) -> Path | None:
    if command.stdin is None:
        return None
    path = folder / "stdin"
    try:
        path.write_text(command.stdin, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise write_failure(path, error) from error
    return path
