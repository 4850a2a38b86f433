"""The comparison of two runs on a terminal: plain lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from steelyard.analysis.compare import ALPHA, ComparedCell, RunComparison
from steelyard.analysis.gate import ALLOWABLE, Kind, Objection
from steelyard.analysis.likeness import Difference
from steelyard.analysis.sides import Which
from steelyard.printable import one_line
from steelyard.report.columns import aligned, shortened
from steelyard.report.numbers import Scale, scale_for
from steelyard.report.wording import counted, listed
from steelyard.stats.comparison import Comparison
from steelyard.stats.detectable import LARGEST
from steelyard.stats.interval import Interval
from steelyard.stats.verdict import Verdict

_MOST = 12  # reasons against, or differences
_LONGEST = 200  # characters of a difference
HEAD = ["cell", "n", "a", "b", "change [95 %]", "verdict"]


def comparison_lines(comparison: RunComparison) -> list[str]:
    """What differs, a table per metric, how many comparisons had which verdict, what was not compared."""
    lines = [*_side("a", comparison.a, "   (the baseline)"), *_side("b", comparison.b)]
    lines += _differences(comparison.differences)
    for name, group in groupby(comparison.compared, key=lambda one: one.metric.name):
        cells = list(group)
        better = cells[0].metric.better
        lines += ["", one_line(name) + ("" if better == "none" else f", {better} is better")]
        lines += aligned([HEAD, *(_row(one) for one in cells)])
    return [*lines, "", *_conclusion(comparison)]


def _side(which: Which, runs: Sequence[str], note: str = "") -> list[str]:
    names = [f"{'   ' if place else f'{which}  '}{run}" for place, run in enumerate(runs)]
    return [*names[:-1], names[-1] + note]


def _differences(found: Sequence[Difference]) -> list[str]:
    told = [shortened(one_line(f"  {one}"), _LONGEST) for one in found[:_MOST]]
    more = [f"  and {len(found) - _MOST} more"] if len(found) > _MOST else []
    return ["differs", *told, *more] if told else []


def gate_lines(against: Sequence[Objection]) -> list[str]:
    """Why a gate does not pass, each cell with its reason, and what would let it."""
    lines = [f"does not pass, for {counted(len(against), 'reason')}:"]
    lines += [one_line(f"  {one.kind}  {one.cell.key}: {one.reason}") for one in against[:_MOST]]
    lines += [f"  and {len(against) - _MOST} more"] if len(against) > _MOST else []
    allowing = [f"--allow {kind}" for kind in ALLOWABLE if kind in {one.kind for one in against}]
    lines += [f"{listed(allowing)} lets that pass"] if allowing else []
    if any(one.kind is Kind.UNDECIDED for one in against):
        lines.append("more trials and more runs narrow an interval; --metric NAME judges fewer")
    return lines


def _row(one: ComparedCell) -> list[str]:
    found = one.judged.comparison
    known = [value for value in (found.median_a, found.median_b) if value is not None]
    scale = scale_for(known, one.metric.unit)
    return [
        one_line(one.cell.key),
        f"{_size(found.n_a, found.failed_a)}, {_size(found.n_b, found.failed_b)}",
        "failed" if found.median_a is None else scale.text(found.median_a),
        "failed" if found.median_b is None else scale.text(found.median_b),
        _change(found, scale),
        _verdict(one),
    ]


def _size(n: int, failed: int) -> str:
    return f"{n}+{failed} failed" if failed else str(n)


def _verdict(one: ComparedCell) -> str:
    told = one.judged.note if one.verdict in (Verdict.TOO_FEW, Verdict.UNDECIDED) else ""
    if one.detectable is not None:
        told = f"from {_signed(100 * one.detectable)[1:]} % on it would show"
    elif one.verdict is Verdict.NO_DIFFERENCE and one.judged.comparison.ratio is not None:
        told = f"not even {LARGEST:g} times as much would show"
    notes = "; ".join(filter(None, (told, one.under)))
    return f"{one.verdict}: {notes}" if notes else str(one.verdict)


def _change(found: Comparison, scale: Scale) -> str:
    """`-10.2 % [-11.5, -8.9]`; as a difference in the metric's unit where there is no ratio."""
    if found.difference is None:
        return "–"
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
    said = (
        f"{made}: {', '.join(parts)} (Holm's correction at {100 * ALPHA:g} %)"
        if parts
        else "nothing to compare"
    )
    return [one_line(line) for line in (said, *_caveats(comparison), *_not_compared(comparison))]


def _caveats(comparison: RunComparison) -> Iterator[str]:
    """What else than the programs may be the reason of a verdict."""
    if comparison.across:
        told = "; ".join(map(str, comparison.across[:3]))
        yield f"measured in different places, which may be the reason of any difference: {told}"
    if comparison.compared and not comparison.of_several:
        yield (
            "one run a side: how runs differ from each other is not in these intervals;"
            " compare A1,A2,A3 B1,B2,B3 takes it in"
        )


def _not_compared(comparison: RunComparison) -> Iterator[str]:
    if comparison.left_out:
        yield f"not compared: {listed(comparison.left_out, 6)}; choose with --metric NAME"
    sides: tuple[Which, ...] = ("a", "b")
    for which in sides:
        if cells := comparison.only(which):
            yield f"only in {which}: {listed([cell.key for cell in cells])}"
    for gap in comparison.gaps:
        if not gap.whole:
            yield f"{gap.cell.key}: not in {listed(gap.runs)}"
    yield from (f"{one.cell.key}: {one}" for one in comparison.valueless)
