"""What recording adds to a storage call: beside a library that only counts, and beside none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from bench.process import NotMeasured, in_turns, run
from bench.row import Row
from bench.setting import Setting
from steelyard.errors import SteelyardError
from steelyard.traces.library import find_library, preload_variables

CALLS = 200_000
MOST = 3.0  # as many times as a call takes that is counted
SOURCES = Path(__file__).parent


def rows(setting: Setting) -> Iterator[Row]:
    """Seconds of a read of 4 KiB from the cache."""
    try:
        library = find_library()
    except SteelyardError as error:
        raise NotMeasured(str(error)) from error
    program, counting = _compile(setting.fresh("recording"))
    data, trace = setting.fresh("data") / "data", setting.fresh("trace")
    data.write_bytes(bytes(256 * 4096))
    sides = {
        "recorded": preload_variables(library, trace),
        "counted": {"LD_PRELOAD": str(counting)},
        "bare": {},
    }
    took = in_turns(
        setting.turns, {name: partial(_time, program, data, more) for name, more in sides.items()}
    )
    about = "a read of 4 KiB from the cache, recorded"
    yield Row("recording", about, "s", took["recorded"], "counted by a library", took["counted"], most=MOST)
    yield Row("recording", about, "s", took["recorded"], "neither", took["bare"])


def _compile(place: Path) -> tuple[Path, Path]:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise NotMeasured("there is no C compiler (apt: gcc libc6-dev)")
    program, counting = place / "pread", place / "counting.so"
    run((compiler, "-O2", "-o", str(program), str(SOURCES / "pread.c")))
    run((compiler, "-O2", "-shared", "-fPIC", "-o", str(counting), str(SOURCES / "counting.c")))
    return program, counting


def _time(program: Path, data: Path, more: Mapping[str, str]) -> float:
    return float(run((str(program), str(data), str(CALLS)), env={**os.environ, **more}).output)
