"""Samples of a phase while it runs: what a program prints is told as it comes, and harms nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from steelyard.controller.trial import live_samples
from steelyard.controller.trial.live_samples import MOST_AT_ONCE, sample_output
from steelyard.plugins import find
from steelyard.store.layout import SAMPLES
from steelyard.testing.contract import recording
from steelyard.workloads.base import Workload
from steelyard.workloads.command import CommandWorkload

if TYPE_CHECKING:
    from conftest import Measure

DATA = Path(__file__).parents[2] / "data" / "contract"
RATE = {"run": ["x"], "metrics": {"rate": {"regex": r"rate: (\S+)$"}}}


def make(**options: Any) -> CommandWorkload:
    return CommandWorkload(CommandWorkload.Options.model_validate(RATE | options))


def samples(folder: Path) -> list[dict[str, float]]:
    path = folder / SAMPLES
    return [json.loads(line)["values"] for line in path.read_text().splitlines()] if path.exists() else []


def watch(workload: Workload[Any], folder: Path, *texts: bytes) -> list[dict[str, float]]:
    """What is told while these texts come, one after the other, with a look after each."""

    async def play() -> None:
        async with sample_output(workload, "run", folder):
            for text in texts:
                with (folder / "stdout").open("ab") as file:
                    file.write(text)
                before = len(samples(folder))
                for _ in range(20):
                    await asyncio.sleep(live_samples.LOOK_EVERY)
                    if len(samples(folder)) > before:
                        break

    (folder / "stderr").touch()
    asyncio.run(play())
    return samples(folder)


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_samples, "LOOK_EVERY", 0.01)


def test_each_look_tells_the_newest_figure(tmp_path: Path) -> None:
    told = watch(make(), tmp_path, b"rate: 1\nrate: 2\n", b"noise\n", b"rate: 3\n")
    assert told == [{"rate": 2.0}, {"rate": 3.0}]


def test_a_torn_line_waits_for_its_end(tmp_path: Path) -> None:
    assert watch(make(), tmp_path, b"rate: 1\nrate: 2", b"5\n") == [{"rate": 1.0}, {"rate": 25.0}]


def test_of_a_flood_the_newest_is_looked_at(tmp_path: Path) -> None:
    flood = b"rate: 1\n" + b"x" * 79 + b"\n" * (2 * MOST_AT_ONCE) + b"rate: 2\n"
    assert watch(make(), tmp_path, flood) == [{"rate": 2.0}]


def test_what_is_no_figure_is_left_out(tmp_path: Path) -> None:
    assert watch(make(), tmp_path, b"rate: nan\nrate: fast\nrate: 1e999\n", b"rate: 4\n") == [{"rate": 4.0}]


class Faulty(CommandWorkload):
    """A plug-in with a mistake."""

    def feed(self, phase: str, stream: str, line: str) -> Mapping[str, float]:
        raise KeyError(line)


def test_a_mistake_costs_the_view_alone(tmp_path: Path) -> None:
    assert watch(Faulty(make().options), tmp_path, b"rate: 1\n", b"rate: 2\n") == []


def test_an_output_that_goes_away_costs_the_view_alone(tmp_path: Path) -> None:
    (tmp_path / "stdout").mkdir()

    async def play() -> None:
        async with sample_output(make(), "run", tmp_path):
            await asyncio.sleep(0.1)

    asyncio.run(play())
    assert samples(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "metric"),
    [("pgbench", "tps"), ("ycsb", "throughput"), ("capacity", "request_rate"), ("command", "rate")],
)
def test_real_output_tells_as_it_comes(name: str, metric: str) -> None:
    kind = find("workloads", name, Workload)  # type: ignore[type-abstract]
    told = [
        workload.feed(phase, stream, line).get(metric)
        for number in range(len(kind.examples))
        if (workload := recording.make_workload(name, number))
        for phase, output in recording.read_recording(DATA, name, number).items()
        for stream, text in (("stdout", output.stdout), ("stderr", output.stderr))
        for line in text.splitlines()
        if not line.startswith("{") or '"at"' in line
    ]
    assert any(value for value in told)


def test_a_trial_keeps_them_where_it_has_no_series_of_its_own(measure: Measure) -> None:
    run = measure(
        "for i in 1 2 3 4; do echo rate: $i; sleep 0.2; done",
        options={"metrics": {"rate": {"regex": r"rate: (\S+)$", "unit": "1/s"}}},
    )
    (copy,) = run.record.series(1)
    assert {sample.values["rate"] for sample in copy} <= {1.0, 2.0, 3.0, 4.0}
    assert copy[-1].values["rate"] == 4.0
    assert all(sample.length > 0 for sample in copy)
