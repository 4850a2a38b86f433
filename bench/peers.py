"""Peers doing what a trial does: start /bin/true, wait for it, keep a record.

ReFrame runs tests on HPC systems; a run-only test is repeated, one at a time, as a measurement must be.
hyperfine measures commands, and keeps nothing until it has ended.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from bench import floor
from bench.process import run
from bench.row import growth
from bench.setting import Setting, beside_python

NAMES = ("hyperfine", "ReFrame")
FEW, MANY = 1, 20
TEST = f"""\
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class TrueTest(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "{floor.TRUE}"

    @sanity_function
    def ran(self):
        return sn.assert_eq(self.job.exitcode, 0)
"""


def sides(setting: Setting) -> dict[str, Callable[[], float]]:
    """Seconds for each execution beyond the program itself, of the peers that are here."""
    found: dict[str, Callable[[], float]] = {}
    if shutil.which("hyperfine"):
        found["hyperfine"] = lambda: hyperfine(setting)
    if program := beside_python("reframe"):
        found["ReFrame"] = lambda: reframe(program, setting)
    return found


def hyperfine(setting: Setting) -> float:
    """What each further run takes beyond the bare program."""
    few, many = (_hyperfine(runs, setting) for runs in (10, 10 + setting.trials))
    return growth(few, many, setting.trials) - floor.spawned(setting.trials)


def _hyperfine(runs: int, setting: Setting) -> float:
    said = setting.place / "hyperfine.json"
    argv = ("hyperfine", "-N", "--style", "none", "--runs", str(runs), "--export-json", str(said), floor.TRUE)
    return run(argv, cwd=setting.place).seconds


def reframe(program: Path, setting: Setting) -> float:
    """What each further test takes beyond the bare program."""
    few, many = (_reframe(program, setting, tests) for tests in (FEW, MANY))
    return growth(few, many, MANY - FEW) - floor.spawned(MANY)


def _reframe(program: Path, setting: Setting, tests: int) -> float:
    folder = setting.fresh("reframe")
    (folder / "true.py").write_text(TEST)
    return run(
        (
            *(str(program), "-c", "true.py", "-r", "-q", "--repeat", str(tests), "--exec-policy", "serial"),
            *("--prefix", str(folder / "out"), "--report-file", str(folder / "report.json")),
        ),
        cwd=folder,
        env={**setting.environment, "HOME": str(setting.place)},  # it keeps facts of the machine there
    ).seconds
