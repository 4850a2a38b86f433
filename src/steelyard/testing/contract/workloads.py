"""What every workload must do."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json
import math
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from steelyard.errors import ParseFailure
from steelyard.model.command import Endpoint, Output
from steelyard.model.metric import Reading
from steelyard.model.tool import Tool
from steelyard.plugins import find
from steelyard.services.base import Service
from steelyard.testing.contract import recording
from steelyard.testing.contract.bench import deployed_service
from steelyard.testing.contract.suite import Contract, Parameters, check_metrics, check_options, skip_without
from steelyard.workloads.base import ANY_SERVICE, Workload

MPIRUN = Tool("mpirun", apt="openmpi-bin", dnf="openmpi")
QUICK = 2.0  # seconds; an example that takes longer has the `slow` mark

MOST_LINES = 200


class WorkloadContract(Contract):
    """What every workload must do. `slow` marks runs of examples that take long.

    A workload that talks to a service finds it deployed by its plug-in on this machine; `serve` and
    `find_server` may give it another one.
    """

    kind = "workloads"
    base = Workload
    slow: ClassVar[tuple[pytest.MarkDecorator, ...]] = ()

    @classmethod
    def parameters(cls) -> Parameters:
        """A `name`, an `example`, and one that is to `run`."""
        examples = cls.number_examples()
        runs = [pytest.param(*one.values, id=one.id, marks=cls._marks(*one.values[0])) for one in examples]
        return {"name": sorted(cls.names), "example": examples, "run": runs}

    @classmethod
    def data(cls) -> Path:
        """Where recordings lie: beside the file of the tests."""
        return Path(str(sys.modules[cls.__module__].__file__)).parent / "data" / "contract"

    @classmethod
    def serve(cls, workload: Workload[Any]) -> AbstractContextManager[Endpoint | None]:
        """The service of a workload for as long as the block lasts."""
        return _serve(workload)

    @classmethod
    def find_server(cls, workload: Workload[Any]) -> Endpoint | None:
        """Where a server might be, for commands that are only looked at."""
        name = _choose_service(workload)
        return Endpoint("127.0.0.1", 4711, {"protocol": name, "path": "/scratch/t1"}) if name else None

    @classmethod
    def _marks(cls, name: str, index: int) -> tuple[pytest.MarkDecorator, ...]:
        return cls.slow if (recording.make_workload(name, index).seconds() or 0) > QUICK else ()

    def test_it_says_what_it_measures(self, name: str) -> None:
        doc = inspect.cleandoc(self.find(name).__doc__ or "")
        assert len(doc) > 80
        assert doc.partition("\n")[0].endswith((".", "?"))

    def test_every_option_is_described_and_none_is_ignored(self, name: str) -> None:
        kind = self.find(name)
        assert kind.examples, "an example makes the catalogue and these tests"
        check_options(kind.Options, kind.examples[0])

    def test_metrics_declare_unit_and_direction(self, example: tuple[str, int]) -> None:
        metrics = recording.make_workload(*example).metrics()
        assert metrics
        check_metrics(metrics)

    def test_commands_render_and_stay_in_their_place(self, example: tuple[str, int]) -> None:
        workload = recording.make_workload(*example)
        place = recording.make_place(Path("/scratch/t1"), Path("/store/raw"), self.find_server(workload))
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
                for path in re.findall(r"(?<![\w./!$])/[\w-][\w./-]*", text)  # `#!/bin/sh` is a shell's
                if not path.startswith(("/scratch/t1", "/store/raw", "/dev/", "/proc/"))
            ]
            assert outside == []
        assert workload.disk() >= 0
        assert (workload.seconds() or 0) >= 0

    def test_its_phases_are_known_before_its_service_is(self, example: tuple[str, int]) -> None:
        workload = recording.make_workload(*example)
        place = recording.make_place(Path("/scratch/t1"), Path("/store/raw"))
        with_server = dataclasses.replace(place, to=self.find_server(workload))
        assert [phase.name for phase in workload.phases(place)] == [
            phase.name for phase in workload.phases(with_server)
        ]

    def test_real_output_gives_every_declared_metric(
        self, run: tuple[str, int], tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        skip_without(self.find(run[0]).needs)
        workload = recording.make_workload(*run)
        skip_without((MPIRUN,) if workload.example_ranks > 1 else ())
        with self.serve(workload) as to:
            measured = recording.measure(*run, tmp_path, to, request.config.rootpath)
        if request.config.getoption("--record", default=False):
            recording.record(self.data(), *run, measured.outputs)
        check_reading(measured.workload, measured.reading)
        for phase, output in measured.outputs.items():
            check_harmed_output(measured.workload, phase, output, tmp_path)

    def test_recorded_output_gives_what_it_gave(self, example: tuple[str, int]) -> None:
        outputs = recording.read_recording(self.data(), *example)
        if not outputs:
            pytest.fail(
                "no recording; make one with: pytest -p steelyard.testing.pytest_plugin --record "
                f"-k {example[0]}"
            )
        workload = recording.make_workload(*example)
        check_reading(workload, recording.combine_readings(workload, outputs))
        outcome = json.loads(json.dumps(recording.expect(*example, outputs)))
        assert outcome == recording.read_expected(self.data(), *example)
        for phase, output in outputs.items():
            check_fed_lines(workload, phase, output)


def check_reading(workload: Workload[Any], reading: Reading) -> None:
    """A whole reading: every declared metric, nothing else, all of it finite."""
    declared = workload.metrics()
    assert set(reading.values) == {metric.name for metric in declared if metric.kind == "scalar"}
    assert set(reading.histograms) == {metric.name for metric in declared if metric.kind == "histogram"}
    assert all(math.isfinite(value) and value >= 0 for value in reading.values.values())
    for metric in declared:
        if metric.unit == "%":
            assert reading.values[metric.name] <= 64, "shares are ratios, not percent"


def check_fed_lines(workload: Workload[Any], phase: str, output: Output) -> None:
    """What people watch, line by line: figures of declared metrics; of a torn line a ParseFailure at most."""
    declared = {metric.name for metric in workload.metrics()}
    for stream, text in (("stdout", output.stdout), ("stderr", output.stderr)):
        for line in text.splitlines()[:MOST_LINES]:
            for part in (line, line[: len(line) // 2], line[::-1]):
                with contextlib.suppress(ParseFailure):
                    assert set(workload.feed(phase, stream, part)) <= declared


def check_harmed_output(workload: Workload[Any], phase: str, output: Output, folder: Path) -> None:
    """Empty, truncated and garbage output: the same reading, or a ParseFailure; never a guess."""
    whole = workload.parse(phase, output)
    for kind in ("empty", "half", "garbage"):
        with contextlib.suppress(ParseFailure):
            reading = workload.parse(phase, _harm_output(output, kind, folder / f"{kind}-{phase}"))
            assert dict(reading.values) == dict(whole.values), f"{kind} output was read as something else"


def _harm_output(output: Output, kind: str, place: Path) -> Output:
    """The output after that harm; its files are written beside each other, with `place` as their prefix."""
    stdout = _harm(output.stdout.encode(), kind).decode(errors="replace")
    raw = {
        name: _write(place.with_name(f"{place.name}-{name}"), _harm(path.read_bytes(), kind))
        for name, path in output.raw.items()
    }
    return dataclasses.replace(output, stdout=stdout, stderr="", raw=raw)


def _harm(content: bytes, kind: str) -> bytes:
    if kind == "empty":
        return b""
    return content[: len(content) // 2] if kind == "half" else bytes(range(256)) * 4


def _write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _choose_service(workload: Workload[Any]) -> str:
    """The service that an example is meant for; empty when for none."""
    return min(workload.find_services() - {ANY_SERVICE}, default="")


@contextmanager
def _serve(workload: Workload[Any]) -> Iterator[Endpoint | None]:
    name = _choose_service(workload)
    if not name:
        yield None
        return
    kind = find("services", name, Service)  # type: ignore[type-abstract]
    skip_without(kind.needs)
    with deployed_service(name, kind.examples[0]) as endpoint:
        yield endpoint
