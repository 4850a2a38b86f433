"""Files that others may have written or planted, read without harm.

A planted FIFO would keep its reader waiting, `/dev/zero` and a line without end would fill its memory, and a
link would put a file of the reader's own, such as a key, into the report of a stranger's run. So: regular
files only, through no link, and never more than so much.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

LONGEST_LINE = 8 << 20
MOST = 64 << 20
"""Bytes of a document, such as a run's design. That of 100,000 trials has a tenth of it."""


def open_regular(path: Path, directory: int | None = None) -> BinaryIO:
    """A regular file, open for reading; in an open directory, if one is given.

    Raises OSError, whose `strerror` fits into a sentence.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.fdopen(os.open(path, flags, dir_fd=directory), "rb")
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(error.errno, "It is a link, which could point to any file", str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "It is not a regular file", str(path))
    return file


def read_content(path: Path, most: int = MOST) -> bytes:
    """All of a file. Raises OSError, also when it is larger than `most`."""
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"It is larger than {most >> 10} KiB", str(path))
    return data


def read_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines from here on, each with its end. One that is too long comes in parts, so that it has none."""
    while line := file.readline(LONGEST_LINE):
        yield line
