"""How near a replay comes to its application: in turns, each replay of the trace that was recorded before."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.process import NotMeasured, run
from bench.row import Row
from bench.setting import Setting
from steelyard.errors import SteelyardError
from steelyard.plugin import QUANTILES
from steelyard.plugin.workload import Histogram
from steelyard.traces.folder import TraceFolder
from steelyard.traces.profile import CallGroup, profile_table
from steelyard.traces.recorder import choose_recorder
from steelyard.traces.recording import complete_trace, run_recorded
from steelyard.traces.replay.plan import make_plan
from steelyard.workloads.kit.load.options import LOAD
from steelyard.workloads.replay.output import read_summary

SQLITE = """
import random, sqlite3, sys
base, drawn = sqlite3.connect(sys.argv[1] + "/orders.db"), random.Random(1)
base.execute("PRAGMA cache_size = 10")
base.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)")
base.executemany("INSERT INTO orders VALUES (?, ?)", ((n, "x" * 150) for n in range(8000)))
base.commit()
for turn in range(150):
    base.execute("UPDATE orders SET note = 'y' WHERE id = ?", (drawn.randrange(8000),))
    base.commit()
    for _ in range(20):
        base.execute("SELECT note FROM orders WHERE id = ?", (drawn.randrange(8000),)).fetchone()
"""
THREADS = """
import os, sys, threading
def work(number):
    file = os.open(f"{sys.argv[1]}/{number}", os.O_RDWR | os.O_CREAT)
    for turn in range(300):
        os.pwrite(file, bytes(16384), turn * 16384)
        if turn % 20 == 0: os.fsync(file)
        os.pread(file, 16384, turn // 2 * 16384)
        sum(range(2000))
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for each in threads: each.start()
for each in threads: each.join()
"""
PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "SQLite": (sys.executable, "-I", "-S", "-c", SQLITE),
    "four threads": (sys.executable, "-I", "-S", "-c", THREADS),
}


@dataclass
class Turns:
    """Seconds by what they are of, one for each turn."""

    application: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    replay: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def rows(setting: Setting) -> Iterator[Row]:
    """Total time, and latencies of reads and writes; none is judged, since this storage is like no other."""
    for name, program in PROGRAMS.items():
        turns = Turns()
        for number in range(setting.turns):
            trace = _record(program, setting.fresh(f"{name.replace(' ', '-')}-{number}"), turns)
            _replay(trace, turns)
        for what, theirs in turns.application.items():
            ours = tuple(turns.replay[what])
            yield Row("fidelity", f"{name}, replayed: {what}", "s", ours, "the application", tuple(theirs))


def _record(program: tuple[str, ...], place: Path, turns: Turns) -> TraceFolder:
    data, folder = place / "data", TraceFolder(place / "trace")
    data.mkdir()
    folder.segments.mkdir(parents=True)
    try:
        run_recorded(choose_recorder("io"), folder, (*program, str(data)))
    except SteelyardError as error:
        raise NotMeasured(str(error)) from error
    complete_trace(folder)
    profile = profile_table(folder.table, under=str(data))
    turns.application["total time"].append(profile.seconds)
    for kind in ("read", "write"):
        group: CallGroup = profile.kinds[kind]
        turns.application[f"p50 of {kind}s"].append(group.p50)
        turns.application[f"p99 of {kind}s"].append(group.p99)
    return folder


def _replay(trace: TraceFolder, turns: Turns) -> None:
    place = trace.path.parent
    make_plan(trace, place / "plan", under=str(place / "data"))
    job = {"plan": str(place / "plan"), "streams": 1, "speed": 1.0, "open": False, "stagger": 0.0, "seed": 1}
    for stage in ("prepare", "run"):
        said = run(LOAD.argv("replay", json.dumps({**job, "stage": stage})), cwd=place).output
    summary = read_summary(said)
    turns.replay["total time"].append(summary.seconds)
    for kind, transfers in summary.transfers.items():
        histogram = Histogram.of(transfers.latency)
        for label in ("p50", "p99"):
            turns.replay[f"{label} of {kind}s"].append(histogram.quantile(QUANTILES[label]))
