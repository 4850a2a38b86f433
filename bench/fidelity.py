"""How near a replay comes to its application: pairs of both in turns, each replay of the trace before it."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bench.process import NotMeasured, find_load, run
from bench.row import Row
from bench.setting import Setting, steelyard
from steelyard.errors import SteelyardError
from steelyard.plugin import QUANTILES
from steelyard.plugin.workload import Histogram
from steelyard.stats.pairs import compare_pairs
from steelyard.traces.folder import TraceFolder
from steelyard.traces.profile import profile_table
from steelyard.traces.recorder import choose_recorder
from steelyard.traces.recording import complete_trace, run_recorded
from steelyard.traces.replay.plan import make_plan
from steelyard.workloads.replay.output import ReplaySummary, read_summary

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
POSTGRESQL = {
    "services": {"db": {"use": "postgresql", "on": "host", "keep": "trial", "capture": "io"}},
    "workload": {"use": "pgbench", "to": "db", "mode": "simple-update", "duration": "3s"},
}
HDF5 = {"workload": {"use": "hdf5_bench", "ranks": 2, "access": "independent", "capture": "io"}}
PAIRS = 10
Record = Callable[[Setting, Path], TraceFolder]


@dataclass
class Sides:
    """Seconds by what they are of, one for each pair."""

    application: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    replay: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def rows(setting: Setting) -> Iterator[Row]:
    """Total time, and latencies of reads and writes; none is judged, since this storage is like no other."""
    applications: Mapping[str, Record] = {
        "SQLite": partial(_record_program, SQLITE),
        "four threads": partial(_record_program, THREADS),
        "PostgreSQL": partial(_record_trial, POSTGRESQL),
        "HDF5 by two ranks, writing": partial(_record_trial, HDF5, phase="write"),
        "HDF5 by two ranks, reading": partial(_record_trial, HDF5, phase="read"),
    }
    for name, record in applications.items():
        sides = Sides()
        for _ in range(2 if setting.quick else PAIRS):
            place = setting.fresh("fidelity")
            _take_pair(record(setting, place), place, sides)
        for what, theirs in sides.application.items():
            yield _compare(f"{name}, replayed: {what}", sides.replay[what], theirs)


def _compare(what: str, ours: list[float], theirs: list[float]) -> Row:
    """The pairs' ratio with its interval, as a comparison of Steelyard's own tells it."""
    interval = compare_pairs(theirs, ours, better="lower").ratio_interval
    note = f"95 % between {interval.low:.3f} and {interval.high:.3f} times" if interval else ""
    return Row("fidelity", what, "s", tuple(ours), "the application", tuple(theirs), note=note)


def _record_program(source: str, _: Setting, place: Path) -> TraceFolder:
    """A program of Python, which gets a directory for its files."""
    data, folder = place / "data", TraceFolder(place / "trace")
    data.mkdir()
    folder.segments.mkdir(parents=True)
    program = (sys.executable, "-I", "-S", "-c", source, str(data))
    try:
        run_recorded(choose_recorder("io"), folder, program)
    except SteelyardError as error:
        raise NotMeasured(str(error)) from error
    complete_trace(folder)
    return folder


def _record_trial(what: Mapping[str, Any], setting: Setting, place: Path, phase: str = "") -> TraceFolder:
    """The trace that a trial leaves, or that of a phase of it; its files are in the scratch directory."""
    file, store, data = place / "experiment.yaml", place / "store", place / "data"
    file.write_text(
        json.dumps(
            {"experiment": "fidelity", **what, "telemetry": "off", "disturbed": "include", "repeat": 1}
        )
    )
    data.mkdir(mode=0o711)
    argv = steelyard("run", "-q", "--store", str(store), "--scratch", str(data), str(file))
    run(argv, cwd=place, env=setting.environment)
    for document in store.rglob(f"{phase}/trace/trace.json" if phase else "trace.json"):
        return TraceFolder(document.parent)
    raise NotMeasured("the trial left no trace")


def _take_pair(trace: TraceFolder, place: Path, sides: Sides) -> None:
    """What the application took by its trace, and what the replay of that takes."""
    profile = profile_table(trace.table, under=str(place / "data"))
    sides.application["total time"].append(profile.seconds)
    summary = _replay(trace, place)
    sides.replay["total time"].append(summary.seconds)
    for kind, transfers in summary.transfers.items():
        if (group := profile.kinds.get(kind)) is None:
            continue
        histogram = Histogram.of(transfers.latency)
        for label, theirs in (("p50", group.p50), ("p99", group.p99)):
            sides.application[f"{label} of {kind}s"].append(theirs)
            sides.replay[f"{label} of {kind}s"].append(histogram.quantile(QUANTILES[label]))


def _replay(trace: TraceFolder, place: Path) -> ReplaySummary:
    make_plan(trace, place / "plan", under=str(place / "data"))
    job = {"plan": str(place / "plan"), "streams": 1, "speed": 1.0, "open": False, "stagger": 0.0, "seed": 1}
    for stage in ("prepare", "run"):
        said = run((str(find_load()), "replay", json.dumps({**job, "stage": stage})), cwd=place).output
    return read_summary(said)
