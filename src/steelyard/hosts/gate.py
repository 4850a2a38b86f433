"""A command that waits for an instant before it begins, on a host without an agent: this machine."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from steelyard.hosts.base import Process
from steelyard.model.command import Command, Exit

_LOOKS = 40  # 5 ms apart: the probe's helper may still be writing when a short program has ended


class GateRecord(NamedTuple):
    """When a gate let its program go, and when that began, in ns of the wall clock; None for unknown."""

    released: int | None = None
    started: int | None = None


def gate_command(command: Command, at: int, record: Path, probe: Path | None) -> Command:
    """The same command, begun at `at` (ns of the wall clock); the gate notes in `record` how punctual it was.

    With the probe to a fraction of a millisecond; with a shell, best bash, to some milliseconds.
    """
    if probe:
        return command.wrap(str(probe), "gate", str(at), str(record))
    return command.wrap("sh", "-c", read_gate_script(), "sh", str(at), str(record))


def read_gate_script() -> str:
    """The gate for any POSIX shell."""
    return Path(__file__).with_name("gate.sh").read_text("utf-8")


def read_record(fd: int) -> GateRecord:
    """What a gate wrote into an open file: `RELEASED STARTED`; nothing where it was ended before."""
    words = os.pread(fd, 200, 0).decode("ascii", "replace").split()
    if len(words) != 2:
        return GateRecord()
    return GateRecord(*(int(word) if word.isdecimal() else None for word in words))


class GatedProcess:
    """A process behind a gate: its exit says when it was let go, and counts its time from there."""

    def __init__(self, process: Process, record: int) -> None:
        self._process = process
        self._end = asyncio.create_task(self._await_exit(record))
        self._end.add_done_callback(lambda task: task.cancelled() or task.exception())

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def wait(self) -> Exit:
        """How it ended."""
        return await asyncio.shield(self._end)

    async def kill(self, grace: float = 2.0) -> None:
        """End it and all below it, whether it waits or runs."""
        await self._process.kill(grace)

    async def _await_exit(self, record: int) -> Exit:
        try:
            ended = await self._process.wait()
            return adjust_exit(ended, await _await_record(record))
        finally:
            os.close(record)


def adjust_exit(ended: Exit, record: GateRecord) -> Exit:
    """An exit with what the gate noted. An unknown start is that of the release."""
    if record.released is None:
        return ended
    started = (record.started or record.released) / 1e9
    waited = max(started - ended.started, 0.0)
    return replace(ended, started=started, released=record.released / 1e9, wall=max(ended.wall - waited, 0.0))


async def _await_record(record: int) -> GateRecord:
    for _ in range(_LOOKS):
        if (entry := read_record(record)) != GateRecord():
            return entry
        await asyncio.sleep(0.005)
    return GateRecord()
