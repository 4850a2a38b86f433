"""Read an experiment file: text to plain values, each with its place, or every problem at once.

Strangers write these files. Nothing in one is executed or constructed, the text and the tree are bounded,
and whatever is wrong ends in one SourceError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError

from steelyard.errors import UsageError
from steelyard.spec.problem import Problem, Problems, SourceError, SourceMark
from steelyard.spec.yaml.errors import explain
from steelyard.spec.yaml.nodes import Composer, YamlEntry, convert_mark

__all__ = [
    "MAX_BYTES",
    "Problem",
    "Source",
    "SourceError",
    "SourceMark",
    "read",
    "read_bytes",
    "read_content",
]

MAX_BYTES = 128 * 1024
"""Largest file: the parser reads about 250 kB/s, and a hostile file is to be refused within a second."""

_BOM = "\ufeff"
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]|[\ud800-\udfff]|[\ufffe\uffff]")


@dataclass(frozen=True)
class Source:
    """A file that was read: its name, its plain value, and where each part of that stands."""

    name: str
    value: Any
    _root: YamlEntry

    def locate(self, path: tuple[str | int, ...], *, key: bool = False) -> SourceMark:
        """Where the value at `path` begins, or with `key` the key that names it.

        A path that leads nowhere gives the nearest parent that exists.
        """
        entry = self._root
        for step in path:
            below = (entry.node.entries or {}).get(step)
            if below is None:
                break
            entry = below
        return entry.key if key else entry.value


def read_content(path: Path, hint: str = "") -> bytes:
    """What a file holds, and not much more than may be. Raises UsageError, with the hint where it is missing.

    It may be a pipe or a link: whoever names it may read it.
    """
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        raise UsageError(f"cannot read {path}: {error.strerror}", hint=hint if missing else "") from error


def read_bytes(data: bytes, name: str) -> Source:
    """Read a file's content, which must be UTF-8. Raises SourceError."""
    problems = Problems(name)
    if len(data) > MAX_BYTES:
        _refuse_size(problems)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        problems.stop(_mark_after(data[: error.start].decode("utf-8")), _describe_encoding(data, error.start))
    return read(text, name)


def read(text: str, name: str) -> Source:
    """Read a file's text; `name` is what problems call it. Raises SourceError."""
    problems = Problems(name)
    if len(text) > MAX_BYTES:
        _refuse_size(problems)
    text = text.removeprefix(_BOM)
    if bad := _UNPRINTABLE.search(text):
        code = f"U+{ord(bad[0]):04X}"
        problems.stop(
            _mark_after(text[: bad.start()]), f"character {code} is not allowed in a file; remove it"
        )
    root = Composer(_parse_events(text, problems), problems).compose()
    problems.check()
    return Source(name, root.node.to_data(), root)


def _parse_events(text: str, problems: Problems) -> Iterator[Any]:
    last = SourceMark(1, 1)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            last = convert_mark(event.end_mark)
            yield event
    except MarkedYAMLError as error:
        problems.stop(*explain(error, text))
    except Exception as error:
        # The parser lets others out as well: '"\UFFFFFFFF"' an OverflowError, a long version a ValueError.
        problems.stop(last, f"not valid YAML after this place ({type(error).__name__})")


def _refuse_size(problems: Problems) -> None:
    problems.stop(SourceMark(1, 1), f"the file is larger than {MAX_BYTES // 1024} KiB; split it")


def _mark_after(before: str) -> SourceMark:
    """The place that follows this much text."""
    lines = re.split(r"\r\n|\r|\n", before.removeprefix(_BOM))
    return SourceMark(len(lines), len(lines[-1]) + 1)


def _describe_encoding(data: bytes, at: int) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "the file is UTF-16; save it as UTF-8"
    return f"byte 0x{data[at]:02x} is not UTF-8; save the file as UTF-8"
