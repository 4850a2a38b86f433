"""Files that hold what a controller asked for, written before it asks: what a dead one left is in them.

They lie in `~/.local/state/steelyard/leases` (XDG_STATE_HOME is honoured) and are their owner's alone (0600).
Each is locked for as long as its controller lives: whoever can lock it may give back all that is in it.
A line is a JSON object; a file only ever grows, so that only its last line can be cut off.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

NEW = ".new"
_MOST_BYTES = 1 << 20


def leases_folder() -> Path:
    """Where these files lie: `~/.local/state/steelyard/leases`."""
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "steelyard" / "leases"


def create_locked(path: Path, opening: dict[str, Any]) -> int:
    """A new file with a first line, on the disk and locked; returns it open. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_suffix(NEW)  # it gets its name once it is locked and written
    file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    append_entry(file, opening)
    new.rename(path)
    _sync(path.parent)
    return file


def open_abandoned(path: Path) -> int | None:
    """A file whose controller does not live any more, open and locked; None without one. Raises OSError."""
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _has_name(path, file):
            return file
    os.close(file)  # its controller lives, or gave everything back just now
    return None


def append_entry(file: int, entry: dict[str, Any]) -> None:
    """One more line, on the disk. Raises OSError."""
    os.write(file, json.dumps(entry).encode() + b"\n")
    os.fsync(file)


def read_entries(file: int) -> list[dict[str, Any]]:
    """All lines; one that was cut off is empty. Raises OSError."""
    return [_parse_entry(line) for line in os.pread(file, _MOST_BYTES, 0).split(b"\n")]


def _parse_entry(line: bytes) -> dict[str, Any]:
    with suppress(ValueError):
        entry = json.loads(line)
        if isinstance(entry, dict):
            return entry
    return {}


def _has_name(path: Path, file: int) -> bool:
    """Whether the file still has its name."""
    try:
        return path.stat().st_ino == os.fstat(file).st_ino
    except FileNotFoundError:
        return False


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
