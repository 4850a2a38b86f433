"""What can be wrong with an expression."""

from __future__ import annotations

from steelyard.errors import UsageError

Path = tuple[str | int, ...]
"""The way to a part of a tree of dict and list: keys and indices."""


class ExpressionError(UsageError):
    """An expression cannot be understood, or not be evaluated.

    `column` counts from 1 in the text of the expression or template. `path` leads to that text inside
    the tree that was walked; it is empty for a text on its own.
    """

    def __init__(self, message: str, column: int, path: Path = ()) -> None:
        super().__init__(message)
        self.column = column
        self.path = path

    def prepend_path(self, path: Path) -> ExpressionError:
        """The same error, seen from the root of a tree."""
        return ExpressionError(self.message, self.column, path + self.path)


def quote_text(text: str, limit: int = 40) -> str:
    """A text in quotes for a message: shortened, and safe to print on a terminal."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
