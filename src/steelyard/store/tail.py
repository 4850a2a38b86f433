"""A file of lines that somebody writes to, read as it grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from steelyard.store.journal import parse_line
from steelyard.untrusted import open_regular, read_lines

Line = dict[str, Any]


class Tail:
    """The lines that a file has grown by since it was last looked at; a torn one waits for its end."""

    def __init__(self, path: Path, parse: Callable[[bytes], Line | None] = parse_line) -> None:
        self._path, self._parse, self._read = path, parse, 0

    def read_new_lines(self) -> Iterator[Line]:
        """Whole lines only. Raises OSError."""
        with open_regular(self._path) as file:
            file.seek(self._read)
            for raw in read_lines(file):
                if not (line := self._parse(raw)):
                    return
                self._read += len(raw)
                yield line
