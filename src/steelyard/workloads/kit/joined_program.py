"""A program of several files as one text, for the interpreter of a host that has nothing of Steelyard."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

_FUTURE = "from __future__ import annotations"


def join_files(paths: Iterable[Path]) -> str:
    """The files in the order in which they need each other, without the lines by which they import ours."""
    texts = [path.read_text() for path in paths]
    first = [_FUTURE] if any(_FUTURE in text for text in texts) else []  # Python 3.6 does not know it
    return "\n\n".join([*first, *map(_cut_own_imports, texts)])


def _cut_own_imports(text: str) -> str:
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(("steelyard.", "__future__")):
            start, end = node.lineno - 1, node.end_lineno or node.lineno
            lines[start:end] = [""] * (end - start)
    return "\n".join(lines)
