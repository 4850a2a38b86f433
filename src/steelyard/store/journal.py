"""The journal: one line of JSON per thing that happened, one writer, torn last lines tolerated.

Each line has a sequence number `seq`, the wall clock `wall` and the monotonic clock `mono` (seconds), and
its `kind`. Lines on which a resume depends are synced to disk before `write` returns. No line is longer than
`LONGEST_LINE`: of one that would be, long texts are cut, and say so; one that is all the same is damage.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from steelyard.errors import StoreError, StoreFull
from steelyard.untrusted import LONGEST_LINE, open_regular, read_lines

RESERVE = 64 * 1024
# An experiment file is always shorter than the first, a level, by which a trial is known, than the second.
_CUTS = (1 << 20, 1 << 16)
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Journal:
    """The writing end. Opening it cuts off a torn last line and goes on counting.

    `RESERVE` bytes are kept aside in a file, so that a full disk cannot keep the last words from being
    written: the first write that fails for lack of space gives the reserve up and tries again.
    """

    def __init__(self, path: Path, reserve: Path) -> None:
        self.path, self._reserve = path, reserve
        try:
            self._file = os.open(
                path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644
            )
            self._end, self._sequence = _find_end(path)
            os.ftruncate(self._file, self._end)
        except OSError as error:
            raise write_failure(path, error) from error

    def write(self, kind: str, *, sync: bool = False, **fields: Any) -> None:
        """Append a line; with `sync`, return only when it is on the disk. Raises StoreFull, StoreError.

        A line that is too long although its texts were cut is refused.
        """
        self._sequence += 1
        line = {"seq": self._sequence, "wall": time.time(), "mono": time.monotonic(), "kind": kind, **fields}
        self._append(_fit_line(self.path, line))
        if sync:
            self._sync()

    def keep_reserve(self) -> bool:
        """Set the reserve aside (again). False when there is no room for it."""
        return _allocate(self._reserve)

    def has_room(self) -> bool:
        """Whether the reserve is there, or can be set aside again, and as much could be written beside it."""
        probe = self._reserve.with_name("probe")
        room = (self.has_reserve or self.keep_reserve()) and _allocate(probe)
        probe.unlink(missing_ok=True)
        return room

    @property
    def has_reserve(self) -> bool:
        """Whether the reserve is still there; it is not after the disk has been full."""
        return self._reserve.exists()

    def close(self) -> None:
        """Give the reserve back and close; all that was written is on the disk then. Raises StoreError."""
        with suppress(OSError):
            self._reserve.unlink(missing_ok=True)
        try:
            self._sync()
        finally:
            os.close(self._file)

    def _sync(self) -> None:
        try:
            os.fdatasync(self._file)
        except OSError as error:
            raise write_failure(self.path, error) from error

    def _append(self, data: bytes) -> None:
        try:
            self._write_whole(data)
        except OSError as error:
            os.ftruncate(self._file, self._end)
            if error.errno not in _FULL:
                raise write_failure(self.path, error) from error
            self._use_reserve(data)
        self._end += len(data)

    def _use_reserve(self, data: bytes) -> None:
        self._reserve.unlink(missing_ok=True)
        try:
            self._write_whole(data)
        except OSError as error:
            os.ftruncate(self._file, self._end)
            raise write_failure(self.path, error) from error

    def _write_whole(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._file, data) :]


def _allocate(path: Path) -> bool:
    """Make a file that takes up `RESERVE` bytes; False, and no file, when there is no room."""
    try:
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, RESERVE)
    except OSError:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        return False
    return True


def write_failure(path: Path, error: OSError) -> StoreError:
    """What to raise when a file of the record could not be written: StoreFull where that is the reason."""
    if error.errno in _FULL:
        hint = "free some space, then run `steelyard resume`; finished trials are safe"
        return StoreFull(f"no space left for {path}", hint=hint)
    return StoreError(f"cannot write {path}: {error.strerror}")


def _fit_line(path: Path, line: dict[str, Any]) -> bytes:
    """The line as it is written; its texts are cut only as far as they must."""
    raw = _encode(line)
    for most in _CUTS:
        if len(raw) <= LONGEST_LINE:
            break
        raw = _encode(_cut(line, most))
    else:
        if len(raw) > LONGEST_LINE:
            size = f"{len(raw) >> 20} of at most {LONGEST_LINE >> 20} MiB"
            raise StoreError(f"{path}: line '{line['kind']}' is too long: {size}")
    return raw


def _encode(line: Mapping[str, Any]) -> bytes:
    """ASCII, because a file name need not be UTF-8, and a line that cannot be read back ends the history."""
    return json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _cut(value: Any, most: int) -> Any:
    """The same with no text longer than `most` letters, but for a note of what is missing."""
    if isinstance(value, str) and len(value) > most:
        return f"{value[:most]} … ({len(value) - most} more characters were cut here)"
    if isinstance(value, Mapping):
        return {key: _cut(item, most) for key, item in value.items()}
    return [_cut(item, most) for item in value] if isinstance(value, list | tuple) else value


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """All lines in order; ends silently at a torn one, which is where the writer was killed.

    Raises StoreError when a line cannot be read although sound ones follow: that is damage, not a torn end.
    """
    return (line for line, _ in _read_sound(path))


def parse_line(raw: bytes) -> dict[str, Any] | None:
    """One line, or None when it is torn or not a journal's."""
    line = parse_object(raw)
    return line if line is not None and isinstance(line.get("kind"), str) else None


def parse_object(raw: bytes) -> dict[str, Any] | None:
    """A line that is a JSON object; None for one that is torn, or another thing."""
    if not raw.endswith(b"\n"):
        return None
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def _find_end(path: Path) -> tuple[int, int]:
    """Where the last sound line ends, in bytes, and the highest sequence number."""
    end = sequence = 0
    for line, end in _read_sound(path):  # noqa: B007 - the last one counts
        number = line.get("seq")
        sequence = max(sequence, number) if isinstance(number, int) else sequence
    return end, sequence


def _read_sound(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Each sound line with the offset of its end."""
    end = 0
    try:
        with open_regular(path) as file:
            for raw in read_lines(file):
                line = parse_line(raw)
                if line is None:
                    _check_torn(path, raw, read_lines(file), end)
                    return
                end += len(raw)
                yield line, end
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


def _check_torn(path: Path, raw: bytes, rest: Iterator[bytes], end: int) -> None:
    if len(raw) >= LONGEST_LINE:
        why = f"the line is longer than {LONGEST_LINE >> 20} MiB"
    elif raw.endswith(b"\n") and any(map(parse_line, rest)):
        why = "readable lines follow it"
    else:
        return
    hint = "restore the file from a copy, or remove the damaged line by hand"
    raise StoreError(f"{path} is damaged at byte {end}: {why}", hint=hint)
