"""Time series while a trial runs: raw samples streamed to a file, a table made of them afterwards."""

from __future__ import annotations

import asyncio
import math
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from steelyard.collectors.base import Collector
from steelyard.errors import HostDown, HostError, HostLost
from steelyard.hosts.base import Host
from steelyard.hosts.short_programs import run_short_program
from steelyard.model.column import Column
from steelyard.model.command import Command, Endpoint
from steelyard.store.columns import write_columns
from steelyard.store.telemetry import RawSample, read_samples, sample_line, write_parquet

if TYPE_CHECKING:  # what only runs with services use
    from steelyard.services.kit.capabilities import Metered

ANSWER_WITHIN = 5.0  # seconds, for a command of a collector


class SampleSource(Protocol):
    """Where samples come from, and how a row a sample is made of them."""

    async def take(self) -> Mapping[str, str]:
        """A sample, as text by name. Raises HostError."""

    def rows(self, samples: Iterable[RawSample]) -> Iterator[Mapping[str, float]]:
        """The rows of the table, each with `t` and `m`."""

    def columns(self, samples: Iterable[RawSample]) -> Mapping[str, Column]:
        """What its columns mean."""


class CollectorSource:
    """What a collector reads on a host, of the host itself or of a server there."""

    def __init__(self, collector: Collector[Any], host: Host, endpoint: Endpoint | None = None) -> None:
        self._collector, self._host = collector, host
        self._files, self._commands = collector.files(), collector.commands(endpoint)

    async def take(self) -> Mapping[str, str]:
        """What of the files, and of what the commands print, is worth keeping."""
        raw = await self._host.read(self._files) if self._files else {}
        if self._commands:
            told = await asyncio.gather(*(self._run(command) for command in self._commands.values()))
            named = zip(self._commands, told, strict=True)
            raw |= {name: text for name, text in named if text is not None}
        return self._collector.reduce(raw)

    def rows(self, samples: Iterable[RawSample]) -> Iterator[Mapping[str, float]]:
        """As the collector makes them."""
        return self._collector.rows(samples)

    def columns(self, samples: Iterable[RawSample]) -> Mapping[str, Column]:
        """As the collector declares them."""
        return self._collector.columns(samples)

    async def _run(self, command: Command) -> str | None:
        """What a command prints; None where it is missing, fails or takes too long."""
        if not command.variables:
            return await self._host.capture(command.argv, seconds=ANSWER_WITHIN)
        with tempfile.TemporaryDirectory(prefix="steelyard-collect-") as folder:
            place: dict[str, Any] = {"cwd": PurePosixPath("/"), "logs": Path(folder), "label": "collector"}
            try:
                return await run_short_program(self._host, command, seconds=ANSWER_WITHIN, **place)
            except HostLost:
                raise
            except HostError:
                return None


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

    def columns(self, samples: Iterable[RawSample]) -> Mapping[str, Column]:
        """A service does not say what its figures mean."""
        return {}


class Sampler:
    """Streams raw samples of a source to a file; the file is made when there is a second sample.

    `what` is the name of what is recorded; `meaning` is where it is written what the columns mean, and
    `silent` what there is to say of a source that told nothing.
    """

    def __init__(
        self,
        source: SampleSource,
        path: Path,
        every: float,
        what: str = "telemetry",
        meaning: Path | None = None,
        silent: str = "",
    ) -> None:
        self.source, self.path, self.every, self.what = source, path, every, what
        self._meaning, self._silent = meaning, silent
        self._file: BinaryIO | None = None

    @property
    def complaint(self) -> str:
        """What there is to say of a source that told nothing so far; empty where it did."""
        return self._silent

    @asynccontextmanager
    async def collect_samples(self) -> AsyncIterator[asyncio.Task[None]]:
        """Take samples for as long as the block lasts. What stopped it early is in the task it gives."""
        task = asyncio.create_task(self._sample())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait([task])  # unlike awaiting the task, this passes on a cancellation of ours
            if self._file is not None:  # of a trial that failed nobody makes a table
                self._file.close()

    def finish(self) -> None:
        """Turn what was sampled into a Parquet table. Raises StoreError, and then the samples stay."""
        if self._file is None:
            return
        self._file.close()
        write_parquet(self.source.rows(read_samples(self.path)), self.path.with_suffix(".parquet"))
        if self._meaning:
            write_columns(self.source.columns(read_samples(self.path)), self._meaning)
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
        try:
            raw = await self.source.take()
        except HostDown:
            raw = {}  # an empty sample leaves a gap in the table, not a rate across it
        self._silent = "" if raw else self._silent
        return RawSample(time.time(), time.monotonic(), raw)

    def _write(self, earlier: RawSample, latest: RawSample) -> None:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("wb", buffering=0)
            self._file.write(sample_line(earlier))
        self._file.write(sample_line(latest))
