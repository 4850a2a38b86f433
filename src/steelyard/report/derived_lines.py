"""Derived results on a terminal: plain lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.analysis.derived import DerivedResults
from steelyard.printable import make_one_line
from steelyard.report.columns import align
from steelyard.units import format_count

if TYPE_CHECKING:  # it loads numpy, which showing most runs does not need
    from steelyard.report.sections.section import Section

MOST_ROWS = 40


def sections(derived: DerivedResults) -> list[Section]:
    """A section for each result."""
    if not derived.results:
        return []
    from steelyard.report.sections.derived import derived_sections

    return derived_sections(derived)


def derived_lines(found: Sequence[Section], missing: Sequence[str]) -> list[str]:
    """Each result as a table and sentences, after an empty line; then what could not be derived, and why."""
    lines: list[str] = []
    for section in found:
        lines += ["", make_one_line(section.heading)]
        shown = [tuple(map(make_one_line, row)) for row in section.rows[:MOST_ROWS]]
        lines += align([tuple(map(make_one_line, section.head)), *shown]) if shown else []
        more = len(section.rows) - len(shown) + section.left_out
        lines += [f"… and {format_count(more, 'more row')}"] if more else []
        lines += [make_one_line(text) for text in (*section.notes, *section.sentences)]
    return lines + [f"not derived  {make_one_line(note)}" for note in missing]
