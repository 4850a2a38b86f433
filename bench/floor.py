"""The floor under a trial: start /bin/true and wait for it; alone, durably, with the record of a trial."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

TRUE = "/bin/true"
LINE = b"x" * 255 + b"\n"  # about as long as a line of the journal
DOCUMENT = b"x" * 512


def spawned(times: int) -> float:
    """Seconds that starting the program and waiting for it takes, on average."""
    return _average(times, lambda _: _spawn())


def spawned_durably(times: int, folder: Path, syncs: int = 3) -> float:
    """The same with so many small appends to a file, each one synced to the disk before the next step."""
    file = os.open(folder / "floor", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def once(_: int) -> None:
        for _ in range(syncs):
            _append(file)
        _spawn()

    try:
        return _average(times, once)
    finally:
        os.close(file)


def spawned_with_record(times: int, folder: Path) -> float:
    """The same with a trial's traces on the disk: two synced lines, four folders, four files, a scratch."""
    file = os.open(folder / "journal", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def once(number: int) -> None:
        _append(file)
        scratch, record = f"{folder}/scratch-{number}", f"{folder}/{number}"
        for path in (scratch, record, f"{record}/host", f"{record}/host/run", f"{record}/host/run/raw"):
            os.mkdir(path)  # noqa: PTH102 - a floor has no pathlib in it
        _write(f"{record}/host/run/stdout", b"")
        _write(f"{record}/host/run/stderr", b"")
        _spawn()
        os.rmdir(scratch)  # noqa: PTH106
        _write(f"{record}/trial.json", DOCUMENT)
        _write(f"{record}/metrics.json", DOCUMENT)
        _append(file)

    try:
        return _average(times, once)
    finally:
        os.close(file)


def _average(times: int, once: Callable[[int], None]) -> float:
    began = time.perf_counter()
    for number in range(times):
        once(number)
    return (time.perf_counter() - began) / times


def _append(file: int) -> None:
    os.write(file, LINE)
    os.fdatasync(file)


def _write(path: str, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    os.write(file, content)
    os.close(file)


def _spawn() -> None:
    os.waitpid(os.posix_spawn(TRUE, [TRUE], os.environ), 0)
