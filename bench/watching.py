"""What a run pays for being watched: the same trials with nobody and with ten who watch in terminals.

Viewers start before the trials that count. They read the store alone and are niced, so that neither a figure
nor a mark should tell whether somebody watches.

They watch one run, and are stopped and continued many times: a machine that others use too drifts more within
ten seconds than viewers cost, but little within two.
"""

from __future__ import annotations

import json
import os
import pty
import selectors
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bench.process import NotMeasured
from bench.row import Row
from bench.setting import Setting

VIEWERS = 10
SETTLED = 8.0
"""Seconds until ten viewers have started on two cores, and their starts disturb nothing any more."""
CAUGHT_UP, TURN = 0.5, 1.5
"""Seconds until viewers that go on have read what they missed; seconds whose trials count."""
WORK = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo rate: $i"
EXPERIMENT = f"""
experiment: watched
workload: {{use: command, run: [sh, -c, '{WORK}'], metrics: {{rate: {{regex: 'rate: (\\S+)'}}}}}}
repeat: 4000
disturbed: include
"""

Span = tuple[float, float]
"""From when until when, by the clock (`time.time`)."""
Trials = list[dict[str, Any]]


def rows(setting: Setting) -> Iterator[Row]:
    """The time of a trial's program with viewers beside none, and how many trials are marked on each side."""
    journal, watched, alone = _take_turns(setting, 10 if setting.quick else 30)
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    trials = [line for line in lines if line["kind"] == "trial-ended"]
    ours, theirs = ([_within(span, trials) for span in spans] for spans in (watched, alone))
    title = f"a program with {VIEWERS} viewers"
    yield Row("watching", title, "s", _medians(ours), "nobody", _medians(theirs), most=1.05)
    title = f"trials marked with {VIEWERS} viewers"
    yield Row("watching", title, "%", _share_marked(ours), "nobody", _share_marked(theirs))


def _take_turns(setting: Setting, turns: int) -> tuple[Path, list[Span], list[Span]]:
    """The journal of a run; when viewers watched it, and when nobody did."""
    folder = setting.fresh("watched")
    (folder / "watched.yaml").write_text(EXPERIMENT)
    env = {**setting.environment, "STEELYARD_STORE": str(folder / "store")}
    words = (sys.executable, "-m", "steelyard")
    silent = subprocess.DEVNULL
    argv = (*words, "run", "-q", "--undecided", "pass", str(folder / "watched.yaml"))
    run = subprocess.Popen(argv, cwd=folder, env=env, stdin=silent, stdout=silent, stderr=silent)
    watched, alone = list[Span](), list[Span]()
    try:
        journal = find_journal(folder / "store", "trial-ended")
        with _watching((*words, "watch", "last"), folder, env) as viewers:
            time.sleep(SETTLED)
            for _ in range(turns):
                watched.append(_let(viewers, signal.SIGCONT))
                alone.append(_let(viewers, signal.SIGSTOP))
            if any(viewer.poll() is not None for viewer in viewers):
                raise NotMeasured("a viewer ended before the trials did")
    finally:
        run.terminate()
        run.wait()
    return journal, watched, alone


def _let(viewers: Sequence[subprocess.Popen[bytes]], watch: signal.Signals) -> Span:
    """Have the viewers go on or stop; the time after that which counts."""
    for viewer in viewers:
        viewer.send_signal(watch)
    time.sleep(CAUGHT_UP)
    began = time.time()
    time.sleep(TURN)
    return began, time.time()


def _within(span: Span, trials: Trials) -> Trials:
    """The trials that began and ended in a span. Raises NotMeasured when there is none."""
    began, ended = span
    inside = [one for one in trials if began < one["wall"] - one["seconds"] and one["wall"] < ended]
    if not inside:
        raise NotMeasured(f"no trial within {ended - began:.1f} s")
    return inside


def _medians(turns: list[Trials]) -> tuple[float, ...]:
    return tuple(statistics.median(trial["metrics"]["wall"] for trial in turn) for turn in turns)


def _share_marked(turns: list[Trials]) -> tuple[float]:
    marked = [bool(trial["marks"]) for turn in turns for trial in turn]
    return (sum(marked) / len(marked),)


def find_journal(store: Path, kind: str) -> Path:
    """That of a store's run, once it has a line of a kind. Raises NotMeasured."""
    for _ in range(200):
        for path in store.glob("runs/*/journal.ndjson"):
            if kind in path.read_text():
                return path
        time.sleep(0.1)
    raise NotMeasured("the run to be watched did not begin")


@contextmanager
def _watching(
    argv: tuple[str, ...], folder: Path, env: dict[str, str]
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The viewers, each in a terminal that somebody reads."""
    ended, selector, viewers = threading.Event(), selectors.DefaultSelector(), []
    for _ in range(VIEWERS):
        ours, theirs = pty.openpty()
        selector.register(ours, selectors.EVENT_READ)
        viewers.append(
            subprocess.Popen(argv, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
        )
        os.close(theirs)
    reader = threading.Thread(target=_drain, args=(selector, ended))
    reader.start()
    try:
        yield viewers
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
