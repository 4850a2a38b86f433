"""What is kept of the figures that a service tells while something runs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from steelyard.controller.machine.sampler import Sampler, ServiceSource
from steelyard.errors import HostDown, HostError
from steelyard.store.telemetry import read_parquet


class Counting:
    """Tells how often it was asked; a host error from the `last` time on."""

    def __init__(self, last: float = math.inf) -> None:
        self.asked, self.last, self.enough = 0, last, asyncio.Event()

    async def read_meters(self) -> Mapping[str, float]:
        self.asked += 1
        if self.asked >= min(self.last, 5):
            self.enough.set()
        if self.asked >= self.last:
            raise HostError("the ring does not answer")
        return {"live_nodes": self.asked, "pending": math.nan if self.asked == 2 else 0.5}


def sampled(service: Counting, path: Path) -> BaseException | None:
    sampler = Sampler(ServiceSource(service), path, 0.01)

    async def some() -> BaseException | None:
        async with sampler.collect_samples() as task:
            await service.enough.wait()
            await asyncio.sleep(0)
        return None if task.cancelled() else task.exception()

    stopped = asyncio.run(some())
    sampler.finish()
    return stopped


def test_the_figures_of_a_service_become_a_table(tmp_path: Path) -> None:
    service = Counting()
    assert sampled(service, tmp_path / "ring.ndjson") is None
    table = read_parquet(tmp_path / "ring.parquet")
    assert table["live_nodes"][:4] == [1, 2, 3, 4]
    assert table["pending"][:3] == [0.5, None, 0.5]
    assert table["m"] == sorted(table["m"])
    assert not (tmp_path / "ring.ndjson").exists()


def test_what_was_told_before_it_stopped_is_kept(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="does not answer"):
        raise sampled(Counting(last=4), tmp_path / "ring.ndjson") or AssertionError("it told all")
    assert read_parquet(tmp_path / "ring.parquet")["live_nodes"] == [1, 2, 3]


class Killed(Counting):
    """An event takes its host away between the second and the fifth question."""

    async def read_meters(self) -> Mapping[str, float]:
        figures = await super().read_meters()
        if self.asked in (3, 4):
            raise HostDown("host n1 is down")
        return figures


def test_a_host_that_an_event_killed_leaves_a_gap(tmp_path: Path) -> None:
    assert sampled(Killed(), tmp_path / "ring.ndjson") is None
    assert read_parquet(tmp_path / "ring.parquet")["live_nodes"][:5] == [1, 2, None, None, 5]
