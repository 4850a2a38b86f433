"""Logs of single messages that were folded on the host: a line a bin, and a last one with their sum."""

from __future__ import annotations

import re

from steelyard.errors import ParseFailure
from steelyard.model.command import Output
from steelyard.stats.histogram import Histogram


def read_lines(output: Output, name: str, what: str) -> list[str]:
    """The lines of a file of the record. Raises ParseFailure when it is missing or empty."""
    path = output.raw.get(name)
    lines = path.read_text(errors="replace").splitlines() if path else []
    if not lines:
        raise ParseFailure(f"{what} is missing or empty")
    return lines


def parse_histogram(lines: list[str], what: str, *, divisor: float) -> Histogram:
    """From lines `value count` and a last one `all sum`, which shows that nothing is missing.

    `divisor` brings the values to seconds. Raises ParseFailure.
    """
    if not lines or not re.fullmatch(r"all \d+", lines[-1]):
        raise ParseFailure(f"{what} is missing or truncated")
    try:
        bins = {key: int(count) for key, count in (line.split() for line in lines[:-1])}
        histogram = Histogram.of(bins, divisor=divisor)
    except ValueError as error:
        raise ParseFailure(f"{what} is damaged: {error}") from error
    if histogram.count != int(lines[-1].split()[1]):
        raise ParseFailure(f"{what} is inconsistent: its counts do not add up")
    return histogram
