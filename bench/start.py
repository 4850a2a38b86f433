"""How soon the command line answers, beside the interpreter's own start."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench.process import in_turns, run
from bench.row import Row
from bench.setting import Setting, steelyard

LIMITS = {"--version": 0.040, "--help": 0.100}
STARTS = 20


def rows(setting: Setting) -> Iterator[Row]:
    """Each answer beside `python -I -c pass`, in turns."""
    commands = {word: steelyard(word) for word in LIMITS}
    commands["bare"] = (sys.executable, "-I", "-c", "pass")

    def seconds(name: str) -> float:
        return run(commands[name], cwd=setting.place, env=setting.environment).seconds

    found = in_turns(STARTS, {name: lambda name=name: seconds(name) for name in commands})  # type: ignore[misc]
    for word, limit in LIMITS.items():
        yield Row("start", f"steelyard {word}", "s", found[word], "python -I -c pass", found["bare"], limit)
