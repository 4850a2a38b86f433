"""Run the phases of a workload on a host and read what they left behind."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.errors import ParseFailure, TrialFailure
from steelyard.model.command import Command, Exit, Output, Phase, Place
from steelyard.model.experiment import WorkloadUse
from steelyard.model.metric import Mark, Reading
from steelyard.remote.base import Host, Streams, finish
from steelyard.store.journal import write_failure
from steelyard.workloads.base import Workload

MOST_READ = 64 * 1024 * 1024
EVIDENCE = 1500
FULL_WORDS = ("No space left on device", "Disk quota exceeded", "ENOSPC")


@dataclass(frozen=True, slots=True)
class Ended:
    """A phase that ended: what it was, how it ended, and what it says (None when it is not measured)."""

    name: str
    command: Command
    exit: Exit
    reading: Reading | None

    def document(self) -> dict[str, Any]:
        """For `trial.json`. The environment that a command adds is ours, never the user's."""
        return {
            "phase": self.name,
            "argv": list(self.command.argv),
            "env": dict(self.command.env),
            "exit": dataclasses.asdict(self.exit),
        }


def phase_names(workload: Workload[Any], host: Host) -> list[str]:
    """The names of a workload's phases, which decide where each one's output goes."""
    anywhere = Place(PurePosixPath("scratch"), PurePosixPath("raw"), host.cores, host.memory, 0)
    return [phase.name for phase in workload.phases(anywhere)]


class PhaseRunner:
    """Runs a workload in one place. `folder(name)` gives the place for a phase's output."""

    def __init__(self, host: Host, folder: Callable[[str], Path], *, seed: int) -> None:
        self.host, self._folder, self._seed = host, folder, seed

    async def run(
        self,
        use: WorkloadUse,
        workload: Workload[Any],
        scratch: PurePosixPath,
        *,
        prefix: str,
        limit: float | None,
        tell: Callable[[Ended], None],
    ) -> None:
        """All phases in order; `tell` hears of each that ended. Raises TrialFailure when one fails."""
        for name in phase_names(workload, self.host):
            folder = self._folder(f"{prefix}{name}")
            phase = self._phase(workload, name, scratch, folder)
            patience = phase.timeout or use.timeout or limit
            exit_ = await self._one(phase, folder, scratch, patience)
            ended = Ended(folder.name, phase.command, exit_, None)
            try:
                _judge(phase, exit_, folder, patience)
                if phase.measured and use.measured:
                    reading = _reading(workload, phase, exit_, folder)
                    ended = dataclasses.replace(ended, reading=reading)
            finally:
                tell(ended)  # also of one that failed, as evidence

    def _phase(self, workload: Workload[Any], name: str, scratch: PurePosixPath, folder: Path) -> Phase:
        raw = PurePosixPath(folder.absolute() / "raw")
        place = Place(scratch, raw, self.host.cores, self.host.memory, self._seed)
        return next(phase for phase in workload.phases(place) if phase.name == name)

    async def _one(self, phase: Phase, folder: Path, scratch: PurePosixPath, limit: float | None) -> Exit:
        streams = Streams(folder / "stdout", folder / "stderr", _stdin(phase.command, folder))
        process = await self.host.start(phase.command, streams, cwd=scratch)
        ended, timed_out = await finish(process, limit)
        return dataclasses.replace(ended, timed_out=timed_out)


def _stdin(command: Command, folder: Path) -> Path | None:
    if command.stdin is None:
        return None
    path = folder / "stdin"
    try:
        path.write_text(command.stdin, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise write_failure(path, error) from error
    return path


def _judge(phase: Phase, ended: Exit, folder: Path, limit: float | None) -> None:
    if ended.timed_out:
        raise TrialFailure("timed-out", f"{phase.name} did not end within {limit:g} s and was ended")
    if ended.code != 0:
        raise _crash(phase, ended, folder)


def _crash(phase: Phase, ended: Exit, folder: Path) -> TrialFailure:
    how = f"ended with code {ended.code}" if ended.signal is None else f"was ended by signal {ended.signal}"
    said = tail(folder / "stderr") or tail(folder / "stdout")
    category = "disk-full" if any(word in said for word in FULL_WORDS) else "crashed"
    program = PurePosixPath(phase.command.argv[0]).name
    return TrialFailure(category, f"{phase.name}: {program} {how}" + (f"; it said: {said}" if said else ""))


def _reading(workload: Workload[Any], phase: Phase, ended: Exit, folder: Path) -> Reading:
    raw = {path.name: path for path in (folder / "raw").glob("*") if path.is_file()}
    try:
        output = Output(ended, _text(folder / "stdout"), _text(folder / "stderr"), raw)
        reading = workload.parse(phase.name, output)
        json.dumps([dict(reading.values), dict(reading.facts)], allow_nan=False)
    except ParseFailure as failure:
        raise TrialFailure("unreadable-output", f"{phase.name}: {failure.message}") from failure
    except Exception as error:  # a plug-in's mistake costs a trial, never the run
        reason = f"{phase.name}: its output could not be read: {type(error).__name__}: {error}"
        raise TrialFailure("unreadable-output", reason) from error
    if ended.leftovers:
        left = Mark(
            "disturbed", f"{ended.leftovers} processes were still running when {phase.name} had ended"
        )
        return dataclasses.replace(reading, marks=(*reading.marks, left))
    return reading


def _text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(MOST_READ + 1)
    if len(content) > MOST_READ:
        raise ParseFailure(f"{path.name} is larger than {MOST_READ >> 20} MiB")
    return content.decode("utf-8", errors="replace")


def tail(path: Path, most: int = EVIDENCE) -> str:
    """The end of a text file, for evidence; empty when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - most))
            return file.read(most).decode("utf-8", errors="replace").strip()
    except OSError:
        return ""
