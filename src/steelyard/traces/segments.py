"""Segments: what the recorder's library writes of one process while it runs (`recorder/format.h`).

A segment may be cut off anywhere, because its process was killed or its disk is full, and a stranger may have
written it. So each record is believed by its checksum alone, and what fails it is counted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import StoreError
from steelyard.traces.calls import NAME, list_calls
from steelyard.traces.checksum import checksum, checksum_rows
from steelyard.untrusted import open_regular

MAGIC = b"steelyard trace"
VERSION = b"1"
SUFFIX = ".segment"
PAGE, RECORD, ARGUMENTS = 4096, 64, 256
LONGEST_PATH = 3 * 4096
_PIECE = 1 << 18  # records that are looked at together: 16 MiB

_HEADER = np.dtype(
    [
        *(("magic", "S16"), ("checksum", "<u4"), ("record", "<u4"), ("process", "<i4"), ("parent", "<i4")),
        *(("wall", "<u8"), ("monotonic", "<u8"), ("argument_bytes", "<u8"), ("cpu", "<u8")),
        *((name, "<u8") for name in ("lost", "io_uring", "aio", "raw", "unloaded", "mapped")),
    ]
)
_CHECKED = slice(20, 64)  # from its record size up to its counters
RECORDS = np.dtype(
    [
        *(("checksum", "<u4"), ("call", "<u2"), ("flags", "<u2"), ("start", "<u8"), ("duration", "<u8")),
        *(("result", "<i8"), ("offset", "<i8"), ("size", "<u8"), ("descriptor", "<i4"), ("thread", "<u4")),
        *(("name", "<u4"), ("extra", "<u4")),
    ]
)
UNSEEN = ("lost", "io_uring", "aio", "raw", "unloaded", "mapped")
"""Counters of what the library knows that it did not see, as `recorder/format.h` explains them."""


@dataclass(frozen=True)
class TraceSegment:
    """One process: who it was, and the names and calls that it left.

    `wall` and `monotonic` are one instant by both clocks in nanoseconds; the records' starts are by the
    latter. `cpu` is the only one that it might run on when it began, None for several. `names` are paths by
    their numbers. `torn` counts records that fail their checksum.
    """

    path: Path
    process: int
    parent: int
    wall: int
    monotonic: int
    cpu: int | None
    arguments: tuple[str, ...]
    unseen: dict[str, int]
    names: dict[int, str]
    torn: int
    _slots: np.ndarray[Any, Any]
    _valid: np.ndarray[Any, np.dtype[np.bool_]]

    def read_calls(self) -> Iterator[np.ndarray[Any, Any]]:
        """The records of calls, so many at a time, with the columns of `RECORDS`."""
        for begin in range(0, len(self._slots), _PIECE):
            piece = self._slots[begin : begin + _PIECE]
            kept = piece[self._valid[begin : begin + _PIECE] & (piece["call"] != NAME)]
            if len(kept):
                yield kept


def read_segments(place: Path) -> tuple[list[TraceSegment], int]:
    """All segments of a directory, the oldest first, and how many processes could not even begin one.

    Raises StoreError.
    """
    try:
        paths = [path for path in place.iterdir() if path.suffix == SUFFIX]
        begun = [path for path in paths if _has_begun(path)]
    except OSError as error:
        raise StoreError(f"cannot read the segments in {place}: {error.strerror}") from error
    segments = sorted(map(read_segment, begun), key=lambda segment: segment.wall)
    return segments, len(paths) - len(begun)


def _has_begun(path: Path) -> bool:
    """Without room on the disk it is empty; when its process was killed that early, it has zeros alone."""
    with open_regular(path) as file:
        return any(file.read(PAGE))


def read_segment(path: Path) -> TraceSegment:
    """Read and check a segment. Raises StoreError for what is none, or of another version."""
    try:
        with open_regular(path) as file:
            head = file.read(PAGE)
            count = max(0, os.fstat(file.fileno()).st_size - PAGE) // RECORD
            slots = np.memmap(file, RECORDS, "r", PAGE, (count,)) if count else np.empty(0, RECORDS)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    header = _read_header(path, head)
    valid, used = _check_slots(slots)
    names = _read_names(slots, valid, used)
    return TraceSegment(
        path=path,
        process=int(header["process"]),
        parent=int(header["parent"]),
        wall=int(header["wall"]),
        monotonic=int(header["monotonic"]),
        cpu=int(header["cpu"]) - 1 if header["cpu"] else None,
        arguments=_split_arguments(head[ARGUMENTS:][: int(header["argument_bytes"])]),
        unseen={name: int(header[name]) for name in UNSEEN},
        names=names,
        torn=int(np.count_nonzero(used & ~valid)),
        _slots=slots,
        _valid=valid,
    )


def _read_header(path: Path, head: bytes) -> Any:
    if len(head) < PAGE or not head.startswith(MAGIC):
        raise StoreError(f"{path} is not a segment of a trace")
    header = np.frombuffer(head[: _HEADER.itemsize], _HEADER)[0]
    version = head[len(MAGIC) : len(MAGIC) + 1]
    if version != VERSION:
        given = version.decode("ascii", "replace")
        hint = "read it with the Steelyard that recorded it"
        raise StoreError(f"{path} is a segment of version {given!r}, not {VERSION.decode()!r}", hint=hint)
    if checksum(head[_CHECKED]) != header["checksum"] or header["record"] != RECORD:
        raise StoreError(f"{path}: the header of this segment is damaged")
    return header


def _split_arguments(words: bytes) -> tuple[str, ...]:
    return tuple(word.decode("utf-8", "replace") for word in words.split(b"\0")[:-1])


def _check_slots(slots: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Which slots hold a record whose checksum is right, and which hold anything."""
    valid, used = np.zeros(len(slots), bool), np.zeros(len(slots), bool)
    known = np.zeros(1 << 16, bool)
    known[[call.number for call in list_calls()]] = True
    for begin in range(0, len(slots), _PIECE):
        piece = slots[begin : begin + _PIECE]
        rows = piece.view(np.uint8).reshape(len(piece), RECORD)
        end = begin + len(piece)
        used[begin:end] = rows.view("<u8").any(axis=1)
        right = (checksum_rows(rows[:, 4:]) == piece["checksum"]) & known[piece["call"]]
        valid[begin:end] = used[begin:end] & right
    return valid, used


def _read_names(
    slots: np.ndarray[Any, Any], valid: np.ndarray[Any, Any], used: np.ndarray[Any, Any]
) -> dict[int, str]:
    """The paths, each of which lies in the slots behind its record; these hold no records then."""
    names: dict[int, str] = {}
    after = 0
    for index in np.flatnonzero(valid & (slots["call"] == NAME)).tolist():
        if index < after:
            continue  # part of a path, which may look like anything
        record = slots[index]
        size = int(record["size"])
        end = index + 1 + -(-size // RECORD)
        content = slots[index + 1 : end].tobytes()[:size] if size <= LONGEST_PATH else b""
        if len(content) != size or checksum(content) != record["extra"]:
            valid[index] = False
            continue
        names[int(record["name"])] = os.fsdecode(content)
        used[index + 1 : end] = valid[index + 1 : end] = False
        after = end
    return names
