"""A comparison on a terminal: plain lines."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.comparison.comparability import Difference
from steelyard.analysis.comparison.compare import RunComparison
from steelyard.analysis.comparison.gate import GatedComparison
from steelyard.analysis.comparison.sides import Which
from steelyard.printable import make_one_line
from steelyard.report.columns import align, shorten
from steelyard.report.sections.comparison import conclusion, reasons, sections, verdict
from steelyard.units import format_count

_MOST = 12  # differences
_LONGEST = 200  # characters of a difference


def comparison_lines(comparison: RunComparison) -> list[str]:
    """What differs, a table per metric, how many comparisons had which verdict, what was not compared."""
    lines = [*_side("a", comparison.a, "   (the baseline)"), *_side("b", comparison.b)]
    lines += _differences(comparison.differences)
    for part in sections(comparison):
        rows = [[make_one_line(text) for text in row] for row in (part.head, *part.rows)]
        lines += ["", make_one_line(part.heading), *align(rows)]
    return [*lines, "", *map(make_one_line, conclusion(comparison))]


def gate_lines(gated: GatedComparison) -> list[str]:
    """That a gate passes; or why it does not, each cell with its reason, and what would let it."""
    if gated.is_passing:
        return [verdict(gated)] if gated.gate else []
    told = [make_one_line(f"  {text}") for text in reasons(gated)]
    return [f"does not pass, for {format_count(len(gated.objections) or 1, 'reason')}:", *told]


def _side(which: Which, names: Sequence[str], note: str = "") -> list[str]:
    lines = [make_one_line(f"{'   ' if place else f'{which}  '}{name}") for place, name in enumerate(names)]
    return [*lines[:-1], lines[-1] + note]


def _differences(found: Sequence[Difference]) -> list[str]:
    told = [shorten(make_one_line(f"  {one}"), _LONGEST) for one in found[:_MOST]]
    more = [f"  and {len(found) - _MOST} more"] if len(found) > _MOST else []
    return ["differs", *told, *more] if told else []
