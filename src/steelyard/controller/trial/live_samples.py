"""Samples of a phase while it runs: its output is read as it grows, and the workload told line by line.

They are appended to the same file that the phase's own series replaces when it has ended, if it has one. At
most `MOST_AT_ONCE` bytes of a stream are looked at each time, the newest: who watches sees less of a flood,
and the trial none of it.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from steelyard.errors import ParseFailure
from steelyard.hosts.tasks import run_tasks
from steelyard.store.layout import SAMPLES
from steelyard.untrusted import open_regular
from steelyard.workloads.base import Workload

LOOK_EVERY = 1.0
MOST_AT_ONCE = 64 * 1024
MOST = 8 * 1024 * 1024
"""Bytes of samples of one phase; whoever has more says it in the end."""
STREAMS = ("stdout", "stderr")


@asynccontextmanager
async def sample_output(workload: Workload[Any], phase: str, folder: Path) -> AsyncIterator[None]:
    """Append samples to a file in the folder of the phase's output, for as long as the block lasts."""
    if type(workload).feed is Workload.feed:
        yield
        return
    live = LiveSamples(workload, phase, folder)
    async with run_tasks(live.follow()):
        yield


class LiveSamples:
    """The newest figures that a phase has printed, once for each look."""

    def __init__(self, workload: Workload[Any], phase: str, folder: Path) -> None:
        self._workload, self._phase, self._folder = workload, phase, folder
        self._read = dict.fromkeys(STREAMS, 0)
        self._looked, self._written = time.time(), 0

    async def follow(self) -> None:
        """Look again and again, until cancelled, or something goes wrong, which costs the view alone."""
        with suppress(Exception):  # a plug-in's mistake, a full disk: the trial's end tells
            try:
                while self._written < MOST:
                    await asyncio.sleep(LOOK_EVERY)
                    self._look()
            finally:
                if self._written:  # what came since the last look ends the series
                    self._look()

    def _look(self) -> None:
        values: dict[str, float] = {}
        for stream in STREAMS:
            for line in self._read_new_lines(stream):
                with suppress(ParseFailure):
                    values |= _keep_numbers(self._workload.feed(self._phase, stream, line))
        now = time.time()
        if values:
            sample = {"at": now, "length": now - self._looked, "values": values}
            with (self._folder / SAMPLES).open("ab") as file:
                self._written += file.write(json.dumps(sample).encode() + b"\n")
        self._looked = now

    def _read_new_lines(self, stream: str) -> list[str]:
        """Whole lines; a torn one waits for its end."""
        with open_regular(self._folder / stream) as file:
            size = file.seek(0, 2)
            start = max(self._read[stream], size - MOST_AT_ONCE)
            file.seek(start)
            whole = file.read(size - start)
        whole = whole[: whole.rfind(b"\n") + 1]
        self._read[stream] = start + len(whole)
        return whole.decode(errors="replace").splitlines()


def _keep_numbers(values: Mapping[str, float]) -> dict[str, float]:
    return {str(name): float(value) for name, value in values.items() if math.isfinite(value)}
