"""Time series while a trial runs: raw samples streamed to a file, a table made of them afterwards."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from steelyard.collectors.base import Collector
from steelyard.remote.base import Host
from steelyard.services.base import Metered
from steelyard.store.telemetry import RawSample, read_samples, sample_line, write_parquet


class SampleSource(Protocol):
    """Where samples come from, and how a row a sample is made of them."""

    async def take(self) -> Mapping[str, str]:
        """A sample, as text by name. Raises HostError."""

    def rows(self, samples: Iterable[RawSample]) -> Iterator[Mapping[str, float]]:
        """The rows of the table, each with `t` and `m`."""


class CollectorSource:
    """What a collector reads on a host."""

    def __init__(self, collector: Collector[Any], host: Host) -> None:
        self._collector, self._host, self._files = collector, host, collector.files()

    async def take(self) -> Mapping[str, str]:
        """What of the files is worth keeping."""
        return self._collector.reduce(await self._host.read(self._files))

    def rows(self, samples: Iterable[RawSample]) -> Iterator[Mapping[str, float]]:
        """As the collector makes them."""
        return self._collector.rows(samples)


class ServiceSource:
    """The figures that a service tells of itself."""

    def __init__(self, service: Metered) -> None:
        self._service = service

    async def take(self) -> Mapping[str, str]:
        """Its figures as text; whatever is no finite number is left out."""
        figures = await self._service.read_meters()
        return {name: repr(float(value)) for name, value in figures.items() if math.isfinite(value)}

    def rows(self, samples: Iterable[RawSample]) -> Iterator[Mapping[str, float]]:
        """As they were told."""
        for sample in samples:
            figures = {name: float(value) for name, value in sample.raw.items()}
            yield {"t": sample.t, "m": sample.m, **figures}


class Sampler:
    """Streams raw samples of a source to a file; the file is made when there is a second sample."""

    def __init__(self, source: SampleSource, path: Path, every: float) -> None:
        self.source, self.path, self.every = source, path, every
        self._file: BinaryIO | None = None

    @asynccontextmanager
    async def collect_samples(self) -> AsyncIterator[asyncio.Task[None]]:
        """Take samples for as long as the block lasts. What stopped it early is in the task it gives."""
        task = asyncio.create_task(self._sample())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait([task])  # unlike awaiting the task, this passes on a cancellation of ours

    def finish(self) -> None:
        """Turn what was sampled into a Parquet table. Raises StoreError, and then the samples stay."""
        if self._file is None:
            return
        self._file.close()
        write_parquet(self.source.rows(read_samples(self.path)), self.path.with_suffix(".parquet"))
        self.path.unlink()

    async def _sample(self) -> None:
        """The n-th sample is due n intervals after the first."""
        due = time.monotonic()
        first = await self._take()
        while True:
            due += self.every
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            latest = await self._take()
            self._write(latest if self._file else first, latest)

    async def _take(self) -> RawSample:
        raw = await self.source.take()
        return RawSample(time.time(), time.monotonic(), raw)

    def _write(self, earlier: RawSample, latest: RawSample) -> None:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("wb", buffering=0)
            self._file.write(sample_line(earlier))
        self._file.write(sample_line(latest))
