"""Have a file out of the page cache, and look whether it is."""

from __future__ import annotations

import ctypes
import mmap
import os

CONTROL = "/proc/sys/vm/drop_caches"
ATTEMPTS = 10  # what another process reads at that moment may keep pages
WARM = 0.02  # share of a file that may be left


def make_cold(path: str) -> dict[str, object]:
    """Drop a file from the cache: `how` that was done, and the share that is `cached` all the same.

    Its pages are on the disk already. The whole cache is dropped where that is permitted, as metadata of the
    file system are in it, too; else only the file. Raises OSError.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        for _ in range(ATTEMPTS):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            how = "drop_caches" if drop_all() else "posix_fadvise"
            cached = measure_cached(descriptor)
            if cached <= WARM:
                break
        return {"how": how, "cached": cached}
    finally:
        os.close(descriptor)


def drop_all() -> bool:
    """Whether the kernel let us drop everything that is clean."""
    try:
        descriptor = os.open(CONTROL, os.O_WRONLY)
    except OSError:
        return False
    try:
        os.write(descriptor, b"3")
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def measure_cached(descriptor: int) -> float:
    """The share of a file's pages that are in memory. Raises OSError."""
    size = os.fstat(descriptor).st_size
    if not size:
        return 0.0
    libc = ctypes.CDLL(None, use_errno=True)
    with mmap.mmap(descriptor, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE) as area:
        pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
        states = (ctypes.c_ubyte * pages)()
        first = ctypes.c_char.from_buffer(area)
        failed = libc.mincore(ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(size), states)
        del first  # or the area cannot be closed
        if failed:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        return sum(state & 1 for state in states) / pages
