"""A controller is killed with SIGKILL, and within two seconds nothing of its run is left."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Run

HERE = Path(__file__).parent
FIO = ["fio", "--name=load", "--directory=.", "--size=1m", "--numjobs=4", "--ioengine=psync", "--rw=write"]
FIO += ["--bs=4k", "--rate=1m", "--time_based", "--runtime=300", "--group_reporting"]
TREES = {
    "background": (["sh", "-c", "sleep 300 & sleep 300 & sleep 300 & wait"], 4),
    "daemons": (
        ["sh", "-c", "(setsid sleep 300 &); (setsid sh -c 'setsid sleep 300 & wait' &); sleep 300"],
        5,
    ),
    "ignores SIGTERM": (["sh", "-c", "trap '' TERM HUP INT; sleep 300 & setsid sleep 300 & sleep 300"], 4),
    "stopped": (["sh", "-c", "sleep 300 & kill -STOP $$"], 2),
    "bomb": ([sys.executable, "-I", str(HERE / "bomb.py"), "50"], 20),
    "bomb in sessions": ([sys.executable, "-I", str(HERE / "bomb.py"), "50", "setsid"], 20),
    "fio": (FIO, 5),
}


@pytest.mark.parametrize("tree", TREES)
def test_nothing_outlives_a_killed_controller(run: Run, tree: str) -> None:
    argv, size = TREES[tree]
    if not shutil.which(argv[0]):
        pytest.skip(f"{argv[0]} is not installed")
    controller = run.controller("--scratch", json.dumps([argv, argv]))
    assert run.until(lambda: len(run.bearers()) >= 2 * size)
    assert (run.folder / "scratch" / "data").exists()
    controller.kill()
    assert run.all_gone()
    assert not (run.folder / "scratch").exists()


def test_a_forked_copy_of_the_controller_does_not_keep_the_lease(run: Run) -> None:
    controller = run.controller("--fork", json.dumps([["sleep", "300"]]))
    assert controller.stdout
    copy = int(controller.stdout.readline().split()[1])
    try:
        controller.kill()
        assert run.all_gone()
    finally:
        os.kill(copy, signal.SIGKILL)


@pytest.mark.parametrize("seed", range(8))
def test_the_instant_does_not_matter(run: Run, seed: int) -> None:
    """It dies somewhere between its first minder and its hundredth child."""
    controller = run.controller("--scratch", "--endless", "[]")
    assert run.until(lambda: bool(run.minders()))
    time.sleep(random.Random(seed).uniform(0, 0.2))
    controller.kill()
    assert run.all_gone()
    assert not (run.folder / "scratch").exists()
