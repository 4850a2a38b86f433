"""Run a workload's example for real, and keep what it left behind as a recording.

A recording is a folder `data/contract/<workload>/<number of the example>/` with a folder per phase
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
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from steelyard.errors import NothingMeasured
from steelyard.launchers import find_launcher
from steelyard.model.command import Command, Endpoint, Exit, Output, Place
from steelyard.model.keys.plugin_use import short_name
from steelyard.model.metric import Reading
from steelyard.spec.bind import workload_class
from steelyard.spec.engines import give_engine
from steelyard.traces.folder import TraceFolder
from steelyard.traces.replay.plan import make_plan
from steelyard.workloads.base import Workload

MOST_LONGER = 32


class Measured(NamedTuple):
    """An example that was run: what each measured phase left behind, by name, and what they say together."""

    workload: Workload[Any]
    outputs: dict[str, Output]
    reading: Reading


def make_workload(name: str, index: int, longer: int = 1) -> Workload[Any]:
    """The workload of an example, with so many times its `duration`."""
    kind = workload_class(name)
    options = kind.Options.model_validate(kind.examples[index])
    if longer > 1:
        more = {"duration": f"{longer * options.duration:g}s"}  # type: ignore[attr-defined]
        options = kind.Options.model_validate({**kind.examples[index], **more})
    return give_engine(kind(options))


def make_place(scratch: Path, raw: Path, to: Endpoint | None = None, plan: Path | None = None) -> Place:
    """A place on this machine."""
    laid = PurePosixPath(plan) if plan else None
    cores = os.cpu_count() or 1
    return Place(PurePosixPath(scratch), PurePosixPath(raw), cores, 2**30, seed=1, to=to, plan=laid)


def lay_plan(workload: Workload[Any], folder: Path, root: Path) -> Path | None:
    """The plan of the trace that a workload replays, whose path is from `root`."""
    wanted = workload.trace()
    if wanted is None:
        return None
    make_plan(TraceFolder(root / wanted.name), folder / "replay.plan", under=wanted.under)
    return folder / "replay.plan"


def measure(
    name: str, index: int, folder: Path, to: Endpoint | None = None, root: Path = Path(), *, longer: int = 1
) -> Measured:
    """Run an example; where its time passed before it did anything, again in twice that time.

    A machine whose cores have other work leaves little of a second to a benchmark that takes one.
    Raises NothingMeasured when MOST_LONGER times the time is too short, or there is no `duration`.
    """
    workload = make_workload(name, index, longer)
    outputs = run(workload, folder / f"{longer}-fold", to, root)
    try:
        return Measured(workload, outputs, combine_readings(workload, outputs))
    except NothingMeasured:
        if longer >= MOST_LONGER or getattr(workload.options, "duration", None) is None:
            raise
        return measure(name, index, folder, to, root, longer=2 * longer)


def run(
    workload: Workload[Any], folder: Path, to: Endpoint | None = None, root: Path = Path()
) -> dict[str, Output]:
    """Run all phases in `folder`, which is made; what each measured one left behind, by name.

    `root` is where paths of traces are from.
    """
    scratch = folder / "scratch"
    scratch.mkdir(parents=True)
    plan = lay_plan(workload, folder, root)
    outputs = {}
    for name in [phase.name for phase in workload.phases(make_place(scratch, folder, to))]:
        raw = folder / name / "raw"
        raw.mkdir(parents=True)
        phase = next(p for p in workload.phases(make_place(scratch, raw, to, plan)) if p.name == name)
        command = launch_ranks(workload, phase.command)
        outputs[name] = _run_command(command, scratch, folder / name)
        assert outputs[name].exit.code == 0, outputs[name].stderr
        if not phase.measured:
            del outputs[name]
    shutil.rmtree(scratch)
    return outputs


def launch_ranks(workload: Workload[Any], command: Command) -> Command:
    """The command with as many ranks as the examples of a workload have."""
    ranks = workload.example_ranks
    return command if ranks == 1 else find_launcher("mpirun")(command, ["127.0.0.1"], ranks)


def _run_command(command: Command, scratch: Path, folder: Path) -> Output:
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    began = time.monotonic()
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
    exit_ = Exit(done.returncode, None, wall, user, system, after.ru_maxrss * 1024, started)
    return Output(exit_, done.stdout, done.stderr, {path.name: path for path in (folder / "raw").iterdir()})


def combine_readings(workload: Workload[Any], outputs: Mapping[str, Output]) -> Reading:
    """What all phases say together."""
    values: dict[str, float] = {}
    histograms: dict[str, Any] = {}
    for name, output in outputs.items():
        reading = workload.parse(name, output)
        values |= reading.values
        histograms |= reading.histograms
    return Reading(values, histograms)


def record(data: Path, name: str, index: int, outputs: Mapping[str, Output]) -> None:
    """Keep the outputs and what they say."""
    folder = data / short_name(name) / str(index)
    shutil.rmtree(folder, ignore_errors=True)
    for phase, output in outputs.items():
        (folder / phase / "raw").mkdir(parents=True)
        place = _find_place(output)
        (folder / phase / "stdout").write_text(_hide_name(output.stdout).replace(place, ""))
        (folder / phase / "stderr").write_text(_hide_name(output.stderr).replace(place, ""))
        (folder / phase / "exit.json").write_text(json.dumps(dataclasses.asdict(output.exit)) + "\n")
        for path in output.raw.values():
            (folder / phase / "raw" / path.name).write_text(_hide_name(path.read_text().replace(place, "")))
    content = {"recorded": _describe_origin(name), **expect(name, index, read_recording(data, name, index))}
    (folder / "expected.json").write_text(json.dumps(content, indent=1) + "\n")


def read_recording(data: Path, name: str, index: int) -> dict[str, Output]:
    """The recorded outputs of an example, by phase; empty when there are none."""
    outputs = {}
    for path in sorted((data / short_name(name) / str(index)).glob("*/exit.json")):
        folder = path.parent
        raw = {file.name: file for file in (folder / "raw").glob("*")}
        exit_ = Exit(**json.loads(path.read_text()))
        outputs[folder.name] = Output(
            exit_, (folder / "stdout").read_text(), (folder / "stderr").read_text(), raw
        )
    return outputs


def read_expected(data: Path, name: str, index: int) -> dict[str, Any]:
    """What a recording gave when it was made."""
    content = json.loads((data / short_name(name) / str(index) / "expected.json").read_text())
    return {key: value for key, value in content.items() if key != "recorded"}


def expect(name: str, index: int, outputs: Mapping[str, Output]) -> dict[str, Any]:
    """What must come out again: declared metrics with unit and direction, and their values."""
    workload = make_workload(name, index)
    reading = combine_readings(workload, outputs)
    metrics = [[metric.name, metric.unit, metric.better] for metric in workload.metrics()]
    bins = {name: [sum(each.values()), min(each), max(each)] for name, each in reading.histograms.items()}
    return {"metrics": metrics, "values": dict(reading.values), "histograms": bins}


def _find_place(output: Output) -> str:
    """Where the phases ran: no path of the machine that recorded belongs in a recording."""
    return next((str(path.parents[2]) for path in output.raw.values()), "\0")


def _hide_name(text: str) -> str:
    """Without the name of the machine that recorded."""
    return re.sub(rf"\b{re.escape(platform.node())}\b", "host", text)


def _describe_origin(name: str) -> dict[str, Any]:
    versions = {}
    for tool in workload_class(name).needs:
        done = subprocess.run(tool.argv(*tool.version), capture_output=True, text=True, check=False)
        versions[tool.name] = (done.stdout or done.stderr).strip().partition("\n")[0]
    return {"date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(), "tools": versions}
