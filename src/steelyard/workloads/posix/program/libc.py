"""System calls that Python's `os` does not have."""

import ctypes
import os
import struct
from typing import Any

UTIME_NOW = (1 << 30) - 1
UTIME_OMIT = (1 << 30) - 2
RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2
KEEP_SIZE = 1
PUNCH_HOLE = 2
ZERO_RANGE = 16
COLLAPSE_RANGE = 8
_AT_FDCWD = -100


def call_libc(name: str, *args: Any) -> int:
    """Call a function of the C library that gives -1 and sets errno. Raises OSError."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        raise OSError(38, "the C library lacks " + name)
    result = function(*args)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(result)


def set_times(name: str, atime: "tuple[int, int]", mtime: "tuple[int, int]") -> None:
    """utimensat(2) with seconds and nanoseconds, of which the latter may be UTIME_NOW or UTIME_OMIT."""
    call_libc("utimensat", _AT_FDCWD, name.encode(), struct.pack("llll", *atime, *mtime), 0)


def rename_with_flags(old: str, new: str, flags: int) -> None:
    """renameat2(2)."""
    call_libc("renameat2", _AT_FDCWD, old.encode(), _AT_FDCWD, new.encode(), flags)


def allocate(number: int, mode: int, offset: int, length: int) -> None:
    """fallocate(2)."""
    call_libc("fallocate", number, mode, ctypes.c_int64(offset), ctypes.c_int64(length))


class DirectoryStream:
    """opendir(3) and what goes with it: a stream with a position."""

    def __init__(self, name: str) -> None:
        self._library = ctypes.CDLL(None, use_errno=True)
        self._library.opendir.restype = ctypes.c_void_p
        self._library.readdir64.restype = ctypes.c_void_p
        self._library.telldir.restype = ctypes.c_long
        self._stream = ctypes.c_void_p(self._library.opendir(name.encode()))
        if not self._stream:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    def read(self) -> "str | None":
        """The next entry's name, None at the end. In `struct dirent64`, 19 bytes precede the name."""
        entry = self._library.readdir64(self._stream)
        return os.fsdecode(ctypes.string_at(entry + 19)) if entry else None

    def read_all(self) -> "list[str]":
        """Names of all entries that are left."""
        return list(iter(self.read, None))

    def tell(self) -> int:
        """The position, for `seek`."""
        return int(self._library.telldir(self._stream))

    def seek(self, position: int) -> None:
        """Go back to a position that `tell` gave."""
        self._library.seekdir(self._stream, ctypes.c_long(position))

    def rewind(self) -> None:
        """Go to the beginning."""
        self._library.rewinddir(self._stream)
