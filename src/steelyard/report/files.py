"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from steelyard.errors import StoreError, StoreFull


@contextlib.contextmanager
def aside(path: Path) -> Iterator[Path]:
    """A name beside `path`; what was written there takes the place of `path` when the block ends well.

    Makes the folder, and removes the file when the block fails. Raises StoreFull, StoreError.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        part.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> Path:
    """Write a text file whole or not at all; what cannot be UTF-8 becomes `?`. Raises as `aside`."""
    with aside(path) as part:
        part.write_bytes(text.encode("utf-8", errors="replace"))
    return path


def _unwritable(path: Path, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(
            f"no space left for {path}", hint="free some space, or name another place with --output"
        )
    return StoreError(
        f"cannot write {path}: {error.strerror or error}", hint="name another place with --output"
    )
