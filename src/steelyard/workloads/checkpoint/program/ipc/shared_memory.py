"""A shared memory segment: attached, and read and written in place."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from steelyard.workloads.checkpoint.program.ipc.kernel_object import (
    CREATE,
    KEY,
    REMOVE,
    Content,
    KernelObject,
)
from steelyard.workloads.checkpoint.program.ipc.namespace import call, check_limit, read_column
from steelyard.workloads.checkpoint.program.memory import ExpectedMemory
from steelyard.workloads.checkpoint.program.state_file import Memory


class SharedMemory(KernelObject):
    """shmget(2), shmat(2)."""

    noun = "shared memory segment"
    parts = "MiB"

    @classmethod
    def check_limits(cls, asked: dict[str, Any]) -> None:
        """shmmax counts bytes, shmall pages of all segments."""
        size, advice = asked["memory"], "give less `memory`"
        check_limit(f"a {cls.noun} of so many bytes", size, "shmmax", 0, advice)
        check_limit(f"a {cls.noun} of so many pages", size // mmap.PAGESIZE, "shmall", 0, advice)

    @classmethod
    def draw(cls, asked: dict[str, Any]) -> Content:
        """As the memory of a unit."""
        return Content(asked["memory"], ExpectedMemory(asked["content"], asked["memory"]).blocks)

    @contextmanager
    def make(self, size: int) -> Iterator[Memory]:
        """It has no pages until it is written."""
        with self._attach(self._get(size, CREATE), size) as view:
            yield view

    @contextmanager
    def open(self) -> Iterator[Memory]:
        """Of the size that the kernel tells."""
        number = self._get(0, 0)
        with self._attach(number, read_column("shm", number, "size")) as view:
            yield view

    def remove(self) -> None:
        """Its memory is free at once, as nobody has it attached."""
        call(self.noun, "shmctl", self._get(0, 0), REMOVE, None)

    def _get(self, size: int, flags: int) -> int:
        return call(self.noun, "shmget", KEY, ctypes.c_size_t(size), flags)

    @contextmanager
    def _attach(self, number: int, size: int) -> Iterator[Memory]:
        address = call(self.noun, "shmat", number, None, 0)
        view = memoryview((ctypes.c_char * size).from_address(address)).cast("B")
        try:
            yield view
        finally:
            view.release()  # whoever still has it shall not touch what is no longer there
            call(self.noun, "shmdt", ctypes.c_void_p(address))
