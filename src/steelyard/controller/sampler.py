"""Telemetry of a host while a trial runs: raw samples streamed to a file, a table made of them afterwards."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

from steelyard.collectors.telemetry import Telemetry, reduced, rows
from steelyard.remote.base import Host
from steelyard.store.telemetry import Sample, read_samples, sample_line, write_parquet


class Sampler:
    """Streams raw samples of a host to a file; the file is made when there is a second sample."""

    def __init__(self, host: Host, path: Path, every: float) -> None:
        self.host, self.path, self.every = host, path, every
        self._file: BinaryIO | None = None

    @asynccontextmanager
    async def sampling(self) -> AsyncIterator[asyncio.Task[None]]:
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
        samples = ((sample.t, sample.m, sample.raw) for sample in read_samples(self.path))
        write_parquet(rows(samples), self.path.with_suffix(".parquet"))
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

    async def _take(self) -> Sample:
        raw = await self.host.read(Telemetry.files)
        return Sample(time.time(), time.monotonic(), reduced(raw))

    def _write(self, earlier: Sample, latest: Sample) -> None:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("wb", buffering=0)
            self._file.write(sample_line(earlier))
        self._file.write(sample_line(latest))
