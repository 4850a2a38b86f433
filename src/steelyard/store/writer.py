"""The writing side of a run's record. One writer at a time: the controller, who holds the lock."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from steelyard.errors import RunBusy, StoreError
from steelyard.files import write_whole
from steelyard.store.journal import Journal, write_failure
from steelyard.store.layout import SCHEMA, RunFolder
from steelyard.untrusted import open_regular

KEPT_OF_A_FULL_FILE = 4096
PATIENCE = 0.2
_PAUSE = 0.01


class RunWriter:
    """An open run. Use it as a context manager; it holds `control.json` locked until it is closed.

    `patience`: for how many seconds it is tried when another process has it. Raises RunBusy, StoreError; the
    latter also for a run of somebody else, into which nothing is written.
    """

    def __init__(self, folder: RunFolder, patience: float = PATIENCE) -> None:
        folder.check_owner()
        self.folder = folder
        self._lock = _acquire_lock(folder, patience)
        try:
            self.journal = Journal(folder.journal, folder.reserve)
        except StoreError:
            os.close(self._lock)
            raise
        self.journal.keep_reserve()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.journal.close()
        finally:
            with contextlib.suppress(OSError):
                self.folder.control.unlink(missing_ok=True)
            os.close(self._lock)

    def announce(self, **facts: Any) -> None:
        """Say in `control.json` who drives the run. Raises StoreFull, StoreError."""
        try:
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, json.dumps(facts).encode() + b"\n", 0)
        except OSError as error:
            raise write_failure(self.folder.control, error) from error

    def write_document(self, path: Path, content: Mapping[str, Any], *, sync: bool = False) -> None:
        """Write a JSON file of the record whole or not at all. Raises StoreFull, StoreError."""
        self.write_text(path, json.dumps({"schema": SCHEMA, **content}, indent=1, allow_nan=False), sync=sync)

    def write_text(self, path: Path, content: str, *, sync: bool = False) -> None:
        """Write a file of the record whole or not at all. Raises StoreFull, StoreError."""
        try:
            write_whole(path, f"{content}\n".encode(errors="surrogateescape"), sync=sync)
        except OSError as error:
            raise write_failure(path, error) from error

    def make_phase_folder(self, number: int, role: str, phase: str) -> Path:
        """Make the folder of a phase, with `raw` in it. Raises StoreFull, StoreError."""
        path = self.folder.phase(number, role, phase)
        self.make_directory(path / "raw")
        return path

    def make_directory(self, path: Path) -> None:
        """Make a folder of the record; it may be there already. Raises StoreFull, StoreError."""
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_failure(path, error) from error

    def shrink(self, number: int) -> None:
        """Cut the files of a trial that filled the store down to their last few KiB: evidence, not data."""
        for path in self.folder.trial(number).rglob("*"):
            with contextlib.suppress(OSError):
                if path.is_file() and not path.is_symlink() and path.stat().st_size > KEPT_OF_A_FULL_FILE:
                    _keep_end(path)


def is_live(folder: RunFolder) -> bool:
    """Whether a controller drives the run just now, on this machine or through a shared file system."""
    try:
        with open_regular(folder.control) as control:
            fcntl.flock(control, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # nothing is there; a file system without locks cannot be written to by a run either
    return False


def _acquire_lock(folder: RunFolder, patience: float) -> int:
    """Lock `control.json`; the lock goes when the process does, however it ends.

    Tried for a moment, because `is_live` holds it for an instant, and because the former holder may remove
    the file between our open and our lock.
    """
    for _ in range(max(1, round(patience / _PAUSE))):
        try:
            lock = os.open(folder.control, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise write_failure(folder.control, error) from error
        if _try_lock(folder.control, lock):
            return lock
        os.close(lock)
        time.sleep(_PAUSE)
    raise RunBusy(f"run {folder.id} is in use by another process")


def _try_lock(path: Path, lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        os.close(lock)
        hint = "the store's file system must support flock; choose another place with --store DIR"
        raise StoreError(f"cannot lock {path}: {error.strerror}", hint=hint) from error
    return _is_same_file(path, lock)


def _is_same_file(path: Path, file: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(file).st_ino
    except FileNotFoundError:
        return False


def _keep_end(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-KEPT_OF_A_FULL_FILE, os.SEEK_END)
        end = file.read()
        file.seek(0)
        file.write(end)
        file.truncate()
