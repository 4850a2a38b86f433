"""What a phase left behind: how it ended, and what its output says."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path, PurePosixPath
from signal import SIGKILL
from typing import Any

from steelyard.errors import ParseFailure, TrialFailure
from steelyard.hosts.short_programs import tail
from steelyard.model.command import Exit, Output, Phase
from steelyard.model.keys.wrap import Conditions
from steelyard.model.metric import Mark, Reading
from steelyard.store.journal import write_failure
from steelyard.store.layout import SAMPLES
from steelyard.workloads.base import Workload

MOST_READ = 64 * 1024 * 1024
MOST_FIGURES = 2 * 1024 * 1024
EVIDENCE = 1500
_KILLED = 128 + SIGKILL  # what a shell or a container ends with whose program was killed
# What a shell, bwrap, ch-run and runc say when they cannot start a program that an image lacks.
_NOT_FOUND = r'exec\w*(?:\(2\))?:? "?{}"?: .*(?:not found|No such file)'
FULL_WORDS = ("No space left on device", "Disk quota exceeded", "ENOSPC")


def judge(phase: Phase, ended: Exit, folder: Path, seconds: float | None, wrap: Conditions) -> None:
    """Raises TrialFailure for a phase that did not end well within so many seconds, and its conditions."""
    if ended.timed_out:
        said = f"{phase.name} did not finish within {seconds:g} s and was terminated"
        raise TrialFailure("timed-out", said)
    if ended.code != 0:
        raise _crash_failure(phase, ended, folder, wrap)


def _crash_failure(phase: Phase, ended: Exit, folder: Path, wrap: Conditions) -> TrialFailure:
    how = f"{'ended' if ended.signal is None else 'was terminated'} {ended.way}"
    said = tail(folder / "stderr", EVIDENCE) or tail(folder / "stdout", EVIDENCE)
    category = "disk-full" if any(word in said for word in FULL_WORDS) else "crashed"
    name = phase.command.argv[0]
    program, memory = PurePosixPath(name).name, wrap.limits.memory
    if wrap.environments and re.search(_NOT_FOUND.format(re.escape(name)), said):
        where = f"image {wrap.image}" if wrap.image else "its environment"
        return TrialFailure("tool-missing", f"{phase.name}: {name} is not in {where} (in: {wrap.inside})")
    if memory and (ended.signal == SIGKILL or ended.code == _KILLED):
        how += f"; the kernel does so if it takes more memory than its limit, {memory}"
    return TrialFailure(category, f"{phase.name}: {program} {how}" + (f"; output: {said}" if said else ""))


def read_output(workload: Workload[Any], phase: Phase, ended: Exit, folder: Path) -> Reading:
    """What the output in a folder says; how it went over time is written beside it.

    Raises TrialFailure when it cannot be read.
    """
    raw = {path.name: path for path in (folder / "raw").glob("*") if path.is_file()}
    try:
        output = Output(ended, _read_text(folder / "stdout"), _read_text(folder / "stderr"), raw)
        reading = workload.parse(phase.name, output)
        figures = json.dumps([dict(reading.values), dict(reading.facts)], allow_nan=False)
        if len(figures) > MOST_FIGURES:  # they all stand in one line of the journal
            most = f"{MOST_FIGURES >> 20} MiB"
            raise ParseFailure(f"its figures and facts take {len(figures) >> 20} MiB; the limit is {most}")
        reading = dataclasses.replace(reading, series=tuple(workload.series(phase.name, output)))
        samples = map(dataclasses.asdict, reading.series)
        lines = [json.dumps(sample, allow_nan=False) + "\n" for sample in samples]
    except ParseFailure as failure:
        raise TrialFailure("unreadable-output", f"{phase.name}: {failure.message}") from failure
    except Exception as error:  # a plug-in's mistake costs a trial, never the run
        reason = f"{phase.name}: cannot read its output: {type(error).__name__}: {error}"
        raise TrialFailure("unreadable-output", reason) from error
    if lines:
        _write_samples(folder / SAMPLES, lines)
    if ended.leftovers:
        many = "1 process was" if ended.leftovers == 1 else f"{ended.leftovers} processes were"
        left = Mark("incomplete", f"{many} still running after {phase.name} ended")
        return dataclasses.replace(reading, marks=(*reading.marks, left))
    return reading


def _write_samples(path: Path, lines: list[str]) -> None:
    try:
        path.write_text("".join(lines))
    except OSError as error:
        raise write_failure(path, error) from error


def _read_text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(MOST_READ + 1)
    if len(content) > MOST_READ:
        raise ParseFailure(f"{path.name} is larger than {MOST_READ >> 20} MiB")
    return content.decode("utf-8", errors="replace")
