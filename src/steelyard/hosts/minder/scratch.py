"""Scratch directories: made with a marker that holds a secret of their run, removed only where it does."""

# Importing pathlib would take 4 ms.
# ruff: noqa: PTH102, PTH106, PTH108, PTH120, PTH208
from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from . import SCRATCH_MARKER
from .ownership import find_untrusted_entry

TYPE_CHECKING = False  # importing typing takes 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_MARK = 4096  # bytes
TRIES = 3  # another run of ours may make the same parents, or remove them when it finds them empty


def make_scratch(path: bytes, mark: str) -> None:
    """Create a directory that only we may use, unless it is there already and bears this mark.

    Parents that are missing are made, too. Raises OSError, whose text says what is wrong with what is there.
    """
    parent = os.path.dirname(path)
    for left in reversed(range(TRIES)):
        _check_parents(parent)
        try:
            _make_parents(parent)
            os.mkdir(path, 0o700)
            break
        except (FileExistsError, FileNotFoundError):
            if os.path.lexists(path):
                _check_marker(path, mark)
                return
            if not left:
                raise
    _write_marker(path, mark)


def _check_parents(parent: bytes) -> None:
    if reason := find_untrusted_entry(os.fsdecode(parent), shared=True):
        hint = "`steelyard trust DIR` allows a directory that others may write to"
        raise PermissionError(errno.EPERM, f"{reason}; {hint}")


def _make_parents(path: bytes) -> None:
    """For us alone, but for passage: a server with a user of its own goes through to what it is given."""
    if os.path.isdir(path):  # noqa: PTH112
        return
    _make_parents(os.path.dirname(path))
    os.mkdir(path, 0o711)


def _check_marker(path: bytes, mark: str) -> None:
    top = _open_directory(path)
    try:
        if not _is_ours(os.fstat(top)) or not _has_marker(top, lambda text: text == mark):
            raise FileExistsError(errno.EEXIST, "it already exists and is not a directory of this run")
    finally:
        os.close(top)


def _write_marker(path: bytes, mark: str) -> None:
    """Write the marker into a directory that we have just made, which goes again where that fails."""
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        marker = os.open(path + b"/" + SCRATCH_MARKER.encode(), flags, 0o600)
        try:
            os.write(marker, mark.encode())
        finally:
            os.close(marker)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(path + b"/" + SCRATCH_MARKER.encode())
        os.rmdir(path)
        raise


def remove_scratch(path: bytes, is_ours: Callable[[str], bool]) -> bool:
    """Remove a directory of ours whose mark passes; say whether it did. Raises OSError.

    Symbolic links inside are removed, never followed; what is mounted inside stays, and so does the directory
    then. The marker goes last, so that a removal cut short can be taken up again; if it was cut short after
    that, an empty directory is left, which goes without a marker.
    """
    top = _open_directory(path)
    try:
        status = os.fstat(top)
        if status.st_uid != os.geteuid():
            return False
        if _has_marker(top, is_ours):
            _remove_contents(top, status.st_dev, keep=SCRATCH_MARKER)
            os.unlink(SCRATCH_MARKER, dir_fd=top)
        elif os.listdir(top):
            return False
    finally:
        os.close(top)
    os.rmdir(path)
    return True


def _open_directory(path: bytes) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _is_ours(status: os.stat_result) -> bool:
    """Whether it is closed to others but for passage, which servers with a user of their own are given."""
    return status.st_uid == os.geteuid() and not status.st_mode & 0o066


def _has_marker(directory: int, is_ours: Callable[[str], bool]) -> bool:
    try:
        marker = os.open(SCRATCH_MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    except OSError:
        return False
    try:
        status = os.fstat(marker)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return False
        return is_ours(os.read(marker, LONGEST_MARK).decode("utf-8", "replace"))
    finally:
        os.close(marker)


def _remove_contents(directory: int, device: int, keep: str | None = None) -> None:
    """Remove all that can be removed; then raise what stood in the way of the rest."""
    problem: OSError | None = None
    with os.scandir(directory) as scan:
        entries = [entry for entry in scan if entry.name != keep]
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
            _remove_contents(directory, device)
    finally:
        os.close(directory)
    os.rmdir(name, dir_fd=parent)
