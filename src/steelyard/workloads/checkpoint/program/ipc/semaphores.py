"""An array of semaphores: all values in one call."""

from __future__ import annotations

import ctypes
import secrets
import struct
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
from steelyard.workloads.checkpoint.program.state_file import Memory

GET_ALL, SET_ALL = 13, 17
VALUE = struct.Struct("@H")
HIGHEST_BITS = 15  # a value is at most 32767


class Semaphores(KernelObject):
    """semget(2), semctl(2)."""

    noun = "semaphore array"
    parts = "semaphores"

    @classmethod
    def check_limits(cls, asked: dict[str, Any]) -> None:
        """The first figure of `sem` limits an array, the second all arrays."""
        for field in (0, 1):
            what = f"a {cls.noun} of so many semaphores"
            check_limit(what, asked["semaphores"], "sem", field, "give fewer `semaphores`")

    @classmethod
    def draw(cls, asked: dict[str, Any]) -> Content:
        """Any values."""
        parts = [VALUE.pack(secrets.randbits(HIGHEST_BITS)) for _ in range(asked["semaphores"])]
        return Content(len(parts) * VALUE.size, lambda: parts)

    @contextmanager
    def make(self, size: int) -> Iterator[Memory]:
        """All values at once, when they are known."""
        content = bytearray(size)
        yield content
        number = call(self.noun, "semget", KEY, size // VALUE.size, CREATE)
        values = (ctypes.c_char * size).from_buffer(content)
        call(self.noun, "semctl", number, 0, SET_ALL, ctypes.byref(values))

    @contextmanager
    def open(self) -> Iterator[Memory]:
        """As many as the kernel tells."""
        number = self._get()
        values = (ctypes.c_ushort * read_column("sem", number, "nsems"))()
        call(self.noun, "semctl", number, 0, GET_ALL, ctypes.byref(values))
        yield bytearray(values)

    def remove(self) -> None:
        """With all values."""
        call(self.noun, "semctl", self._get(), 0, REMOVE)

    def _get(self) -> int:
        return call(self.noun, "semget", KEY, 0, 0)
