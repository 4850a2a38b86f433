"""How soon the command line answers, and what a whole run and its report take, each beside its own floor.

The floor of an answer is the interpreter's start; that of a run is loading three libraries that it cannot
do without or that its users load anyway (numpy, pydantic, click). A run waits for disk and minder, so it is
judged by the CPU time of all its processes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench.process import in_turns, run
from bench.row import Row
from bench.setting import Setting, steelyard

MOST = {"--version": 3.0, "--help": 8.0}
MOST_RUN = 3.0
STARTS = 20
ONE_TRIAL = ("run", "-q", "--repeat", "1", "--disturbed", "include", "--", "true")
LIBRARIES = "import numpy, pydantic, click"


def rows(setting: Setting) -> Iterator[Row]:
    """Each answer beside `python -I -c pass`, in turns; then the run."""
    commands = {word: steelyard(word) for word in MOST}
    commands["bare"] = (sys.executable, "-I", "-c", "pass")

    def seconds(name: str) -> float:
        return run(commands[name], cwd=setting.place, env=setting.environment).seconds

    found = in_turns(STARTS, {name: lambda name=name: seconds(name) for name in commands})  # type: ignore[misc]
    for word, most in MOST.items():
        what = f"steelyard {word}"
        yield Row("start", what, "s", found[word], "python -I -c pass", found["bare"], most=most)
    yield _whole_run(setting)


def _whole_run(setting: Setting) -> Row:
    sides = {"run": lambda: cpu(setting, *steelyard(*ONE_TRIAL)), "libraries": lambda: imports(setting)}
    in_turns(1, sides)  # the modules are compiled by this
    found = in_turns(setting.turns, sides)
    what = "a run of one trial of true, with its report: CPU"
    return Row("start", what, "s", found["run"], LIBRARIES, found["libraries"], most=MOST_RUN)


def imports(setting: Setting) -> float:
    """Seconds of CPU to load the libraries."""
    return cpu(setting, sys.executable, "-c", LIBRARIES)


def cpu(setting: Setting, *argv: str) -> float:
    """Seconds of CPU that a program takes."""
    return run(argv, cwd=setting.place, env=setting.environment).cpu
