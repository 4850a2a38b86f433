"""Made-up runs, written as a controller writes them, so that reading them can be measured."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steelyard.store.layout import RunFolder, Store
from steelyard.store.telemetry import write_parquet
from steelyard.store.writer import RunWriter

TITLE = "made-up"
EXPERIMENT = "experiment: made-up\nworkload: {use: command, run: [/bin/true]}"
SCALARS = tuple(f"metric_{number}" for number in range(7))
WITH_TELEMETRY = 10
SAMPLES = 60


def big_run(store: Store, cells: int = 100, trials: int = 10) -> RunFolder:
    """A complete run in which every trial has seven scalars and a latency histogram: eight metrics."""
    folder = store.create(TITLE)
    levels = [{"size": index // 10, "threads": index % 10} for index in range(cells)]
    draw = random.Random(1)
    with RunWriter(folder) as writer:
        _begin(writer, levels, trials)
        every = [(cell, repetition) for repetition in range(1, trials + 1) for cell in levels]
        for number, (cell, repetition) in enumerate(every, start=1):
            metrics = {name: draw.lognormvariate(cell["size"] / 5, 0.05) for name in SCALARS}
            _trial(writer, number, repetition, cell, metrics)
            _detail(writer, number, metrics, draw)
        writer.journal.write("run-ended", state="complete", reason="complete", done=len(every), failed=0)
    for number in range(1, WITH_TELEMETRY + 1):
        path = folder.telemetry(number, "local", "parquet")
        path.parent.mkdir(parents=True)
        write_parquet(_telemetry(draw), path)
    return folder


def many_runs(store: Store, runs: int) -> None:
    """That many small runs of six trials, one a minute."""
    first = store.create(TITLE)
    with RunWriter(first) as writer:
        _begin(writer, [{}], 6)
        for number in range(1, 7):
            _trial(writer, number, number, {}, {SCALARS[0]: 1.0 + number / 100})
        writer.journal.write("run-ended", state="complete", reason="complete", done=6, failed=0)
    for number in range(runs):
        day, minute = divmod(number, 24 * 60)
        name = f"202001{day + 1:02d}-{minute // 60:02d}{minute % 60:02d}00-{TITLE}-{number:04x}"
        shutil.copytree(first.path, first.path.with_name(name))
    shutil.rmtree(first.path)


def _begin(writer: RunWriter, cells: list[dict[str, int]], trials: int) -> None:
    folder = writer.folder
    writer.write_text(folder.experiment, EXPERIMENT)
    writer.write_document(folder.design, _design(cells, trials))
    writer.journal.write("run-started", run=folder.id, experiment=TITLE, seed=1, done=0, version="0")


def _design(cells: list[dict[str, int]], trials: int) -> dict[str, Any]:
    scalars = [{"name": name, "unit": "s", "better": "lower", "about": "made up"} for name in SCALARS]
    latency = {"name": "latency", "unit": "s", "better": "lower", "kind": "histogram"}
    return {
        "experiment": TITLE,
        "about": "made up",
        "seed": 1,
        "order": "blocked",
        "repeat": {"at_least": trials, "at_most": trials, "until": None, "budget": None},
        "outliers": "none",
        "covers": [],
        "tags": {},
        "metrics": [*scalars, latency],
        "require": [],
        "cells": cells,
    }


def _trial(
    writer: RunWriter, number: int, repetition: int, cell: dict[str, int], metrics: dict[str, float]
) -> None:
    which: dict[str, Any] = {"trial": number, "attempt": 1, "repetition": repetition, "parameters": cell}
    writer.journal.write("trial-started", **which)
    outcome: dict[str, Any] = {
        "status": "ok",
        "seconds": 0.001,
        "metrics": metrics,
        "marks": [],
        "done": number,
        "failed": 0,
    }
    writer.journal.write("trial-ended", **which, **outcome)


def _detail(writer: RunWriter, number: int, metrics: dict[str, float], draw: random.Random) -> None:
    folder = writer.folder.trial(number)
    folder.mkdir(parents=True)
    bins = {f"{1e-4 * 1.05**step:.6g}": 1 + draw.randrange(1000) for step in range(100)}
    writer.write_document(folder / "metrics.json", {"values": metrics, "histograms": {"latency": bins}})


def _telemetry(draw: random.Random) -> Iterator[dict[str, float]]:
    columns = (
        "cpu_busy",
        "cpu_system",
        "cpu_iowait",
        "memory_used",
        "disk_read",
        "disk_write",
        "pressure_io_some",
    )
    for second in range(SAMPLES):
        yield {"t": float(second), "m": float(second), **{name: draw.random() for name in columns}}


def size_of(folder: Path) -> int:
    """Bytes in a folder, for the note beside a figure."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
