"""Where paths lie below the directory of a replay, and where symbolic links in them lead."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field

from steelyard.traces.replay.rows import Row

_MOST_LINKS = 40  # in one path, as Linux has it
ON_DIRECTORIES = ("opendir", "rmdir")
"""Calls that succeed on directories alone, which were there."""
_OF_DIRECTORIES = ("mkdir", *ON_DIRECTORIES)
_ON_LINKS = ("symlink", "readlink", "unlink", "rename", "link")


def find_place(path: str | None) -> str | None:
    """Where a path lies below the directory of a replay; None for what is no path of a file."""
    if not path or not path.startswith("/") or "\0" in path:
        return None
    return posixpath.normpath(path).lstrip("/") or "."


def list_above(path: str) -> list[str]:
    """The directories that a path lies in."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


@dataclass
class Landmarks:
    """What all calls tell: which paths are directories, and where links lead that were there before."""

    directories: set[str] = field(default_factory=set)
    links: dict[str, str] = field(default_factory=dict)
    _made: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Landmarks:
        """Those of a trace, by its rows in their order."""
        landmarks = cls()
        for row in rows:
            landmarks.take(row, find_place(row.path), find_place(row.other))
        return landmarks

    def take(self, row: Row, path: str | None, other: str | None) -> None:
        """What a row tells."""
        for place in (path, other):
            self.directories.update(list_above(place or ""))
        if row.error or path in (None, "."):
            return
        if row.call in _OF_DIRECTORIES:
            self.directories.add(path)
        elif row.call == "symlink":
            self._made.add(path)
        elif row.call == "rename" and other:
            self._made.add(other)
        elif other and (link := _find_link(row, path, other)) and link[0] not in self._made:
            self.links.setdefault(*link)


def _find_link(row: Row, path: str, other: str) -> tuple[str, str] | None:
    """A link, and where it leads: a path and what the kernel calls it differ from there on upwards."""
    if row.call == "readlink":
        return path, other
    if row.call != "resolved":
        return None
    while path != other and posixpath.basename(path) == posixpath.basename(other):
        path, other = posixpath.dirname(path), posixpath.dirname(other)
    return (path, other or ".") if path and path != other else None


@dataclass
class Links:
    """Symbolic links by their paths and where they lead, while calls make and remove them."""

    leads: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, target: str) -> str:
        """One that is there before; where it lies, without links above it. The shortest paths come first."""
        place = self._follow_above(path)
        self.leads[place] = target
        return place

    def find_file(self, row: Row, path: str) -> str:
        """The path of what a call is about, without links in it; some calls are about a link itself."""
        if not self.leads:
            return path
        return self._follow_above(path) if row.call in _ON_LINKS else self._follow(path)

    def _follow(self, path: str) -> str:
        for _ in range(_MOST_LINKS):
            met = next((part for part in (*list_above(path), path) if part in self.leads), None)
            if met is None:
                break
            path = posixpath.normpath(posixpath.join(self.leads[met], path[len(met) + 1 :]))
        return path

    def _follow_above(self, path: str) -> str:
        above, name = posixpath.split(path)
        return posixpath.join(self._follow(above), name) if above else path

    def change(self, row: Row, path: str, other: str | None) -> None:
        """What a call leaves of them, which got its paths from `find_file`."""
        if row.error:
            return
        if row.call == "symlink" and other:
            self.leads[path] = other
        elif row.call == "unlink":
            self.leads.pop(path, None)
        elif row.call == "rename" and other:
            led = self.leads.pop(path, None)
            self.leads.pop(other, None)
            self.leads.update({other: led} if led else {})
