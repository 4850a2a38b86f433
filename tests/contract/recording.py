"""Run a workload's example for real, and keep what it left behind as a recording.

A recording is a folder `tests/data/contract/<workload>/<number of the example>/` with a folder per phase
(stdout, stderr, exit.json, raw/) and `expected.json`: the declared metrics and the values of that output.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.model.command import Command, Endpoint, Exit, Output, Place
from steelyard.model.metric import Reading
from steelyard.plugins import builtin_names
from steelyard.spec.bind import workload_class
from steelyard.workloads.base import Workload

DATA = Path(__file__).parents[1] / "data" / "contract"


def cases() -> Iterator[tuple[str, int]]:
    """Every example of every workload."""
    for name in sorted(builtin_names("workloads")):
        yield from ((name, index) for index in range(len(workload_class(name).examples)))


def made(name: str, index: int) -> Workload[Any]:
    """The workload of an example."""
    kind = workload_class(name)
    return kind(kind.Options.model_validate(kind.examples[index]))


def place(scratch: Path, raw: Path, to: Endpoint | None = None) -> Place:
    """A place on this machine."""
    return Place(PurePosixPath(scratch), PurePosixPath(raw), os.cpu_count() or 1, 2**30, seed=1, to=to)


def run(workload: Workload[Any], folder: Path, to: Endpoint | None = None) -> dict[str, Output]:
    """Run all phases in `folder`; what each measured one left behind, by name."""
    scratch = folder / "scratch"
    scratch.mkdir()
    found = {}
    for name in [phase.name for phase in workload.phases(place(scratch, folder, to))]:
        raw = folder / name / "raw"
        raw.mkdir(parents=True)
        phase = next(p for p in workload.phases(place(scratch, raw, to)) if p.name == name)
        found[name] = _output(phase.command, scratch, folder / name)
        assert found[name].exit.code == 0, found[name].stderr
        if not phase.measured:
            del found[name]
    shutil.rmtree(scratch)
    return found


def _output(command: Command, scratch: Path, folder: Path) -> Output:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        command.argv,
        env={**os.environ, **command.variables},
        cwd=command.cwd or scratch,
        input=command.stdin,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    wall = time.monotonic() - began
    exit_ = Exit(done.returncode, None, wall, user, system, after.ru_maxrss * 1024, time.time())
    return Output(exit_, done.stdout, done.stderr, {path.name: path for path in (folder / "raw").iterdir()})


def readings(workload: Workload[Any], outputs: dict[str, Output]) -> Reading:
    """What all phases say together."""
    values: dict[str, float] = {}
    histograms: dict[str, Any] = {}
    for name, output in outputs.items():
        reading = workload.parse(name, output)
        values |= reading.values
        histograms |= reading.histograms
    return Reading(values, histograms)


def record(name: str, index: int, outputs: dict[str, Output]) -> None:
    """Keep the outputs and what they say."""
    folder = DATA / name / str(index)
    shutil.rmtree(folder, ignore_errors=True)
    for phase, output in outputs.items():
        (folder / phase / "raw").mkdir(parents=True)
        place = _place(output)
        (folder / phase / "stdout").write_text(_nameless(output.stdout).replace(place, ""))
        (folder / phase / "stderr").write_text(_nameless(output.stderr).replace(place, ""))
        (folder / phase / "exit.json").write_text(json.dumps(dataclasses.asdict(output.exit)) + "\n")
        for path in output.raw.values():
            (folder / phase / "raw" / path.name).write_text(_nameless(path.read_text().replace(place, "")))
    content = {"recorded": _origin(name), **expected(name, index, recorded(name, index))}
    (folder / "expected.json").write_text(json.dumps(content, indent=1) + "\n")


def recorded(name: str, index: int) -> dict[str, Output]:
    """The recorded outputs of an example, by phase; empty when there are none."""
    found = {}
    for path in sorted((DATA / name / str(index)).glob("*/exit.json")):
        folder = path.parent
        raw = {file.name: file for file in (folder / "raw").glob("*")}
        exit_ = Exit(**json.loads(path.read_text()))
        found[folder.name] = Output(
            exit_, (folder / "stdout").read_text(), (folder / "stderr").read_text(), raw
        )
    return found


def expected(name: str, index: int, outputs: dict[str, Output]) -> dict[str, Any]:
    """What must be found again: declared metrics with unit and direction, and their values."""
    workload = made(name, index)
    reading = readings(workload, outputs)
    metrics = [[metric.name, metric.unit, metric.better] for metric in workload.metrics()]
    bins = {name: [sum(found.values()), min(found), max(found)] for name, found in reading.histograms.items()}
    return {"metrics": metrics, "values": dict(reading.values), "histograms": bins}


def _place(output: Output) -> str:
    """Where the phases ran: no path of the machine that recorded belongs in a recording."""
    return next((str(path.parents[2]) for path in output.raw.values()), "\0")


def _nameless(text: str) -> str:
    """Without the name of the machine that recorded."""
    return re.sub(rf"\b{re.escape(platform.node())}\b", "host", text)


def _origin(name: str) -> dict[str, Any]:
    versions = {}
    for tool in workload_class(name).needs:
        done = subprocess.run(tool.argv(*tool.version), capture_output=True, text=True, check=False)
        versions[tool.name] = (done.stdout or done.stderr).strip().partition("\n")[0]
    return {"date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(), "tools": versions}
