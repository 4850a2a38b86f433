"""A published run read back from a ZIP file that a stranger may have made."""

from __future__ import annotations

import os
import shutil
import stat
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import IO

from steelyard.errors import StoreError
from steelyard.files import NEW
from steelyard.store.journal import parse_line
from steelyard.store.layout import RunFolder, is_run_id
from steelyard.untrusted import open_regular, read_lines

MOST_BYTES, MOST_FILES = 4 << 30, 200_000


def unpack_crate(path: Path, place: Path) -> RunFolder:
    """Unpack a crate into an empty directory of ours. Raises StoreError for what is no crate of a run.

    Only plain files with names inside are unpacked, and no more than 4 GiB of them, whatever it claims.
    """
    folder = place / "crate"
    try:
        with zipfile.ZipFile(path) as archive:
            _unpack_all(archive, folder)
    except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise StoreError(f"cannot read {path}: {error}") from error
    if not (folder / "journal.ndjson").is_file():
        raise StoreError(f"{path} holds no run: it has no journal.ndjson")
    named = RunFolder(folder.with_name(_find_id(folder) or "crate"))
    folder.rename(named.path)
    return named


def _find_id(folder: Path) -> str:
    """The id that the run has by itself; empty where it says none."""
    with suppress(OSError), open_regular(folder / "journal.ndjson") as file:
        first = parse_line(next(read_lines(file), b"")) or {}
        if is_run_id(str(first.get("run", ""))):
            return str(first["run"])
    return ""


def _unpack_all(archive: zipfile.ZipFile, folder: Path) -> None:
    left = MOST_BYTES
    for number, member in enumerate(archive.infolist()):
        if number >= MOST_FILES:
            raise OSError(f"it holds more than {MOST_FILES:,} files")
        left -= _unpack(archive, member, folder, left)


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, place: Path, left: int) -> int:
    """One member; how many bytes it had."""
    name, mode = PurePosixPath(member.filename), member.external_attr >> 16
    odd = name.is_absolute() or ".." in name.parts or "\\" in member.filename or "\0" in member.filename
    if member.is_dir() or odd or stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return 0
    target = place / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, os.fdopen(os.open(target, NEW, 0o600), "wb") as file:
        shutil.copyfileobj(_Limited(source, left), file, 1 << 20)
        return file.tell()


class _Limited:
    """A source that ends with an error where it gives more than it may."""

    def __init__(self, source: IO[bytes], most: int) -> None:
        self._source, self._left = source, most

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes. Raises OSError beyond the limit."""
        data = self._source.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise OSError(f"it holds more than {MOST_BYTES >> 30} GiB")
        return data
