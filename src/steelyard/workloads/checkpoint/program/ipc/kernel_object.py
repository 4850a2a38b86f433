"""What every kind of object provides, and what one of them is to hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from steelyard.workloads.checkpoint.program.faults import CheckpointFault
from steelyard.workloads.checkpoint.program.state_file import Memory

KEY = 1  # in a namespace of its own it is free
CREATE = 0o3600  # IPC_CREAT, IPC_EXCL, and for nobody else
REMOVE = 0  # IPC_RMID


class Content(NamedTuple):
    """Bytes in parts, such as messages, which can be told again at any time; `size` is that of all."""

    size: int
    parts: Callable[[], Iterable[bytes]]

    def lay_into(self, place: Memory) -> None:
        """Write all of it, one part after the other."""
        start = 0
        for part in self.parts():
            place[start : start + len(part)] = part
            start += len(part)

    def check(self, found: Memory, kind: type[KernelObject]) -> None:
        """Compare. Raises CheckpointFault that says where it differs."""
        if len(found) != self.size:
            raise CheckpointFault(
                f"the restored {kind.noun} is not what was saved: "
                f"{self.size} bytes were saved, and {len(found)} are there"
            )
        start, count, wrong = 0, 0, []
        for part in self.parts():
            if bytes(found[start : start + len(part)]) != part:
                wrong.append(count)
            start, count = start + len(part), count + 1
        if wrong:
            raise CheckpointFault(
                f"the restored {kind.noun} is not what was saved: {len(wrong)} of {count} {kind.parts} "
                f"differ, the first is number {wrong[0]}, counted from 0"
            )


class KernelObject(ABC):
    """The one of its kind in this namespace. Methods raise OSError.

    `noun` is its name in messages, `parts` what it consists of.
    """

    noun: str
    parts: str

    @classmethod
    @abstractmethod
    def check_limits(cls, asked: dict[str, Any]) -> None:
        """Whether the kernel permits one as it is asked for. Raises CheckpointFault."""

    @classmethod
    @abstractmethod
    def draw(cls, asked: dict[str, Any]) -> Content:
        """What nobody can know."""

    @abstractmethod
    def make(self, size: int) -> AbstractContextManager[Memory]:
        """Where the content of a new one is to be laid, in the block."""

    @abstractmethod
    def open(self) -> AbstractContextManager[Memory]:
        """The content of the one there is, for the block. It stays as it is."""

    @abstractmethod
    def remove(self) -> None:
        """Have it no more."""
