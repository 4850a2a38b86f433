"""The calls of a thread as a plan has them: 64 bytes each, and what each waits for behind them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from steelyard.errors import UsageError
from steelyard.traces.calls import list_calls
from steelyard.traces.replay.memory import MemoryLayout
from steelyard.traces.replay.order import CallMark

OPERATION = np.dtype(
    [
        *(("start", "<u8"), ("duration", "<u8"), ("result", "<i8"), ("offset", "<i8"), ("size", "<u8")),
        *(("call", "<u2"), ("unused", "<u2"), ("handle", "<u4"), ("path", "<u4"), ("other", "<u4")),
        *(("extra", "<u4"), ("waits_end", "<u4")),
    ]
)
TRANSFERS = ("read", "write")
_MOVING = [call.number for call in list_calls() if call.kind in TRANSFERS]
_PACKED, _WAIT = struct.Struct("<QQqqQHHIIIII"), struct.Struct("<II")
_NONE = 0xFFFFFFFF


class Operation(NamedTuple):
    """A call that is to be made. `extra` of a transfer is the page of its data, 0 where it is not known."""

    start: int
    duration: int
    result: int
    offset: int
    size: int
    call: int
    handle: int | None
    path: int
    other: int | None
    extra: int


@dataclass
class Thread:
    """One that was recorded, of a process: its calls, and behind each what it waits for."""

    process: int
    _operations: bytearray = field(default_factory=bytearray)
    _waits: bytearray = field(default_factory=bytearray)

    def __len__(self) -> int:
        return len(self._operations) // _PACKED.size

    def add(self, made: Operation, after: Iterable[CallMark]) -> None:
        """Its next call. Raises UsageError for numbers that no call has."""
        self._waits += b"".join(_WAIT.pack(mark.thread, mark.nth) for mark in after)
        handle, other = (_NONE if each is None else each for each in (made.handle, made.other))
        numbers = (*made[:6], 0, handle, made.path, other, made.extra, self.count_waits())
        try:
            self._operations += _PACKED.pack(*numbers)
        except struct.error as error:
            raise UsageError(f"the trace has a call with numbers that no call has: {error}") from error

    def count_waits(self) -> int:
        """How many calls its calls wait for."""
        return len(self._waits) // _WAIT.size

    def read_operations(self) -> np.ndarray[Any, Any]:
        """Its calls, with the columns of `OPERATION`."""
        return np.frombuffer(self._operations, OPERATION).copy()

    def lay_out(self, layout: MemoryLayout, waits_before: int) -> tuple[memoryview, memoryview]:
        """Calls and waits, where pages of memory have their places and waits of other threads come before."""
        rows = self.read_operations()
        rows["waits_end"] += waits_before
        moving = np.isin(rows["call"], _MOVING)
        rows["extra"][moving] = layout.find(self.process, rows["extra"][moving])
        return memoryview(rows.view(np.uint8).data), memoryview(self._waits)
