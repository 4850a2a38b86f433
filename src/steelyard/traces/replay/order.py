"""What a call of one thread waits for in another: what it could depend on, by the files that both use.

A thread's own order is kept anyway. Across threads, as ROOT orders them (Weiss, Harter, Arpaci-Dusseau
and Arpaci-Dusseau, "ROOT: Replaying Multithreaded Traces with Resource-Oriented Ordering", SOSP 2013,
section 4): a descriptor is opened before it is used and closed after; a name is made before it is used, and
used before it is removed or given to another. Data, as close-to-open: a read comes after the writes of its
bytes, an open after the close of who wrote, a sync after what it saves. As hfplayer infers (Haghdoost, He,
Fredin and Du, "On the Accuracy and Scalability of Intensive I/O Workload Replay", FAST 2017, section 3), only
what had returned when a call began can have been waited for; a thread's first call follows the one that
returned last.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from steelyard.traces.replay.rows import Row

BLOCK = 1 << 16
_MOST_BLOCKS = 4096
_CHANGES = ("mkdir", "rmdir", "unlink", "rename", "link", "symlink")


class CallMark(NamedTuple):
    """A call that has its place: it is the `nth` of its thread, and returned at `end`."""

    end: int
    thread: int
    nth: int


@dataclass
class ResourceUse:
    """Who made or changed something last, and who has used it since, by thread."""

    changed: CallMark | None = None
    used: dict[int, CallMark] = field(default_factory=dict)

    def change(self, mark: CallMark) -> Iterator[CallMark]:
        """All that a change comes after."""
        if self.changed:
            yield self.changed
        yield from self.used.values()
        self.changed, self.used = mark, {}

    def use(self, mark: CallMark) -> Iterator[CallMark]:
        """What a use comes after."""
        if self.changed:
            yield self.changed
        self.used[mark.thread] = mark


@dataclass
class ReplayOrder:
    """Hears of all calls in the order in which they began."""

    _handles: dict[int, ResourceUse] = field(default_factory=lambda: defaultdict(ResourceUse))
    _names: dict[str, ResourceUse] = field(default_factory=lambda: defaultdict(ResourceUse))
    _blocks: dict[tuple[str, int], CallMark] = field(default_factory=dict)
    _writers: dict[str, dict[int, CallMark]] = field(default_factory=lambda: defaultdict(dict))
    _closed: dict[str, CallMark] = field(default_factory=dict)
    _running: list[CallMark] = field(default_factory=list)
    _last: CallMark | None = None
    _known: dict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))

    def find_waits(
        self, row: Row, mark: CallMark, path: str, other: str | None, handle: int | None
    ) -> list[CallMark]:
        """What this call waits for, the last of each other thread; it is new that it does."""
        after = [*self._follow_handle(row, mark, handle), *self._follow_names(row, mark, path, other)]
        after += self._follow_data(row, mark, path)
        last = self._find_last(row.start)  # each time, so that no more are kept than run at once
        if last and mark.nth == 1:
            after.append(last)
        heapq.heappush(self._running, mark)
        return self._choose(row, mark, after)

    def _follow_handle(self, row: Row, mark: CallMark, handle: int | None) -> Iterable[CallMark]:
        if handle is None:
            return ()
        use = self._handles[handle]
        return use.change(mark) if row.kind in ("open", "close") else use.use(mark)

    def _follow_names(self, row: Row, mark: CallMark, path: str, other: str | None) -> Iterator[CallMark]:
        on_name = row.kind == "metadata" or row.call in ("open", "truncate")
        if on_name and path:
            changes = row.call in _CHANGES or (row.call == "open" and bool((row.detail or 0) & 0o100))
            yield from self._names[path].change(mark) if changes else self._names[path].use(mark)
        if other and row.call in ("rename", "link"):
            yield from self._names[other].change(mark)

    def _follow_data(self, row: Row, mark: CallMark, path: str) -> Iterator[CallMark]:
        if row.kind in ("read", "write") and row.offset is not None and (row.result or 0) > 0:
            first, last = row.offset // BLOCK, (row.offset + (row.result or 0) - 1) // BLOCK
            for block in range(first, min(last + 1, first + _MOST_BLOCKS)):
                if written := self._blocks.get((path, block)):
                    yield written
                if row.kind == "write":
                    self._blocks[path, block] = mark
        if row.kind == "write":
            self._writers[path][mark.thread] = mark
        elif row.kind == "sync":
            yield from self._writers[path].values()
        elif row.call == "close" and mark.thread in self._writers[path]:
            self._closed[path] = mark
        elif row.call == "open" and (closed := self._closed.get(path)):
            yield closed

    def _find_last(self, start: int) -> CallMark | None:
        while self._running and self._running[0].end <= start:
            self._last = heapq.heappop(self._running)
        return self._last

    def _choose(self, row: Row, mark: CallMark, after: Iterable[CallMark]) -> list[CallMark]:
        known, chosen = self._known[mark.thread], dict[int, CallMark]()
        for each in after:
            if each.thread != mark.thread and each.end <= row.start and each.nth > known.get(each.thread, 0):
                chosen[each.thread] = max(each, chosen.get(each.thread, each), key=lambda one: one.nth)
        known.update({thread: each.nth for thread, each in chosen.items()})
        return list(chosen.values())
