"""Plain text in aligned columns, as wide as a terminal shows it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

GAP = "  "


def align(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    """One line per row; the columns in `right` are set to the right. All rows have as many columns."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    return [
        GAP.join(_pad(text, widths[n], n in right) for n, text in enumerate(row)).rstrip() for row in rows
    ]


def width(text: str) -> int:
    """How many places a text takes on a terminal: wide letters take two, combining ones none."""
    if text.isascii() and text.isprintable():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def shorten(text: str, most: int) -> str:
    """The text, or its beginning and `…` where it would take more than `most` places."""
    if width(text) <= most:
        return text
    while text and width(text) > most - 1:
        text = text[:-1]
    return text + "…" if most > 0 else ""


def _pad(text: str, places: int, right: bool) -> str:
    blanks = " " * (places - width(text))
    return blanks + text if right else text + blanks
