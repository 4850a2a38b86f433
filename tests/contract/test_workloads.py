"""What every workload must do, run over every workload there is.

`pytest tests/contract --record -k NAME` runs a workload's examples and records their output.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json
import math
import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import ValidationError

from loading import loaded
from steelyard.errors import ParseFailure
from steelyard.model.metric import Better
from steelyard.model.unit import base_unit
from steelyard.plugins import builtin_names
from steelyard.spec.bind import workload_class
from steelyard.tools.find import find_missing

recording = loaded(Path(__file__).with_name("recording.py"))
serving = loaded(Path(__file__).with_name("serving.py"))
QUICK = 2.0  # seconds; an example that takes longer is run in `make test-full` only

NAMES = sorted(builtin_names("workloads"))
CASES = [pytest.param(name, index, id=f"{name}-{index}") for name, index in recording.cases()]
RUNS = [
    pytest.param(
        *case.values,
        id=case.id,
        marks=pytest.mark.full if (recording.made(*case.values).seconds() or 0) > QUICK else (),
    )
    for case in CASES
]


def needed(name: str) -> None:
    for tool in find_missing(workload_class(name).needs):
        pytest.skip(f"{tool.name} is not installed")


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_measures(name):
    doc = inspect.cleandoc(workload_class(name).__doc__ or "")
    assert len(doc) > 80
    assert doc.partition("\n")[0].endswith((".", "?"))


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_described_and_none_is_ignored(name):
    kind = workload_class(name)
    assert kind.examples, "an example makes the catalogue and these tests"
    undescribed = [key for key, field in kind.Options.model_fields.items() if not field.description]
    assert undescribed == []
    with pytest.raises(ValidationError):
        kind.Options.model_validate({**kind.examples[0], "no_such_option": 1})


@pytest.mark.parametrize(("name", "index"), CASES)
def test_metrics_declare_unit_and_direction(name, index):
    metrics = recording.made(name, index).metrics()
    names = [metric.name for metric in metrics]
    histograms = {metric.name for metric in metrics if metric.kind == "histogram"}
    assert len(names) == len(set(names)) > 0
    for metric in metrics:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", metric.name)
        assert base_unit(metric.unit).unit == metric.unit
        assert metric.better in get_args(Better)
        assert (metric.quantile is None) == (metric.histogram is None)
        assert metric.histogram is None or metric.histogram in histograms


@pytest.mark.parametrize(("name", "index"), CASES)
def test_commands_render_and_stay_in_their_place(name, index):
    workload = recording.made(name, index)
    place = recording.place(Path("/scratch/t1"), Path("/store/raw"), serving.place_of_server(workload))
    phases = workload.phases(place)
    assert phases == workload.phases(place), "describing is pure"
    assert any(phase.measured for phase in phases)
    assert len({phase.name for phase in phases}) == len(phases)
    for phase in phases:
        assert re.fullmatch(r"[a-z][a-z0-9_-]*", phase.name)
        assert phase.command.argv
        assert all(isinstance(word, str) and "\0" not in word for word in phase.command.argv)
        text = " ".join([*phase.command.argv, phase.command.stdin or ""])
        outside = [
            path
            for path in re.findall(r"(?<![\w.])/[\w./-]+", text)
            if not path.startswith(("/scratch/t1", "/store/raw", "/dev/"))
        ]
        assert outside == []
    assert workload.disk() >= 0
    assert (workload.seconds() or 0) >= 0


@pytest.mark.parametrize(("name", "index"), RUNS)
def test_real_output_gives_every_declared_metric(name, index, tmp_path, request):
    needed(name)
    workload = recording.made(name, index)
    with serving.serving(workload) as to:
        outputs = recording.run(workload, tmp_path, to)
    if request.config.getoption("--record"):
        recording.record(name, index, outputs)
    check(workload, recording.readings(workload, outputs))
    for phase, output in outputs.items():
        hurt(workload, phase, output, tmp_path)


@pytest.mark.parametrize(("name", "index"), CASES)
def test_recorded_output_gives_what_it_gave(name, index):
    outputs = recording.recorded(name, index)
    if not outputs:
        pytest.fail(f"no recording; make one with: pytest tests/contract --record -k {name}")
    check(recording.made(name, index), recording.readings(recording.made(name, index), outputs))
    kept = json.loads((recording.DATA / name / str(index) / "expected.json").read_text())
    found = json.loads(json.dumps(recording.expected(name, index, outputs)))
    assert found == {key: value for key, value in kept.items() if key != "recorded"}


def check(workload, reading) -> None:
    """A whole reading: every declared metric, nothing else, all of it finite."""
    declared = workload.metrics()
    assert set(reading.values) == {metric.name for metric in declared if metric.kind == "scalar"}
    assert set(reading.histograms) == {metric.name for metric in declared if metric.kind == "histogram"}
    assert all(math.isfinite(value) and value >= 0 for value in reading.values.values())
    for metric in declared:
        if metric.unit == "%":
            assert reading.values[metric.name] <= 64, "shares are ratios, not percent"


def hurt(workload, phase, output, tmp_path) -> None:
    """Empty, truncated and garbage output: the same reading, or a ParseFailure; never a guess."""
    whole = workload.parse(phase, output)
    for kind in ("empty", "half", "garbage"):
        harmed = dataclasses.replace(
            output,
            stdout=harm(output.stdout.encode(), kind).decode(errors="replace"),
            stderr="",
            raw={
                name: written(tmp_path / f"{kind}-{phase}-{name}", harm(path.read_bytes(), kind))
                for name, path in output.raw.items()
            },
        )
        with contextlib.suppress(ParseFailure):
            reading = workload.parse(phase, harmed)
            assert dict(reading.values) == dict(whole.values), f"{kind} output was read as something else"


def harm(content: bytes, kind: str) -> bytes:
    if kind == "empty":
        return b""
    return content[: len(content) // 2] if kind == "half" else bytes(range(256)) * 4


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path
