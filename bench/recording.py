"""What recording adds to a storage call: beside a library or a passthrough that does not tell it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from bench.process import NotMeasured, compile_c, in_turns, run
from bench.row import Row
from bench.setting import Setting
from steelyard.errors import SteelyardError
from steelyard.hosts.capturing import preload_variables
from steelyard.traces.recorder import find_recorder

CALLS = 200_000
MOST = 3.0  # as many times as a call takes that is counted
SHOWN = 20_000
MOST_SHOWN = 1.3  # as many times as a call takes that goes through FUSE, untold
SOURCES = Path(__file__).parent


def rows(setting: Setting) -> Iterator[Row]:
    """Seconds of a read of 4 KiB from the cache."""
    try:
        library, passthrough = find_recorder(), find_recorder("fuse")
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
        setting.turns, {name: partial(_time, (program, data), CALLS, more) for name, more in sides.items()}
    )
    about = "a read of 4 KiB from the cache, recorded"
    yield Row("recording", about, "s", took["recorded"], "counted by a library", took["counted"], most=MOST)
    yield Row("recording", about, "s", took["recorded"], "neither", took["bare"])

    over = (passthrough, "--over", data.parent)
    shown = {"told": (*over, "--into", setting.fresh("segments")), "untold": over}
    took = in_turns(
        setting.turns,
        {name: partial(_time, (*words, "--", program, data), SHOWN) for name, words in shown.items()},
    )
    about = "a read of 4 KiB through FUSE, recorded"
    yield Row("recording", about, "s", took["told"], "passed through", took["untold"], most=MOST_SHOWN)


def _time(words: Sequence[object], calls: int, more: Mapping[str, str] | None = None) -> float:
    argv = (*map(str, words), str(calls))
    return float(run(argv, env={**os.environ, **(more or {})}).output)
