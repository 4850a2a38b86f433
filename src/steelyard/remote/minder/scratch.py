"""Scratch directories: made with a marker that names their run, and removed only where it does."""

# Importing pathlib would take 4 ms.
# ruff: noqa: PTH102, PTH106, PTH108
from __future__ import annotations

import os

from . import SCRATCH_MARKER


def make_scratch(path: bytes, run: str) -> None:
    """Create a directory that belongs to a run, unless something is there already. Raises OSError."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    try:
        _mark(path + b"/" + SCRATCH_MARKER.encode(), run)
    except OSError:
        os.rmdir(path)
        raise


def _mark(path: bytes, run: str) -> None:
    marker = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(marker, run.encode())
    except OSError:
        os.unlink(path)
        raise
    finally:
        os.close(marker)


def remove_scratch(path: bytes, run: str) -> bool:
    """Remove a directory if its marker names this run; say whether it did. Raises OSError.

    Symbolic links inside are removed, never followed; what is mounted inside stays, and so does the directory
    then. The marker goes last, so that a removal cut short can be taken up again.
    """
    top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if not _belongs(top, run):
            return False
        _clear(top, os.fstat(top).st_dev, keep=SCRATCH_MARKER)
        os.unlink(SCRATCH_MARKER, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(path)
    return True


def _belongs(directory: int, run: str) -> bool:
    try:
        marker = os.open(SCRATCH_MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    except FileNotFoundError:
        return False
    try:
        return os.read(marker, 4096) == run.encode()
    finally:
        os.close(marker)


def _clear(directory: int, device: int, keep: str | None = None) -> None:
    """Remove all that can be removed; then raise what stood in the way of the rest."""
    problem: OSError | None = None
    with os.scandir(directory) as found:
        entries = [entry for entry in found if entry.name != keep]
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                _remove_directory(directory, entry.name, device)
            else:
                os.unlink(entry.name, dir_fd=directory)
        except OSError as error:
            problem = error
    if problem:
        raise problem


def _remove_directory(parent: int, name: str, device: int) -> None:
    directory = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        if os.fstat(directory).st_dev == device:
            _clear(directory, device)
    finally:
        os.close(directory)
    os.rmdir(name, dir_fd=parent)
