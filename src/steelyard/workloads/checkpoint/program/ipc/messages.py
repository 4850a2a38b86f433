"""A message queue: emptied to be read, and filled again."""

from __future__ import annotations

import ctypes
import errno
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
from steelyard.workloads.checkpoint.program.ipc.namespace import call, check_limit
from steelyard.workloads.checkpoint.program.state_file import Memory

NO_WAIT = 0o4000  # IPC_NOWAIT
ENTRY = struct.Struct("<qI")  # before each message: its type and size
TYPE = struct.Struct("@l")  # the same type, as the kernel takes it
LARGEST = 1 << 16  # bytes of a message that can be received; the kernel permits 8192


class Messages(KernelObject):
    """msgget(2), msgsnd(2), msgrcv(2)."""

    noun = "message queue"
    parts = "messages"

    @classmethod
    def check_limits(cls, asked: dict[str, Any]) -> None:
        """msgmnb limits both the bytes and the number of messages in a queue."""
        count, size = asked["messages"], asked["queue"]
        check_limit(f"a {cls.noun} of so many bytes", size, "msgmnb", 0, "give a smaller `queue`")
        advice = "give more `messages` or a smaller `queue`"
        check_limit("a message of so many bytes", size // count, "msgmax", 0, advice)

    @classmethod
    def draw(cls, asked: dict[str, Any]) -> Content:
        """All of one size, each of a type of its own."""
        size = asked["queue"] // asked["messages"]
        parts = [
            ENTRY.pack(1 + secrets.randbits(30), size) + secrets.token_bytes(size)
            for _ in range(asked["messages"])
        ]
        return Content(len(parts) * (ENTRY.size + size), lambda: parts)

    @contextmanager
    def make(self, size: int) -> Iterator[Memory]:
        """One message after the other, when all are known."""
        content = bytearray(size)
        yield content
        self._send(self._get(CREATE), content)

    @contextmanager
    def open(self) -> Iterator[Memory]:
        """Their order is kept."""
        number = self._get(0)
        content = self._receive(number)
        self._send(number, content)
        yield content

    def remove(self) -> None:
        """With all messages."""
        call(self.noun, "msgctl", self._get(0), REMOVE, None)

    def _get(self, flags: int) -> int:
        return call(self.noun, "msgget", KEY, flags)

    def _send(self, number: int, content: bytearray) -> None:
        start = 0
        while start < len(content):
            kind, size = ENTRY.unpack_from(content, start)
            start += ENTRY.size
            message = TYPE.pack(kind) + content[start : start + size]
            call(self.noun, "msgsnd", number, bytes(message), ctypes.c_size_t(size), NO_WAIT)
            start += size

    def _receive(self, number: int) -> bytearray:
        content, buffer = bytearray(), ctypes.create_string_buffer(TYPE.size + LARGEST)
        received = (number, buffer, ctypes.c_size_t(LARGEST), ctypes.c_long(0), NO_WAIT)
        while True:
            try:
                size = call(self.noun, "msgrcv", *received)
            except OSError as error:
                if error.errno == errno.ENOMSG:
                    return content
                raise
            (kind,) = TYPE.unpack_from(buffer)
            content += ENTRY.pack(kind, size) + memoryview(buffer)[TYPE.size : TYPE.size + size]
