"""How often a trial waits for the disk: counted by strace, or from inside where strace is missing."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.floor import TRUE
from bench.process import run
from bench.row import growth
from bench.setting import Setting, steelyard

FEW, MANY = 5, 25
CALLS = ("fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "msync")
_CALL = re.compile(rf"^\s*(?:\d+\s+)?(?:{'|'.join(CALLS)})\(", re.MULTILINE)


def of_a_trial(setting: Setting) -> tuple[float, str]:
    """Syncs in a trial, from two runs so that those of the run itself fall out; and how they were counted."""
    inside = not shutil.which("strace")
    few, many = (_of_a_run(setting, trials, inside=inside) for trials in (FEW, MANY))
    return growth(few, many, MANY - FEW), "from inside, in the controller alone" if inside else "by strace -f"


def _of_a_run(setting: Setting, trials: int, *, inside: bool) -> int:
    store = setting.fresh("syncs")
    noted = store / "syncs.txt"
    counted = ("--repeat", str(trials), "--disturbed", "include")
    arguments = ("run", "-q", "--store", str(store), *counted, "--", TRUE)
    strace = ("strace", "-f", "-qq", "-e", f"trace={','.join(CALLS)}", "-o", str(noted))
    ourselves = (sys.executable, "-m", "bench.syncs", str(noted), *arguments)
    run(
        ourselves if inside else (*strace, *steelyard(*arguments)),
        cwd=Path(__file__).parent.parent,
        env=setting.environment,
    )
    return count(noted.read_text())


def count(trace: str) -> int:
    """The calls in a trace as strace writes it; a line that resumes an interrupted call is no other call."""
    return len(_CALL.findall(trace))


def _noted(call: Callable[[int], None], path: str) -> Callable[[int], None]:
    def noting(file: int) -> None:
        with Path(path).open("a") as notes:
            notes.write(f"{call.__name__}({file})\n")
        call(file)

    return noting


def main(path: str, *arguments: str) -> None:
    """Be `steelyard`, and note every sync as strace would."""
    patched: Any = os
    for name in ("fsync", "fdatasync"):
        setattr(patched, name, _noted(getattr(os, name), path))
    sys.argv[1:] = arguments
    runpy.run_module("steelyard", run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
