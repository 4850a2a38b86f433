"""Files that are written whole or not at all, and never through a link that somebody else has planted.

What is written lies first under a name that nobody can guess, which is made and not opened where it is there
already; then it takes the place of the name that is wanted. All of it relative to the directory that was
opened in the beginning, so that nothing on the way can be changed meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from steelyard.errors import StoreError

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
"""How to open a file that must not be there yet, not even as a link."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def write_whole(path: Path, content: bytes, *, sync: bool = False, mode: int = 0o666) -> None:
    """Write a file into a directory that is there. With `sync` it is on disk then. Raises OSError."""
    with _open_directory(path.parent) as directory:
        part = part_name(path.name)
        file = os.open(part, NEW, mode, dir_fd=directory)
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(content)
                stream.flush()
                if sync:
                    os.fdatasync(file)
            os.replace(part, path.name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            os.unlink(part, dir_fd=directory)
            raise


@contextlib.contextmanager
def replace_whole(path: Path, *, sync: bool = False) -> Iterator[Path]:
    """A name for a library; what it wrote there takes the place of `path` when the block ends well.

    It leads into a directory of our own beside `path`, held open, whose name may change meanwhile without any
    effect. Raises OSError.
    """
    with _open_directory(path.parent) as directory:
        part = part_name(path.name)
        os.mkdir(part, 0o700, dir_fd=directory)
        own = os.open(part, _DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
        try:
            _check_owner(own, path)
            place = Path(f"/proc/self/fd/{own}", path.name)
            yield place
            if sync:
                _sync(place)
            os.replace(path.name, path.name, src_dir_fd=own, dst_dir_fd=directory)
        finally:
            for name in os.listdir(own):  # noqa: PTH208 - a descriptor has no path
                os.unlink(name, dir_fd=own)
            os.close(own)
            os.rmdir(part, dir_fd=directory)


def part_name(name: str) -> str:
    """What an unfinished file is called, for whoever looks; nobody can guess it."""
    return f".{name[:200]}.{secrets.token_hex(8)}.part"


@contextlib.contextmanager
def _open_directory(directory: Path) -> Iterator[int]:
    """A directory, held open. The last step to it may be no link: folders of a record are none."""
    file = os.open(directory, _DIRECTORY)
    try:
        yield file
    finally:
        os.close(file)


def _check_owner(directory: int, path: Path) -> None:
    status = os.fstat(directory)
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise StoreError(f"cannot write {path}: another process is changing {path.parent} at the same time")


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
