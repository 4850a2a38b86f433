"""What recording adds to a storage call: beside a library that only counts, and beside none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from bench.process import NotMeasured, compile_c, in_turns, run
from bench.row import Row
from bench.setting import Setting
from steelyard.errors import SteelyardError
from steelyard.hosts.capturing import preload_variables
from steelyard.traces.library import find_library

CALLS = 200_000
MOST = 3.0  # as many times as a call takes that is counted
SOURCES = Path(__file__).parent


def rows(setting: Setting) -> Iterator[Row]:
    """Seconds of a read of 4 KiB from the cache."""
    try:
        library = find_library()
    except SteelyardError as error:
        raise NotMeasured(str(error)) from error
    place = setting.fresh("recording")
    program = compile_c(SOURCES / "pread.c", place / "pread")
    counting = compile_c(SOURCES / "counting.c", place / "counting.so", "-shared", "-fPIC")
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


def _time(program: Path, data: Path, more: Mapping[str, str]) -> float:
    return float(run((str(program), str(data), str(CALLS)), env={**os.environ, **more}).output)
