"""Builds real run folders, written by the store's own writer, from made-up figures."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.model.experiment import TITLE
from steelyard.model.keys.requirement import Requirement
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell, Scalar
from steelyard.store.layout import Store
from steelyard.store.reader import RunRecord
from steelyard.store.telemetry import write_parquet
from steelyard.store.writer import RunWriter

BANDWIDTH = Metric("write_bandwidth", "B/s", "higher", "written per second")
LATENCY = Metric("write_latency_p99", "s", "lower", "99 % took at most this long")
Figures = Callable[[Cell, int, random.Random], Mapping[str, Any]]


def figures(cell: Cell, repetition: int, rng: random.Random) -> dict[str, float]:
    """Bandwidth that grows with every number in the cell, and a latency."""
    size = sum(float(level) for level in cell.parameters.values() if isinstance(level, int | float))
    base = 1e9 * (1 + size) ** 0.2
    return {"write_bandwidth": rng.gauss(base, base * 0.02), "write_latency_p99": rng.lognormvariate(-6, 0.1)}


@dataclass
class Plan:
    """What the run shall look like. `failures` and `marks` are by (cell key, repetition)."""

    parameters: Mapping[str, Sequence[Scalar]] = field(default_factory=lambda: {"outstanding": [1, 8, 64]})
    metrics: Sequence[Metric] = (BANDWIDTH, LATENCY)
    figures: Figures = figures
    repetitions: int = 6
    title: str = "synthetic"
    about: str = "Made-up figures"
    text: str = "experiment: synthetic\n"
    require: Sequence[str | tuple[str, ...]] = ()
    until: Mapping[str, Any] | None = None
    outliers: str = "none"
    failures: Mapping[tuple[str, int], tuple[str, str]] = field(default_factory=dict)
    marks: Mapping[tuple[str, int], tuple[Any, ...]] = field(default_factory=dict)
    histograms: Callable[[Cell, int, random.Random], Mapping[str, Mapping[float, int]]] | None = None
    telemetry: Callable[[int], Sequence[Mapping[str, float]]] | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    measured: Callable[[Cell], bool] = lambda cell: True
    copies: Callable[[Cell], int] | None = None
    on: Callable[[Cell], Sequence[str]] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    short: Callable[[int], Mapping[str, int]] | None = None
    at_most: Sequence[str] = ()
    state: str = "complete"
    seed: int = 4711
    in_blocks: bool = True
    design: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cells(self) -> list[Cell]:
        names = list(self.parameters)
        rows = itertools.product(*self.parameters.values())
        return [Cell(dict(zip(names, row, strict=True))) for row in rows]


def build(root: Path, plan: Plan | None = None, **changes: Any) -> RunRecord:
    """Write a run as the controller does and open it."""
    plan = dataclasses.replace(plan or Plan(), **changes)
    folder = Store(root).create(plan.title if TITLE.fullmatch(plan.title) else "synthetic")
    with RunWriter(folder) as writer:
        writer.write_text(folder.experiment, plan.text)
        writer.write_document(folder.design, _design(plan))
        writer.write_document(folder.environment, plan.environment)
        writer.journal.write(
            "run-started",
            run=folder.id,
            experiment=plan.title,
            seed=plan.seed,
            version="0",
            done=0,
            tags=dict(plan.tags),
        )
        for text in plan.warnings:
            writer.journal.write("warning", text=text)
        number = _trials(writer, plan)
        writer.journal.write("run-ended", state=plan.state, reason="", done=number, failed=len(plan.failures))
    return RunRecord(folder)


def _design(plan: Plan) -> dict[str, Any]:
    entries = [(entry,) if isinstance(entry, str) else entry for entry in plan.require]
    repeat = {"at_least": plan.repetitions, "at_most": plan.repetitions, "until": plan.until, "budget": None}
    return {
        "experiment": plan.title,
        "about": plan.about,
        "seed": plan.seed,
        "order": "blocked",
        "repeat": repeat,
        "outliers": plan.outliers,
        "covers": ["SKA1"],
        "tags": dict(plan.tags),
        "metrics": [_plain(metric) for metric in plan.metrics],
        "require": [
            {**dict(zip(("where", "against"), conditions, strict=False)), **_plain(Requirement.parse(that))}
            for that, *conditions in entries
        ],
        "cells": [dict(cell.parameters) for cell in plan.cells],
        **plan.design,
    }


def _trials(writer: RunWriter, plan: Plan) -> int:
    rng = random.Random(plan.seed)
    cells = list(filter(plan.measured, plan.cells))
    repetitions = range(1, plan.repetitions + 1)
    order = [(cell, repetition) for repetition in repetitions for cell in cells]
    order = order if plan.in_blocks else sorted(order, key=lambda trial: cells.index(trial[0]))
    for number, (cell, repetition) in enumerate(order, start=1):
        _trial(writer, plan, cell, repetition, number, rng)
    return len(order)


def _trial(
    writer: RunWriter, plan: Plan, cell: Cell, repetition: int, number: int, rng: random.Random
) -> None:
    same = {"trial": number, "attempt": 1, "repetition": repetition, "parameters": dict(cell.parameters)}
    writer.journal.write("trial-started", **same)
    key = (cell.key, repetition)
    line: dict[str, Any] = {"status": "ok", "seconds": 1.5, "metrics": {}, "marks": []}
    if key in plan.failures:
        category, message = plan.failures[key]
        line |= {"status": "failed", "category": category, "message": message}
    else:
        line["metrics"] = dict(plan.figures(cell, repetition, rng))
    if key in plan.marks:
        names = ("kind", "reason", "cause", "amount", "unit")
        line["marks"] = [dict(zip(names, plan.marks[key], strict=False))]
    line |= {"copies": plan.copies(cell)} if plan.copies else {}
    line |= {"on": list(plan.on(cell))} if plan.on else {}
    line |= {"facts": plan.facts} if plan.facts else {}
    line |= {"at_most": list(plan.at_most)} if plan.at_most else {}
    line |= {"short": dict(plan.short(repetition))} if plan.short else {}
    folder = writer.make_phase_folder(number, "host-0", "command")
    (folder / "stdout").write_text("said\n")
    if plan.histograms:
        bins = {
            name: {str(k): n for k, n in each.items()}
            for name, each in plan.histograms(cell, repetition, rng).items()
        }
        content = {"values": line["metrics"], "histograms": bins}
        writer.write_document(writer.folder.trial(number) / "metrics.json", content)
    if plan.telemetry:
        path = writer.folder.telemetry(number, "host-0", "parquet")
        path.parent.mkdir(parents=True)
        write_parquet(plan.telemetry(number), path)
    writer.journal.write("trial-ended", **same, **line, done=number, failed=0)


def _plain(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


EVENTS = Metric("events_per_second", "1/s", "higher", "events generated")
THROUGHPUT = Metric("throughput", "B/s", "higher", "sent by all copies")
FAILED = Metric("failure_rate", "1", "lower", "copies that failed", over_copies="mean")
MACHINES = {
    "m3.xlarge": (4, 0.0265, 0.475),
    "c4.2xlarge": (8, 0.0395, 0.427),
    "cc2.8xlarge": (32, 0.0269, 0.478),
}
"""Cores, events per second of one core alone, and the efficiency loss with all of them busy."""


def gensim(**changes: Any) -> dict[str, Any]:
    """A plan: event generation with one and with all cores busy on each of three machines."""
    names = list(MACHINES)
    hosts = [
        {"name": f"h{n}", "type": name, "cores": cores, "memory": 2**33, "address": f"127.0.0.{n + 1}"}
        for n, (name, (cores, *_)) in enumerate(MACHINES.items())
    ]

    def copies(cell: Cell) -> int:
        return (
            MACHINES[names[int(str(cell.parameters["machine"]))]][0]
            if cell.parameters["copies"] == "cores"
            else 1
        )

    def figures(cell: Cell, repetition: int, rng: random.Random) -> dict[str, float]:
        _, alone, loss = MACHINES[names[int(str(cell.parameters["machine"]))]]
        total = copies(cell) * alone * (1 if copies(cell) == 1 else 1 - loss)
        return {"events_per_second": rng.gauss(total, 0.01 * total)}

    return {
        "title": "gensim",
        "parameters": {"machine": [0, 1, 2], "copies": [1, "cores"]},
        "metrics": [EVENTS],
        "figures": figures,
        "copies": copies,
        "on": lambda cell: [f"h{cell.parameters['machine']}"],
        "environment": {"hosts": hosts},
        **changes,
    }


def streams(**changes: Any) -> dict[str, Any]:
    """A plan: 20 simultaneous uploads whose total has its knee at 4 streams, and of which one in 40 fails."""
    rates = {1: 1e8, 2: 2e8, 4: 3e8, 8: 3.03e8, 16: 2.97e8}

    def figures(cell: Cell, repetition: int, rng: random.Random) -> dict[str, float]:
        rate = rates[int(str(cell.parameters["streams"]))]
        rate *= 0.9 if cell.parameters.get("protocol") == "gridftp" else 1
        return {"throughput": rng.gauss(rate, 0.01 * rate), "failure_rate": 0.05 * (repetition % 2)}

    return {
        "title": "streams",
        "parameters": {"streams": list(rates), "protocol": ["xrootd", "gridftp"]},
        "metrics": [THROUGHPUT, FAILED],
        "figures": figures,
        "copies": lambda cell: 20,
        "on": lambda cell: ["n1"],
        "design": {"derive": [{"knee": {"parameter": "streams", "metric": "throughput", "tolerance": "5%"}}]},
        **changes,
    }


STREAMS = """
experiment: streams
parameters: {streams: [1, 2, 4]}
workload: {use: command, run: ["true"]}
repeat: 6
"""


def watched(**changes: Any) -> dict[str, Any]:
    """A plan that can be watched, as its file can be read: one trial failed, and one is marked."""
    failures = {("streams=2", 2): ("crashed", "boom\nand more")}
    marks = {("streams=4", 3): ("disturbed", "foreign CPU load: 31 %")}
    told = {"failures": failures, "marks": marks, "text": STREAMS}
    return streams(**{"parameters": {"streams": [1, 2, 4]}, **told, **changes})


def growing(**changes: Any) -> dict[str, Any]:
    """A plan: uploads from 1, 2 and 4 machines whose total grows with the machines to the power of 0.9."""

    def figures(cell: Cell, repetition: int, rng: random.Random) -> dict[str, float]:
        rate = 1e8 * float(str(cell.parameters["machines"])) ** 0.9
        return {"throughput": rng.gauss(rate, 0.01 * rate)}

    return {
        "title": "growing",
        "parameters": {"machines": [1, 2, 4], "simultaneous": [1, 5]},
        "metrics": [THROUGHPUT],
        "figures": figures,
        "copies": lambda cell: int(cell.parameters["machines"]) * int(cell.parameters["simultaneous"]),
        "on": lambda cell: [f"n{n}" for n in range(int(cell.parameters["machines"]))],
        **changes,
    }
