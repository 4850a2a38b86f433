"""What a run pays for being watched: the same trials with nobody and with ten who watch in terminals.

Viewers start before the trials that count. They read the store alone and are niced, so that neither a figure
nor a mark should tell whether somebody watches.
"""

from __future__ import annotations

import json
import os
import pty
import selectors
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bench.process import NotMeasured
from bench.row import Row
from bench.setting import Setting

VIEWERS = 10
SETTLED = 8.0
"""Seconds until ten viewers have started on two cores, and their starts disturb nothing any more."""
WORK = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo rate: $i"
EXPERIMENT = f"""
experiment: watched
workload: {{use: command, run: [sh, -c, '{WORK}'], metrics: {{rate: {{regex: 'rate: (\\S+)'}}}}}}
repeat: 400
disturbed: include
"""


def rows(setting: Setting) -> Iterator[Row]:
    """The time of a trial's program with viewers beside none, and how many trials are marked on each side."""
    seconds: dict[int, list[float]] = {0: [], VIEWERS: []}
    marked: dict[int, list[float]] = {0: [], VIEWERS: []}
    for _ in range(2 if setting.quick else 3):
        for viewers, figures in seconds.items():
            trials = _measure(setting, viewers)
            figures.append(statistics.median(trial["metrics"]["wall"] for trial in trials))
            marked[viewers].append(sum(bool(trial["marks"]) for trial in trials) / len(trials))
    watched, alone = tuple(seconds[VIEWERS]), tuple(seconds[0])
    yield Row("watching", f"a program with {VIEWERS} viewers", "s", watched, "nobody", alone, most=1.05)
    share = tuple(marked[VIEWERS])
    yield Row("watching", f"trials marked with {VIEWERS} viewers", "%", share, "nobody", tuple(marked[0]))


def _measure(setting: Setting, viewers: int) -> list[dict[str, Any]]:
    """The trials of a run that began once all viewers were there, for as long as that took."""
    folder = setting.fresh("watched")
    (folder / "watched.yaml").write_text(EXPERIMENT)
    env = {**setting.environment, "STEELYARD_STORE": str(folder / "store")}
    words = (sys.executable, "-m", "steelyard")
    silent = subprocess.DEVNULL
    argv = (*words, "run", "-q", "--undecided", "pass", str(folder / "watched.yaml"))
    run = subprocess.Popen(argv, cwd=folder, env=env, stdin=silent, stdout=silent, stderr=silent)
    try:
        journal = find_journal(folder / "store", "trial-ended")
        with _watching((*words, "watch", "last"), folder, env, viewers):
            time.sleep(SETTLED)
            began = time.time()
            time.sleep(SETTLED)
    finally:
        run.terminate()
        run.wait()
    trials = [json.loads(line) for line in journal.read_text().splitlines()]
    counted = [line for line in trials if line["kind"] == "trial-ended" and line["wall"] > began]
    if len(counted) < 6:
        raise NotMeasured(f"{len(counted)} trials while {viewers} watched")
    return counted


def find_journal(store: Path, kind: str) -> Path:
    """That of a store's run, once it has a line of a kind. Raises NotMeasured."""
    for _ in range(200):
        for path in store.glob("runs/*/journal.ndjson"):
            if kind in path.read_text():
                return path
        time.sleep(0.1)
    raise NotMeasured("the run to be watched did not begin")


@contextmanager
def _watching(argv: tuple[str, ...], folder: Path, env: dict[str, str], count: int) -> Iterator[None]:
    """So many viewers, each in a terminal that somebody reads."""
    ended, selector, viewers = threading.Event(), selectors.DefaultSelector(), []
    for _ in range(count):
        ours, theirs = pty.openpty()
        selector.register(ours, selectors.EVENT_READ)
        viewers.append(
            subprocess.Popen(argv, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
        )
        os.close(theirs)
    reader = threading.Thread(target=_drain, args=(selector, ended))
    reader.start()
    try:
        yield
    finally:
        for viewer in viewers:
            viewer.kill()
            viewer.wait()
        ended.set()
        reader.join()


def _drain(selector: selectors.BaseSelector, ended: threading.Event) -> None:
    while not ended.is_set():
        for key, _ in selector.select(0.1):
            with suppress(OSError):
                os.read(int(key.fd), 65536)
    for key in list(selector.get_map().values()):
        os.close(int(key.fd))
