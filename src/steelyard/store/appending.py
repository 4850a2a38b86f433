"""Files of lines that several processes may add to, and strangers may have written."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import StoreError
from steelyard.store.journal import parse_object, write_failure
from steelyard.untrusted import open_regular, read_lines


def read_added_lines(path: Path) -> list[dict[str, Any]]:
    """All lines that are JSON objects; what is torn or none says nothing, and no file has none.

    Raises StoreError where it cannot be read.
    """
    try:
        with open_regular(path) as file:
            return [line for raw in read_lines(file) if (line := parse_object(raw)) is not None]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


def append_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Add lines of JSON; they are on disk then. A torn end is closed first. Raises StoreFull, StoreError."""
    data = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        file = os.open(path, flags, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            end = os.fstat(file).st_size
            torn = end > 0 and os.pread(file, 1, end - 1) != b"\n"
            os.write(file, b"\n" * torn + data)
            os.fdatasync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise write_failure(path, error) from error
