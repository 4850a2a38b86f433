"""The program as one text: its files in order, without the lines by which they import each other."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

_PROGRAM = Path(__file__).with_name("program")
_FIRST = ("harness", "libc", "runner")
_LAST = "main"


def list_files() -> tuple[Path, ...]:
    """The program's files in the order in which they need each other."""
    cases = sorted(_PROGRAM.glob("*_cases.py"))
    return (*(_PROGRAM / f"{name}.py" for name in _FIRST), *cases, _PROGRAM / f"{_LAST}.py")


@cache
def join_program() -> str:
    """The text for the interpreter of a host that has nothing of Steelyard."""
    return "\n\n".join(_cut_own_imports(path.read_text()) for path in list_files())


def _cut_own_imports(text: str) -> str:
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(__package__):
            start, end = node.lineno - 1, node.end_lineno or node.lineno
            lines[start:end] = [""] * (end - start)
    return "\n".join(lines)
