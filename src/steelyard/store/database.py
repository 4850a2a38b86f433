"""How duckdb is asked: by one thread, without a network, and with paths that are no patterns."""

from __future__ import annotations

from pathlib import Path

OFFLINE: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""Its configuration."""


def escape_path(path: Path) -> str:
    """The path for duckdb, which takes `*`, `?` and `[` in it as a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))


def quote(text: str) -> str:
    """The text as a literal of a query."""
    return "'" + text.replace("'", "''") + "'"


def first_line(error: Exception) -> str:
    """What went wrong, without the query and its place."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
