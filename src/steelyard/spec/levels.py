"""Levels of parameters as people type them outside a file: `outstanding=128,256`."""

from __future__ import annotations

import math
from collections.abc import Iterable

from steelyard.errors import UsageError


def parse_level(level: str) -> int | float | str:
    """A number where the program would see the very same text, so that `0.10` stays as it was typed."""
    for kind in (int, float):
        try:
            number = kind(level)
        except ValueError:
            continue
        if str(number) == level and math.isfinite(number):
            return number
    return level


def parse_levels(texts: Iterable[str]) -> dict[str, list[int | float | str]]:
    """`outstanding=128,256`, again and again, as levels by name. Raises UsageError."""
    return dict(map(_parse_assignment, texts))


def _parse_assignment(text: str) -> tuple[str, list[int | float | str]]:
    name, equals, values = text.partition("=")
    if not (name and equals and values):
        raise UsageError(f"'{text}' is not NAME=LEVEL,LEVEL", hint="for example: -p outstanding=128,256")
    return name, [parse_level(value) for value in values.split(",")]
