"""The unit's state as a file that is there whole, or not at all.

A head with the counters and the size, the memory, and the CRC-32 of both. The checksum finds what tore or
changed by accident; that nobody forged the file is the verifier's to prove, from outside.
"""

from __future__ import annotations

import contextlib
import io
import os
import struct
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Union

from steelyard.workloads.checkpoint.program.faults import CheckpointFault

HEAD = struct.Struct("<16sQQQQ")
TAIL = struct.Struct("<I")
MAGIC = b"steelyard-state1"
PIECE = 1 << 20
Memory = Union[bytearray, memoryview]  # noqa: UP007 - Python 3.9 knows no other


@dataclass
class State:
    """All that a unit is: steps counted, messages sent and received, and its memory."""

    counter: int = 0
    sent: int = 0
    received: int = 0
    memory: Memory = field(default_factory=bytearray)

    def head(self) -> bytes:
        """What stands before the memory."""
        return HEAD.pack(MAGIC, self.counter, self.sent, self.received, len(self.memory))


def write_state(path: str, state: State) -> dict[str, float]:
    """Write under another name, sync, rename, sync the directory; seconds by step. Raises OSError.

    Whatever fails, the file of an earlier save is as it was.
    """
    began = time.perf_counter()
    temporary = f"{path}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)  # of a process that was killed while it saved
    try:
        took = _write_and_sync(temporary, state)
        os.rename(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    renamed = time.perf_counter()
    sync_directory(os.path.dirname(path) or ".")
    ended = time.perf_counter()
    return {**took, "sync": took["sync"] + ended - renamed, "save": ended - began}


def _write_and_sync(path: str, state: State) -> dict[str, float]:
    began = time.perf_counter()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        checksum = _write_pieces(descriptor, state.head(), state.memory)
        written = time.perf_counter()
        os.fsync(descriptor)
    finally:
        os.close(descriptor)  # a network file system may have no space for it until now
    return {
        "checksum": checksum,
        "write": written - began - checksum,
        "sync": time.perf_counter() - written,
    }


def _write_pieces(descriptor: int, head: bytes, memory: Memory) -> float:
    """Write all; the seconds that the checksum took."""
    write_all(descriptor, memoryview(head))
    checksum, seconds = zlib.crc32(head), 0.0
    with memoryview(memory) as view:
        for start in range(0, len(view), PIECE):
            piece = view[start : start + PIECE]
            began = time.perf_counter()
            checksum = zlib.crc32(piece, checksum)
            seconds += time.perf_counter() - began
            write_all(descriptor, piece)
    write_all(descriptor, memoryview(TAIL.pack(checksum)))
    return seconds


def write_all(descriptor: int, content: memoryview) -> None:
    """All bytes, however many calls that takes. Raises OSError."""
    while content:
        content = content[os.write(descriptor, content) :]


def sync_directory(path: str) -> None:
    """Have the names in a directory on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_state(path: str, make_memory: Callable[[int], Memory] = bytearray) -> State:
    """What was written, in memory made for it. Raises CheckpointFault for a torn or altered file, OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with io.FileIO(descriptor) as file:
        there = os.fstat(descriptor).st_size
        head = file.read(HEAD.size)
        magic, *counters, size = HEAD.unpack(head) if len(head) == HEAD.size else (b"", 0)
        whole = HEAD.size + size + TAIL.size
        if magic != MAGIC:
            raise CheckpointFault(
                f"state file {path} is refused: it does not begin as a state file ({there} bytes)"
            )
        if there != whole:  # before any memory is taken for what it says
            raise CheckpointFault(
                f"state file {path} is refused: it is torn, {there} of its {whole} bytes are there"
            )
        memory = make_memory(size)
        checksum = _read_pieces(file, memory, zlib.crc32(head))
        said = file.read(TAIL.size)
    if said != TAIL.pack(checksum):
        raise CheckpointFault(
            f"state file {path} is refused: it was altered, its checksum is {said.hex()} "
            f"and that of its content {TAIL.pack(checksum).hex()}"
        )
    return State(counters[0], counters[1], counters[2], memory)


def _read_pieces(file: io.FileIO, memory: Memory, checksum: int) -> int:
    with memoryview(memory) as view:
        start = 0
        while start < len(view):
            count = file.readinto(view[start : start + PIECE])
            if not count:
                break  # it became shorter meanwhile; the checksum tells
            checksum = zlib.crc32(view[start : start + count], checksum)
            start += count
    return checksum
