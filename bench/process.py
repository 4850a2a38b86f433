"""Run a program and say what it took; run several things in turns."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import SteelyardError
from steelyard.tools.bundled import find_here
from steelyard.workloads.kit.load.options import LOAD

LONGEST = 600.0
_TICK = os.sysconf("SC_CLK_TCK")
EVIDENCE = 400


class NotMeasured(Exception):
    """A program that a figure hangs on is not there, or failed."""


@dataclass(frozen=True, slots=True)
class Finished:
    """What a program took: elapsed seconds, those of CPU with the programs that it waited for, the largest
    resident set in bytes, and what it printed.

    The kernel counts our own memory as a child's until its exec, so `peak` is never below our own size.
    """

    seconds: float
    cpu: float
    peak: int
    output: str


def read_cpu(pid: int) -> float:
    """Seconds of CPU that a process took so far: see proc_pid_stat(5), utime and stime. Raises OSError."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def compile_c(source: Path, program: Path, *options: str) -> Path:
    """A program or a library in C, optimised. Raises NotMeasured where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise NotMeasured(f"there is no C compiler for {source.name} (apt: gcc libc6-dev)")
    run((compiler, "-O2", *options, "-o", str(program), str(source)))
    return program


def find_load() -> Path:
    """This checkout's own load driver. Raises NotMeasured where it is not built."""
    try:
        return find_here(LOAD)
    except SteelyardError as error:
        raise NotMeasured(str(error)) from error


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    ok: tuple[int, ...] = (0,),
) -> Finished:
    """Run a program to its end. Raises NotMeasured when it is missing, hangs, or ends with another code."""
    with tempfile.TemporaryFile() as printed:
        began = time.perf_counter()
        try:
            process = subprocess.Popen(
                argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed
            )
        except OSError as error:
            raise NotMeasured(f"{argv[0]}: {error.strerror}") from error
        guard = threading.Timer(LONGEST, process.kill)
        guard.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            guard.cancel()
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        output = printed.read().decode(errors="replace")
    if process.returncode not in ok:
        raise NotMeasured(
            f"{Path(argv[0]).name} ended with {process.returncode}: {output[-EVIDENCE:].strip()}"
        )
    return Finished(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, output)


def in_turns(turns: int, sides: Mapping[str, Callable[[], float]]) -> dict[str, tuple[float, ...]]:
    """Measure every side once, then every side again, A B C A B C …; the figures of each side."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(turns):
        for name, measure in sides.items():
            found[name].append(measure())
    return {name: tuple(figures) for name, figures in found.items()}
