"""Tables of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def rows(heading: Iterable[str], lines: Iterable[Iterable[str]]) -> Iterator[str]:
    """The rows of a table; nothing without lines."""
    lines = [tuple(line) for line in lines]
    if not lines:
        return
    heading = tuple(heading)
    yield from ("", _row(heading), "|" + "---|" * len(heading))
    yield from map(_row, lines)


def code(text: str) -> str:
    """Text as code; nothing as nothing."""
    return f"`{text}`" if text else ""


def _row(cells: Iterable[str]) -> str:
    return "|" + "|".join(f" {_cell(cell)} " if cell else " " for cell in cells) + "|"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
