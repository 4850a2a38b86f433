"""How long the worst files and expressions of strangers are looked at, beside plain additions."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.process import run
from bench.row import Row
from bench.setting import Setting

FILES = Path(__file__).parents[1] / "tests" / "spec" / "hostile_files.py"
MOST = 50.0
"""Times a million additions: 1.5 s where those take 30 ms; what grows with a file's square takes minutes."""


def rows(setting: Setting) -> Iterator[Row]:
    """Processor time of the slowest of all, each in a process of its own; what each says, tests/spec says."""
    slowest, additions, names = [], [], set()
    for _ in range(setting.turns):
        found = json.loads(run((sys.executable, str(FILES)), cwd=setting.place).output)
        name = max(found, key=lambda name: float(found[name]["cpu"]))
        slowest.append(float(found[name]["cpu"]))
        additions.append(_additions())
        names.add(name)
    what = f"the slowest of {len(found)} hostile files and expressions"
    note = f"processor time; {', '.join(sorted(names))}"
    beside = "a million additions"
    yield Row("hostile", what, "s", tuple(slowest), beside, tuple(additions), note=note, most=MOST)


def _additions() -> float:
    began = time.process_time()
    sum(number for number in range(1_000_000))
    return time.process_time() - began
