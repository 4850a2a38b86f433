"""The files that must be there before a replay begins, as far as the calls tell."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.traces.replay.places import ON_DIRECTORIES, Links
from steelyard.traces.replay.rows import Row

_ABSENT = ("ENOENT", "ENOTDIR")
_THERE = ("EEXIST", "ENOTEMPTY", "EISDIR")
_ON_NAMES = ("stat", "access", "readlink", "chmod", "utime", "statfs", "truncate", "unlink", "rename", "link")
_KEPT = 0x7FFFFFFF & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC)


@dataclass(slots=True)
class Given:
    """A file, a directory or a symbolic link that is there before.

    If a process had it open, `handle` is what it is opened as, and `flags` are those of that descriptor.
    `target` is where a link leads.
    """

    path: str
    is_directory: bool
    size: int = 0
    handle: int | None = None
    flags: int = os.O_RDWR
    target: str | None = None

    @property
    def kind(self) -> str:
        """`file`, `directory` or `link`."""
        if self.target is not None:
            return "link"
        return "directory" if self.is_directory else "file"


@dataclass
class Tree:
    """Learns of the files from calls in their order: the first call on a name tells whether it was there.

    `directories` are the paths that some call shows to be one; `linked`, where links lead that were there.
    """

    directories: frozenset[str] = frozenset()
    linked: Mapping[str, str] = field(default_factory=dict)
    links: Links = field(default_factory=Links)
    given: list[Given] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)
    _unsized: dict[str, Given] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path, target in sorted(self.linked.items(), key=lambda link: link[0].count("/")):
            place = self.links.add(path, target)
            self._add_above(place)
            self._known.add(place)
            self.given.append(Given(place, is_directory=False, target=target))

    def learn(self, row: Row, path: str, other: str | None) -> None:
        """What a call tells of its paths, without links, below the directory of the replay."""
        second = other if row.call in ("rename", "link") else None
        if row.error is None:
            self._add_above(path)
            self._add_above(second or "")
        self.links.change(row, path, other)
        if row.call == "open":
            self._learn_open(row, path)
        elif row.call in ("mkdir", "symlink"):
            self._see(path, there=row.error in _THERE)
        elif row.call in _ON_NAMES:
            self._see(path, there=row.error not in _ABSENT)
        elif row.call in ON_DIRECTORIES:
            self._see(path, there=row.error not in _ABSENT, directory=row.error != "ENOTDIR")
        if second:
            self._see(second, there=row.error in _THERE)

    def learn_open_before(self, row: Row, path: str, handle: int, flags: int | None = None) -> None:
        """Of a descriptor that a process had when its recording began, with its flags if they are known."""
        self._add_above(path)
        self._known.add(path)
        given = Given(path, path in self.directories, row.file_size or 0, handle)
        given.flags = given.flags if flags is None else flags & _KEPT
        self.given.append(given)

    def _learn_open(self, row: Row, path: str) -> None:
        flags, size = row.detail or 0, row.file_size or 0
        creates = bool(flags & os.O_CREAT)
        there = row.error not in _ABSENT if row.error or not creates else size > 0
        self._see(path, there=there, directory=bool(flags & os.O_DIRECTORY), size=size)

    def _see(self, path: str, *, there: bool, directory: bool = False, size: int = 0) -> None:
        if path in self._known:
            self._learn_size(path, size)
            return
        self._known.add(path)
        if there:
            self._add_above(path)
            is_directory = directory or path in self.directories
            given = Given(path, is_directory, 0 if is_directory else size)
            self.given.append(given)
            if not size and not is_directory:
                self._unsized[path] = given

    def _learn_size(self, path: str, size: int) -> None:
        """The first that opens a file which others have looked at tells how large it is."""
        if size and (given := self._unsized.pop(path, None)):
            given.size = size

    def _add_above(self, path: str) -> None:
        above = posixpath.dirname(path)
        if above and above not in self._known:
            self._add_above(above)
            self._known.add(above)
            self.given.append(Given(above, is_directory=True))
