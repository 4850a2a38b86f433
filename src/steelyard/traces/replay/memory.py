"""Where the data of reads and writes lay in memory: a replay's lie as far apart, and come again as often.

What a call costs depends on it: a page that a process has not touched before is a page fault, and data that
are not in the processor's caches come from memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

PAGE = 4096
_LOWEST = 1024
"""No process has memory below this page; the flags of preadv2, which stand in its place, are."""


@dataclass
class MemoryPages:
    """Pages that the calls of processes moved data to or from."""

    _seen: dict[int, set[tuple[int, int]]] = field(default_factory=lambda: defaultdict(set))

    def note(self, process: int, page: int | None, size: int) -> int:
        """Of a call; its page, 0 where it is not known."""
        if page is None or page < _LOWEST or not size:
            return 0
        self._seen[process].add((page, page + -(-size // PAGE)))
        return page

    def lay_out(self) -> MemoryLayout:
        """The pages of all processes one after the other, without what lay between them."""
        layout = MemoryLayout()
        for process, spans in self._seen.items():
            for begin, end in _join_spans(spans):
                layout.add(process, begin, end - begin)
        return layout


@dataclass
class MemoryLayout:
    """`pages`: how many there are in all."""

    pages: int = 0
    _begins: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    _places: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, process: int, begin: int, count: int) -> None:
        """Pages of a process that lie side by side; for each process in ascending order."""
        self._begins[process].append(begin)
        self._places[process].append(self.pages)
        self.pages += count

    def find(self, process: int, pages: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The places of a process's pages, from 1 on; 0 where a page is 0, as it is not known."""
        if not self._begins[process]:
            return np.zeros(len(pages), np.int64)
        begins, places = np.array(self._begins[process]), np.array(self._places[process])
        index = np.searchsorted(begins, pages, "right") - 1
        return np.where(pages == 0, 0, 1 + places[index] + pages - begins[index])


def _join_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined
