"""Folders as tar streams: packed here, and unpacked here without believing what a host sent.

A host may be anything by now, so nothing of its archive may land, or lead, outside the target: no absolute
names, no `..`, no links to elsewhere, no devices. Symbolic links are made last, so that no file is ever
written through one. A link may go up (`..`) only before it goes down: from its own folder, which is none but
a real one, upwards is inside as far as its name is deep, while `..` behind a name goes up from wherever that
name leads. (tarfile's own `data` filter resolves links on disk as it goes, and had holes: CVE-2025-4517.)
"""

from __future__ import annotations

import itertools
import os
import stat
import tarfile
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple, Protocol

_MOST_HEADERS = 32 << 20  # bytes between the contents of two files
_BLOCK = 1 << 20


class ArchiveError(ValueError):
    """An archive is refused, or broken."""


class ArchiveBounds(NamedTuple):
    """How much an archive may hold, unpacked."""

    size: int = 64 << 30
    entries: int = 1_000_000


class ByteSource(Protocol):
    """Where an archive comes from."""

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""


class ByteSink(Protocol):
    """Where an archive goes."""

    def write(self, data: bytes) -> int:
        """Take all of it."""


def pack(folder: Path, sink: ByteSink) -> None:
    """Write a folder with everything in it as a tar archive. Sockets are left out. Raises OSError."""
    with tarfile.open(
        fileobj=sink,  # type: ignore[call-overload]
        mode="w|",
        format=tarfile.GNU_FORMAT,
        bufsize=_BLOCK,
        errors="surrogateescape",
    ) as archive:
        archive.add(folder, arcname=".", filter=_drop_owner)


def _drop_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def unpack(source: ByteSource, target: Path, bounds: ArchiveBounds | None = None) -> None:
    """Unpack an archive into a folder, which is made. Raises ArchiveError and OSError."""
    counted = _LimitedSource(source)
    try:
        with tarfile.open(
            fileobj=counted,  # type: ignore[call-overload]
            mode="r|",
            bufsize=_BLOCK,
            errors="surrogateescape",
        ) as archive:
            _Unpacker(target, bounds or ArchiveBounds()).unpack(archive, counted)
    except ArchiveError:
        raise
    except (tarfile.TarError, ValueError, ArithmeticError, EOFError, RecursionError) as error:
        raise ArchiveError(f"it is broken: {error}") from error


class _LimitedSource:
    """A source that ends a flood of headers, which tarfile would take into memory."""

    def __init__(self, source: ByteSource) -> None:
        self._source, self.left = source, _MOST_HEADERS

    def read(self, size: int) -> bytes:
        data = self._source.read(size)
        self.left -= len(data)
        if self.left < 0:
            raise ArchiveError("its headers are incomplete")
        return data


class _Unpacker:
    def __init__(self, target: Path, bounds: ArchiveBounds) -> None:
        self._target, self._bounds = target, bounds
        self._size = self._entries = 0
        self._files: set[PurePosixPath] = set()
        self._links: dict[PurePosixPath, str] = {}

    def unpack(self, archive: tarfile.TarFile, counted: _LimitedSource) -> None:
        self._target.mkdir(exist_ok=True)
        if self._target.is_symlink():
            raise ArchiveError("it would extract through a link")
        for entry in archive:
            counted.left = _MOST_HEADERS + max(entry.size, 0)
            self._count(entry)
            self._unpack_entry(archive, entry)
            counted.left = _MOST_HEADERS
        for name, to in tuple(self._links.items()):
            self._clear(name).symlink_to(to)

    def _count(self, entry: tarfile.TarInfo) -> None:
        self._size += entry.size
        self._entries += 1
        if entry.size < 0 or self._size > self._bounds.size or self._entries > self._bounds.entries:
            raise ArchiveError(
                f"it contains more than {self._bounds.size} bytes or {self._bounds.entries} entries"
            )

    def _unpack_entry(self, archive: tarfile.TarFile, entry: tarfile.TarInfo) -> None:
        name = _check_inside(entry.name)
        if entry.isdir():
            self._make_folder(name)
        elif entry.issym():
            self._links[name] = _check_link(name, entry.linkname)
        elif entry.islnk() and (first := _check_inside(entry.linkname)) in self._files:
            self._clear(name).hardlink_to(self._target / first)
            self._files.add(name)
        elif entry.isreg() and not entry.issparse() and (content := archive.extractfile(entry)):
            self._write_file(name, content, entry)
        else:
            raise ArchiveError(f"{entry.name!r} is not a file, folder or link within it")

    def _write_file(self, name: PurePosixPath, content: IO[bytes], entry: tarfile.TarInfo) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self._clear(name), flags, entry.mode & 0o755 | 0o600)
        self._files.add(name)
        left = entry.size
        with os.fdopen(fd, "wb") as file:
            while data := content.read(_BLOCK):
                left -= file.write(data)
        if left:
            raise ArchiveError(f"{entry.name!r} is truncated")

    def _make_folder(self, name: PurePosixPath) -> None:
        """Make a folder and those above it; none of them may be a link, whoever made it."""
        for above in (*reversed(name.parents), name):
            path = self._target / above
            if above == PurePosixPath():
                continue
            try:
                path.mkdir()
            except FileExistsError:
                if not stat.S_ISDIR(path.lstat().st_mode):
                    raise ArchiveError(f"{str(above)!r} already exists and is not a folder") from None

    def _clear(self, name: PurePosixPath) -> Path:
        """The path for a new file or link, which replaces what is there."""
        if name == PurePosixPath():
            raise ArchiveError("it is not a folder")
        self._make_folder(name.parent)
        path = self._target / name
        if path.is_symlink() or path.is_file():
            path.unlink()
        self._files.discard(name)
        self._links.pop(name, None)
        return path


def _check_inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise ArchiveError(f"{name!r} is outside")
    return path


def _check_link(name: PurePosixPath, to: str) -> str:
    """Where a link leads, whatever else in the archive is a link. Raises ArchiveError."""
    path = PurePosixPath(to)
    up = len(tuple(itertools.takewhile("..".__eq__, path.parts)))
    if path.is_absolute() or ".." in path.parts[up:] or up > len(name.parent.parts) or "\0" in to:
        raise ArchiveError(f"{str(name)!r} points to {to!r}, which is or may be outside")
    return to
