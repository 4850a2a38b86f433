"""The plan of a replay: the file that `steelyard-load replay` reads."""

from __future__ import annotations

import heapq
import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.errors import StoreError, UsageError
from steelyard.files import write_whole
from steelyard.traces.calls import list_calls
from steelyard.traces.folder import TraceFolder
from steelyard.traces.replay.memory import MemoryLayout, MemoryPages
from steelyard.traces.replay.order import CallMark, ReplayOrder
from steelyard.traces.replay.places import Landmarks, find_place
from steelyard.traces.replay.rows import Row, read_rows
from steelyard.traces.replay.thread import TRANSFERS, Operation, Thread
from steelyard.traces.replay.tree import Given, Tree

VERSION = 3
LARGEST = 0x7FFFF000
"""Bytes that the kernel moves in one call at most."""
MOST_THREADS = 10_000
_NUMBERS = {call.name: call.number for call in list_calls()}
_LEFT_OUT = frozenset({"flock", "chown", "msync", "mmap"})


@dataclass
class Planner:
    """Takes in all calls of a trace in their order.

    `under`: only calls on paths below it. `parents` are the processes' own by their numbers, `cpus` the only
    ones that they might run on, where that is so.
    """

    tree: Tree
    name: str = ""
    under: str = ""
    parents: Mapping[int, int] = field(default_factory=dict)
    cpus: Mapping[int, int] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    threads: list[Thread] = field(default_factory=list)
    handles: int = 0
    _numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    _paths: dict[str, int] = field(default_factory=dict)
    _open: dict[tuple[int, int], int] = field(default_factory=dict)
    _opening: list[tuple[int, int, int, int]] = field(default_factory=list)
    _order: ReplayOrder = field(default_factory=ReplayOrder)
    _memory: MemoryPages = field(default_factory=MemoryPages)

    def take(self, row: Row) -> None:
        """One call, or the note of a descriptor that was open before."""
        path, other = find_place(row.path), find_place(row.other)
        self._settle(row.start)
        if row.kind == "note":
            self._take_note(row, path)
        elif path is None or not self._is_meant(row) or row.call in _LEFT_OUT or row.call not in _NUMBERS:
            self.left_out[row.call] += 1
        elif (row.size or 0) > LARGEST and row.kind in TRANSFERS:
            raise UsageError(f"a {row.call} of {row.size} bytes is more than any system makes: damaged trace")
        else:
            self._take_call(row, path, other)

    def _take_note(self, row: Row, path: str | None) -> None:
        if row.call == "found" and path is not None and self._is_meant(row) and row.descriptor is not None:
            handle = self._give_handle(row, row.descriptor)
            self.tree.learn_open_before(row, path, handle, row.detail)

    def _take_call(self, row: Row, path: str, other: str | None) -> None:
        handle = self._find_handle(row)
        if handle is None and row.descriptor is not None and row.call != "open":
            self.left_out[row.call] += 1
            return
        source = self._find_source(row)
        if row.call == "dup" and source is None and handle is not None:
            self.tree.learn_open_before(row, path, handle)  # its source's note comes later, or never
            self.left_out[row.call] += 1
            return
        real = self.tree.links.find_file(row, path)
        real_other = other and self.tree.links.find_file(row, other)
        self.tree.learn(row, real, real_other)
        number = self._find_thread(row)
        thread = self.threads[number]
        mark = CallMark(row.end, number, len(thread) + 1)
        second = source if other is None else self._number(other)
        made = Operation(
            *(row.start, row.duration, row.outcome, _offset(row), _size(row), _NUMBERS[row.call]),
            *(handle, self._number(path), second, self._find_extra(row)),
        )
        thread.add(made, self._order.find_waits(row, mark, real, real_other, handle))

    def _find_extra(self, row: Row) -> int:
        if row.kind in TRANSFERS:
            return self._memory.note(row.process, row.detail, row.size or 0)
        return (row.detail or 0) & 0xFFFFFFFF

    def _is_meant(self, row: Row) -> bool:
        return not self.under or (row.path or "").startswith(f"{self.under.rstrip('/')}/")

    def _find_thread(self, row: Row) -> int:
        key = (row.process, row.thread)
        if key not in self._numbers:
            self._numbers[key] = len(self.threads)
            self.threads.append(Thread(row.process))
        return self._numbers[key]

    def _number(self, path: str) -> int:
        return self._paths.setdefault(path, len(self._paths))

    def _give_handle(self, row: Row, descriptor: int) -> int:
        """The process has it from the end of the call on: until then, the number may be that of another."""
        handle, self.handles = self.handles, self.handles + 1
        heapq.heappush(self._opening, (row.end, handle, row.process, descriptor))
        return handle

    def _settle(self, now: int) -> None:
        while self._opening and self._opening[0][0] <= now:
            _, handle, process, descriptor = heapq.heappop(self._opening)
            self._open[process, descriptor] = handle

    def _find_handle(self, row: Row) -> int | None:
        if row.descriptor is None:
            return None
        if row.call in ("open", "dup"):
            return self._give_handle(row, row.descriptor) if row.error is None else None
        if row.call == "close":
            return self._open.pop((row.process, row.descriptor), None)
        return self._look_up(row.process, row.descriptor)

    def _find_source(self, row: Row) -> int | None:
        """The handle that a copy is made of."""
        if row.call == "dup" and row.detail is not None:
            return self._look_up(row.process, row.detail)
        return None

    def _look_up(self, process: int | None, descriptor: int) -> int | None:
        """That of the process, or of the one that it was forked from."""
        seen = set[int]()
        while process is not None and process not in seen:
            if (handle := self._open.get((process, descriptor))) is not None:
                return handle
            seen.add(process)
            process = self.parents.get(process)
        return None

    def write(self, path: Path) -> None:
        """The plan, whole or not at all. Raises StoreError, and UsageError for one that nobody can run."""
        if not any(map(len, self.threads)):
            raise UsageError("there is no call in this trace that can be made again")
        if len(self.threads) > MOST_THREADS:
            raise UsageError(
                f"{len(self.threads)} threads are more than {MOST_THREADS}; `steelyard trace cut`"
            )
        given = [self._describe_given(each) for each in self.tree.given]
        layout = self._memory.lay_out()
        operations, waits = self._lay_out_threads(layout)
        head = {
            "version": VERSION,
            "paths": list(self._paths),
            "given": given,
            "threads": [len(thread) for thread in self.threads],
            "waits": sum(thread.count_waits() for thread in self.threads),
            "handles": self.handles,
            "pages": layout.pages,
            "cores": self._find_cores(),
            "trace": self.name,
            "left_out": dict(self.left_out),
        }
        try:
            write_whole(path, b"".join((json.dumps(head).encode(), b"\n", *operations, *waits)))
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from error

    def _find_cores(self) -> list[int | None]:
        """Which threads ran on another core than others, since their processes were bound to it."""
        bound = sorted({self.cpus[each.process] for each in self.threads if each.process in self.cpus})
        numbers = {cpu: number for number, cpu in enumerate(bound)} if len(bound) > 1 else {}
        return [numbers.get(self.cpus.get(each.process, -1)) for each in self.threads]

    def _describe_given(self, given: Given) -> dict[str, Any]:
        return {
            "path": self._number(given.path),
            "kind": given.kind,
            "size": given.size,
            "handle": given.handle,
            "flags": given.flags,
            "target": None if given.target is None else self._number(given.target),
        }

    def _lay_out_threads(self, layout: MemoryLayout) -> tuple[list[memoryview], list[memoryview]]:
        operations, waits, before = list[memoryview](), list[memoryview](), 0
        for thread in self.threads:
            calls, after = thread.lay_out(layout, before)
            operations.append(calls)
            waits.append(after)
            before += thread.count_waits()
        return operations, waits


def make_plan(trace: TraceFolder, target: Path, *, under: str = "") -> Planner:
    """Write the plan of a trace. Raises StoreError, UsageError."""
    trace.verify()
    processes = trace.read_document().get("processes", ())
    parents = {each["process"]: each["parent"] for each in processes}
    landmarks = Landmarks.of(read_rows(trace.table))
    tree = Tree(frozenset(landmarks.directories), landmarks.links)
    cpus = {each["process"]: each["cpu"] for each in processes if "cpu" in each}
    planner = Planner(tree, trace.id, under, parents, cpus)
    for row in read_rows(trace.table):
        planner.take(row)
    planner.write(target)
    return planner


def _offset(row: Row) -> int:
    return -1 if row.offset is None else row.offset


def _size(row: Row) -> int:
    """Bytes; of an open that creates, the mode, which no trace tells. A seek has a distance there."""
    if row.call == "open":
        return 0o600 if (row.detail or 0) & os.O_CREAT else 0
    return 0 if row.call == "lseek" else max(0, row.size or 0)
