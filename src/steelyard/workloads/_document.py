"""A tool's JSON, read without trust: whatever is missing or of another type becomes a ParseFailure."""

from __future__ import annotations

import json
from typing import NoReturn

from steelyard.errors import ParseFailure
from steelyard.workloads._fio_output import Node

_SHOWN = 60


def document(text: str, tool: str) -> Node:
    """The one JSON value that a tool printed. Raises ParseFailure that quotes where it breaks off."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()[:_SHOWN]
        found = f"reads {rest!r}" if rest else "ends" if text.strip() else "is empty"
        raise ParseFailure(f"{tool}'s output {found} at line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise ParseFailure(f"{tool}'s output is not JSON: {error}") from error
    return Node(value, f"{tool}'s output")


def last_line(text: str, tool: str) -> Node:
    """The JSON value on the last line, after whatever a library printed before it. Raises ParseFailure."""
    lines = text.strip().splitlines()
    return document(lines[-1] if lines else "", tool)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")
