"""Watch the host during a trial: sample it, and judge whether something disturbed the trial.

Short trials are watched cheaply: two readings of two small files. One that is expected to last longer than
`LONG` seconds pays for a table of processes before and after it, which names a culprit, and for telemetry.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from steelyard.collectors import disturbance
from steelyard.collectors.disturbance import Snapshot, judge, quota_files, snapshot
from steelyard.collectors.telemetry import Telemetry, reduced, rows
from steelyard.controller.turn import Turn
from steelyard.errors import StoreError
from steelyard.model.experiment import Telemetry as Asked
from steelyard.model.metric import Mark
from steelyard.remote.base import Host
from steelyard.store.layout import RunFolder
from steelyard.store.telemetry import Sample, read_samples, sample_line, write_parquet

LONG = 0.5
_CGROUP = "/proc/self/cgroup"


class Sampler:
    """Streams raw samples of a host to a file; the file is made when there is a second sample."""

    def __init__(self, host: Host, path: Path, every: float) -> None:
        self.host, self.path, self.every = host, path, every
        self._file: BinaryIO | None = None

    async def sample(self) -> None:
        """Take samples until the task is cancelled; the n-th is due n intervals after the first."""
        due = time.monotonic()
        first = await self._take()
        while True:
            due += self.every
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            latest = await self._take()
            self._write(latest if self._file else first, latest)

    def finish(self) -> None:
        """Turn what was sampled into a Parquet table. Raises StoreError, and then the samples stay."""
        if self._file is None:
            return
        self._file.close()
        samples = ((sample.t, sample.m, sample.raw) for sample in read_samples(self.path))
        write_parquet(rows(samples), self.path.with_suffix(".parquet"))
        self.path.unlink()

    async def _take(self) -> Sample:
        raw = await self.host.read(Telemetry.files)
        return Sample(time.time(), time.monotonic(), reduced(raw))

    def _write(self, earlier: Sample, latest: Sample) -> None:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("wb", buffering=0)
            self._file.write(sample_line(earlier))
        self._file.write(sample_line(latest))


class Watched:
    """What was seen when a trial began; `marks` looks again and judges."""

    def __init__(self, watch: Watch, before: Snapshot, patterns: tuple[str, ...]) -> None:
        self._watch, self._before, self._patterns = watch, before, patterns
        self._began, self._own_before = time.monotonic(), watch.host.own_user_time()

    async def marks(self, user_time: float) -> list[Mark]:
        """What disturbed the trial; `user_time` is what its processes used in user mode, in seconds."""
        host = self._watch.host
        wall = time.monotonic() - self._began
        ours = user_time + host.own_user_time() - self._own_before
        after = snapshot(await host.read(self._patterns))
        found = list(judge(self._before, after, wall=wall, ours=ours, own=host.own_processes()))
        if not self._watch.turn.alone():
            found.append(Mark("disturbed", "another run measured on this machine"))
        return found


class Watch:
    """Watches the trials of a run on one host. `warn` is told what could not be kept."""

    def __init__(
        self, host: Host, folder: RunFolder, asked: Asked, turn: Turn, warn: Callable[[str], None]
    ) -> None:
        self.host, self.turn = host, turn
        self._folder, self._every, self._warn = folder, asked.every, warn
        self._quota: tuple[str, ...] | None = None
        self._lasted: dict[str, float] = {}

    @asynccontextmanager
    async def over(self, number: int, cell: str, expected: float | None) -> AsyncIterator[Watched]:
        """Watch for as long as the block lasts; `expected` is how long that may be, None when unknown."""
        long = self._expected(cell, expected) > LONG
        patterns = await self._patterns(long)
        watched = Watched(self, snapshot(await self.host.read(patterns)), patterns)
        began = time.monotonic()
        try:
            async with self._sampling(number, long):
                yield watched
        finally:
            self._lasted[cell] = time.monotonic() - began

    def _expected(self, cell: str, said: float | None) -> float:
        """As long as the cell took before, else as its options say, else for all we know for ever."""
        return self._lasted.get(cell, math.inf if said is None else said)

    async def _patterns(self, long: bool) -> tuple[str, ...]:
        if self._quota is None:
            found = await self.host.read([_CGROUP])
            self._quota = quota_files(found.get(_CGROUP, ""))
            self._quota = tuple(await self.host.read(self._quota))
        return (*(disturbance.THOROUGH if long else disturbance.QUICK), *self._quota)

    @asynccontextmanager
    async def _sampling(self, number: int, long: bool) -> AsyncIterator[None]:
        if self._every is None or not long:
            yield
            return
        path = self._folder.telemetry(number, self.host.name, "ndjson")
        sampler = Sampler(self.host, path, self._every)
        task = asyncio.create_task(sampler.sample())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await self._ended(task, sampler, number)

    async def _ended(self, task: asyncio.Task[None], sampler: Sampler, number: int) -> None:
        """Telemetry that cannot be kept is a warning: the trial's own figures stand."""
        try:
            with suppress(asyncio.CancelledError):
                await task
            await asyncio.to_thread(sampler.finish)
        except (OSError, StoreError) as error:
            self._warn(f"telemetry of trial {number} could not be kept: {error}")
