"""What host telemetry costs: the CPU time of a sample, as the run's own sampler takes it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bench.row import Row
from bench.setting import Setting
from steelyard.collectors.telemetry import FILES, TelemetryCollector
from steelyard.controller.machine.sampler import CollectorSource, Sampler
from steelyard.hosts.local import LocalHost
from steelyard.hosts.token import Token
from steelyard.plugin.collector import CollectorOptions

SAMPLES = 60
APART = 0.05
MOST = 2.5  # times as much as opening, reading and closing the same files


class Sampled(NamedTuple):
    """CPU seconds of a sample: in a tight loop, and some time apart; both also for plain reading.

    `table` is how many seconds the table takes that is made of the samples after a trial.
    """

    tight: float
    apart: float
    tight_reading: float
    reading: float
    table: float


def rows(setting: Setting) -> Iterator[Row]:
    """CPU seconds of a sample are the share of a core at one sample a second. The floor reads the same files.

    A tight loop shows the work alone. Samples that lie apart also pay for waking up and for cold caches, the
    more the idler the machine is; during a trial it is not.
    """
    folder = setting.folder("sampling")
    found = [asyncio.run(_sampled(folder)) for _ in range(setting.turns)]
    tight, apart, tight_reading, reading, table = zip(*found, strict=True)
    what, beside = "telemetry at 1 Hz, share of a core", "reading the same files and no more"
    yield Row("sampling", f"{what}: the work alone", "%", tight, beside, tight_reading, most=MOST)
    yield Row("sampling", f"{what}: with waking up", "%", apart, beside, reading, most=MOST)
    yield Row("sampling", f"the table of {SAMPLES} samples, after the trial", "s", table)


async def _sampled(folder: Path) -> Sampled:
    async with LocalHost.open(Token.of("bench"), folder / "minder.log") as host:
        source = CollectorSource(TelemetryCollector(CollectorOptions()), host)
        hurried = Sampler(source, folder / "hurried.ndjson", 0.0)
        tight = await _of_a_sample(hurried, 0.0)
        sampler = Sampler(source, folder / "local.ndjson", APART)
        apart = await _of_a_sample(sampler, APART)
    hurried.finish()
    began = time.perf_counter()
    sampler.finish()
    table = time.perf_counter() - began
    return Sampled(tight, apart, plain_reading(0.0), plain_reading(APART), table)


async def _of_a_sample(sampler: Sampler, apart: float) -> float:
    """CPU seconds of this process for each sample; with no time apart the loop goes from one to the next."""
    began = time.process_time()
    async with sampler.collect_samples():
        for _ in range(1 if apart else SAMPLES):
            await asyncio.sleep((SAMPLES - 0.5) * apart)
    spent = time.process_time() - began
    return spent / sampler.path.read_bytes().count(b"\n")


def plain_reading(apart: float) -> float:
    """CPU seconds that opening, reading and closing the files takes, most of which is the kernel's part."""
    spent = 0.0
    for _ in range(SAMPLES):
        time.sleep(apart)  # as cold as a sampler finds them
        began = time.process_time()
        for name in FILES:
            with suppress(OSError), open(name, "rb", buffering=0) as file:  # noqa: PTH123 - the floor is low
                file.read(1 << 20)
        spent += time.process_time() - began
    return spent / SAMPLES
