"""The comparison of two runs on a terminal: plain lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from steelyard.analysis.compare import ALPHA, ComparedCell, RunComparison
from steelyard.analysis.gate import Kind, Objection
from steelyard.printable import one_line
from steelyard.report.columns import aligned
from steelyard.report.numbers import Scale, scale_for
from steelyard.report.wording import counted, listed
from steelyard.stats.comparison import Comparison
from steelyard.stats.interval import Interval
from steelyard.stats.verdict import Verdict

_MOST = 12  # reasons against
HEAD = ["cell", "n", "a", "b", "change [95 %]", "verdict"]


def comparison_lines(comparison: RunComparison) -> list[str]:
    """A table per metric, then how many comparisons had which verdict, and what was not compared."""
    lines = [f"a  {comparison.a}   (the baseline)", f"b  {comparison.b}"]
    for name, group in groupby(comparison.compared, key=lambda one: one.metric.name):
        cells = list(group)
        better = cells[0].metric.better
        lines += ["", one_line(name) + ("" if better == "none" else f", {better} is better")]
        lines += aligned([HEAD, *(_row(one) for one in cells)])
    return [*lines, "", *_conclusion(comparison)]


def gate_lines(against: Sequence[Objection]) -> list[str]:
    """Why a gate does not pass, each cell with its reason, and what would let it."""
    lines = [f"does not pass, for {counted(len(against), 'reason')}:"]
    lines += [one_line(f"  {one.kind}  {one.cell.key}: {one.reason}") for one in against[:_MOST]]
    lines += [f"  and {len(against) - _MOST} more"] if len(against) > _MOST else []
    allowing = [f"--allow {kind}" for kind in Kind if kind in {one.kind for one in against} - {Kind.WORSE}]
    return lines + ([f"{listed(allowing)} lets that pass"] if allowing else [])


def _row(one: ComparedCell) -> list[str]:
    found = one.judged.comparison
    scale = scale_for([found.median_a, found.median_b], one.metric.unit)
    return [
        one_line(one.cell.key),
        f"{found.n_a}, {found.n_b}",
        scale.text(found.median_a),
        scale.text(found.median_b),
        _change(found, scale),
        one.verdict + (f": {one.judged.note}" if one.verdict is Verdict.TOO_FEW else ""),
    ]


def _change(found: Comparison, scale: Scale) -> str:
    """`-10.2 % [-11.5, -8.9]`; as a difference in the metric's unit where there is no ratio."""
    if found.ratio is None:
        return f"{_signed(found.difference / scale.factor)} {scale.label}".rstrip() + _ends(
            found.difference_interval, 0.0, 1 / scale.factor
        )
    return f"{_signed(100 * (found.ratio - 1))} %" + _ends(found.ratio_interval, 1.0, 100.0)


def _ends(interval: Interval | None, origin: float, factor: float) -> str:
    if interval is None:
        return ""
    low, high = (_signed((end - origin) * factor) for end in (interval.low, interval.high))
    return f" [{low}, {high}]"


def _signed(value: float) -> str:
    return f"{value:+.2f}" if abs(value) < 9.995 else f"{value:+.1f}"


def _conclusion(comparison: RunComparison) -> list[str]:
    counts = [(len(comparison.having(verdict)), verdict) for verdict in Verdict]
    parts = [f"{count} {verdict}" for count, verdict in counts if count]
    made = counted(len(comparison.compared), "comparison")
    lines = [
        f"{made}: {', '.join(parts)} (Holm's correction at {100 * ALPHA:g} %)"
        if parts
        else "nothing to compare"
    ]
    if comparison.left_out:
        lines.append(f"not compared: {one_line(listed(comparison.left_out, 6))}; choose with --metric NAME")
    for which, cells in (("a", comparison.only_a), ("b", comparison.only_b)):
        if cells:
            lines.append(f"only in {which}: {one_line(listed([cell.key for cell in cells]))}")
    return lines + [one_line(note) for note in comparison.notes]
