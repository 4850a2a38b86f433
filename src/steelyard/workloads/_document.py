"""A tool's JSON, read without trust: whatever is missing or of another type becomes a ParseFailure."""

from __future__ import annotations

import json
from typing import NoReturn

from steelyard.errors import ParseFailure
from steelyard.workloads._fio_output import JsonNode

_SHOWN = 60


def parse_document(text: str, tool: str) -> JsonNode:
    """The one JSON value that a tool printed. Raises ParseFailure that quotes where it breaks off."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()[:_SHOWN]
        problem = f"reads {rest!r}" if rest else "ends" if text.strip() else "is empty"
        raise ParseFailure(f"{tool}'s output {problem} at line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise ParseFailure(f"{tool}'s output is not JSON: {error}") from error
    return JsonNode(value, f"{tool}'s output")


def parse_last_line(text: str, tool: str) -> JsonNode:
    """The JSON value on the last line, after whatever a library printed before it. Raises ParseFailure."""
    lines = text.strip().splitlines()
    return parse_document(lines[-1] if lines else "", tool)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")
