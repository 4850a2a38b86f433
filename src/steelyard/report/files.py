"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from steelyard import files
from steelyard.errors import StoreError, StoreFull


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """A name for a library; what it wrote there takes the place of `path` when the block ends well.

    Makes the folder. Raises StoreFull, StoreError.
    """
    with _translate_errors(path), files.replace_whole(path) as part:
        yield part


def write_text(path: Path, text: str) -> Path:
    """Write a text file whole or not at all; what cannot be UTF-8 becomes `?`. Raises as `replace_whole`."""
    with _translate_errors(path):
        files.write_whole(path, text.encode("utf-8", errors="replace"))
    return path


@contextlib.contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise _build_error(path, error) from error


def _build_error(path: Path, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(
            f"no space left for {path}", hint="free some space, or choose another place with --output"
        )
    return StoreError(
        f"cannot write {path}: {error.strerror or error}", hint="choose another place with --output"
    )
