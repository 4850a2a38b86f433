"""The program as one text: its files in the order in which they need each other."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from steelyard.workloads.kit.joined_program import join_files

_PROGRAM = Path(__file__).with_name("program")
_FIRST = ("harness", "libc", "runner")
_LAST = "main"


def list_files() -> tuple[Path, ...]:
    """The program's files in that order."""
    cases = sorted(_PROGRAM.glob("*_cases.py"))
    return (*(_PROGRAM / f"{name}.py" for name in _FIRST), *cases, _PROGRAM / f"{_LAST}.py")


@cache
def join_program() -> str:
    """The text for the interpreter of a host that has nothing of Steelyard."""
    return join_files(list_files())
