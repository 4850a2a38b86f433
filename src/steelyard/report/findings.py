"""Derived results on a terminal: plain lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.analysis.derived import Derived
from steelyard.printable import one_line
from steelyard.report.columns import aligned
from steelyard.report.wording import counted

if TYPE_CHECKING:  # it loads numpy, which showing most runs does not need
    from steelyard.report.sections.finding import Section

MOST_ROWS = 40


def sections(derived: Derived) -> list[Section]:
    """A section for each finding."""
    if not derived.findings:
        return []
    from steelyard.report.sections.derived import derived_sections

    return derived_sections(derived)


def finding_lines(found: Sequence[Section], missing: Sequence[str]) -> list[str]:
    """Each finding as a table and sentences, after an empty line; then what could not be derived, and why."""
    lines: list[str] = []
    for section in found:
        lines += ["", one_line(section.heading)]
        shown = [tuple(map(one_line, row)) for row in section.rows[:MOST_ROWS]]
        lines += aligned([tuple(map(one_line, section.head)), *shown]) if shown else []
        more = len(section.rows) - len(shown) + section.left_out
        lines += [f"… and {counted(more, 'more row')}"] if more else []
        lines += [one_line(text) for text in (*section.notes, *section.sentences)]
    return lines + [f"not derived  {one_line(note)}" for note in missing]
