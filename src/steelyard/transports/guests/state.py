"""The file to which a guest was saved: it is believed only if it is what was written."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple, Self

from steelyard.errors import HostError
from steelyard.untrusted import open_regular

_PIECE = 1 << 20


class SavedState(NamedTuple):
    """A file, its bytes, and their digest."""

    path: Path
    size: int
    digest: bytes

    @classmethod
    def seal(cls, path: Path) -> Self:
        """That of a file that was just written, and is whole. Raises OSError."""
        return cls(path, path.stat().st_size, _digest(path))

    def check(self, guest: str) -> None:
        """Read it once more, and drop it from the cache. Raises HostError where it is another one now."""
        try:
            is_whole = _digest(self.path) == self.digest
        except OSError as error:
            raise HostError(f"guest {guest}: the file with its state cannot be read: {error}") from error
        if not is_whole:
            size = self.path.stat().st_size
            message = f"guest {guest}: {self.path} is not what was saved ({size:,} of {self.size:,} bytes)"
            raise HostError(message, hint="it was changed meanwhile, or the disk is faulty or full")


def _digest(path: Path) -> bytes:
    """Of the content; it leaves the cache."""
    with open_regular(path) as file:
        digest = hashlib.blake2b()
        while piece := file.read(_PIECE):
            digest.update(piece)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return digest.digest()
