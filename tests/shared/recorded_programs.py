"""What tests of traces share: a program, recorded, and the rows of its table."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from steelyard.errors import SteelyardError
from steelyard.hosts.capturing import preload_variables
from steelyard.traces.recorder import find_recorder
from steelyard.traces.segments import TraceSegment, read_segments
from steelyard.traces.table import write_table

Row = dict[str, Any]


class Recorded(NamedTuple):
    """What came of a program: its segments, and all calls in the order in which they began."""

    ended: subprocess.CompletedProcess[str]
    segments: list[TraceSegment]
    rows: list[Row]

    def on(self, path: Path | str, *calls: str) -> list[Row]:
        """Those on a file, of these names if any are given."""
        found = [row for row in self.rows if row["path"] == str(path)]
        return [row for row in found if not calls or row["call"] in calls]


def require_library() -> Path:
    """The library, or the reason why a test is skipped."""
    try:
        return find_recorder()
    except SteelyardError as error:
        pytest.skip(str(error))


def require_passthrough() -> Path:
    """The passthrough, on a machine where it can be used, or the reason why a test is skipped."""
    try:
        program = find_recorder("fuse")
    except SteelyardError as error:
        pytest.skip(str(error))
    argv = [program, "--over", "/tmp", "--", "true"]
    tried = subprocess.run(argv, check=False, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(tried.stderr.strip())
    return program


def run_recorded(place: Path, *argv: object, check: bool = True, **more: Any) -> Recorded:
    """Run a program under the library, with `place / "trace"` for its segments."""
    library, trace = require_library(), place / "trace"
    trace.mkdir(mode=0o700, exist_ok=True)
    env = {**os.environ, **preload_variables(library, trace)}
    words = [str(word) for word in argv]
    ended = subprocess.run(words, env=env, check=False, capture_output=True, text=True, timeout=300, **more)
    assert not check or ended.returncode == 0, ended.stderr
    return read_recorded(place, ended)


def read_recorded(place: Path, ended: subprocess.CompletedProcess[str]) -> Recorded:
    """The segments below `place`, and their table."""
    segments, _ = read_segments(place / "trace")
    return Recorded(ended, segments, read_rows(segments, place / "table.parquet"))


def read_rows(segments: Sequence[TraceSegment], table: Path) -> list[Row]:
    """All rows of the table of segments."""
    write_table(segments, table)
    found = duckdb.read_parquet(str(table))
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def python(code: str, *words: object) -> tuple[str, ...]:
    """A command that runs Python code, without what Python itself reads for a site."""
    return (sys.executable, "-I", "-S", "-c", code, *map(str, words))


def compile_program(place: Path, source: str, *options: str, compiler: str = "cc") -> Path:
    """A C program, compiled; skipped where there is no compiler."""
    program = place / "program"
    (place / "program.c").write_text(source)
    try:
        subprocess.run([compiler, "-O1", "-o", program, place / "program.c", *options], check=True)
    except FileNotFoundError:
        pytest.skip("no C compiler is installed (apt: gcc libc6-dev)")
    return program
