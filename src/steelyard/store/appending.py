"""Lines added to a file that several processes may add to: whole ones, after whatever stands there."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from steelyard.store.journal import write_failure


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
