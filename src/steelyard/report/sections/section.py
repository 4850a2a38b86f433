"""The form of a derived result on a page or a terminal, and its figures as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steelyard.report.numbers import show_interval
from steelyard.stats.estimate import Estimate
from steelyard.stats.summary import Summary

NO_INTERVAL = "[–]"


class Section(NamedTuple):
    """One derived result. `heading` names it, `about` says how to read it.

    `rows` are texts below `head`, or there are none. `notes` are sentences on what lacks, `left_out` counts
    the rows beyond those shown.
    """

    heading: str
    about: str
    sentences: list[str]
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: list[str]
    left_out: int = 0


def summary_text(found: Summary, unit: str) -> str:
    """`2.05 GiB/s [1.96, 2.11]`, or `[–]` without an interval."""
    median, interval = show_interval(found.median, found.interval, unit)
    return f"{median} {interval or NO_INTERVAL}"


def estimate_text(found: Estimate | None, unit: str) -> str:
    """The same of a derived figure; `–` for none."""
    if found is None:
        return "–"
    value, interval = show_interval(found.value, found.interval, unit)
    return f"{value} {interval or NO_INTERVAL}"
