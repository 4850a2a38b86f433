"""A comparison as a reader sees it: the answer in a sentence, a table for each metric, what else to know."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Literal, NamedTuple

from steelyard.analysis.comparison.compare import ALPHA, ComparedCell, RunComparison
from steelyard.analysis.comparison.gate import ALLOWABLE, GatedComparison, ObjectionKind
from steelyard.analysis.comparison.sides import Which
from steelyard.report.numbers import Scale, scale_for
from steelyard.report.sections.section import Section
from steelyard.report.wording import format_list
from steelyard.stats.comparison import Comparison
from steelyard.stats.detectable import LARGEST
from steelyard.stats.interval import Interval
from steelyard.stats.sample import format_percent
from steelyard.stats.verdict import Verdict
from steelyard.units import format_count

HEAD = ("cell", "n", "a", "b", "change [95 %]", "verdict")
MOST_REASONS = 12
MOST_IN_ANSWER = 4
MANY_TIMES = 10.0
"""From this ratio on, nobody reads a change in per cent."""


class ComparisonSection(NamedTuple):
    """A comparison for a page. `sides` are the names of a and b; `verdict` is the gate's, empty without one.

    `reasons` say why it does not pass, with what to do about it last; `differences` what else is not alike.
    """

    sides: list[tuple[str, str]]
    answer: str
    mood: Literal["good", "bad", "none"]
    verdict: str
    reasons: list[str]
    differences: list[str]
    sections: list[Section]
    notes: list[str]


def describe_comparison(gated: GatedComparison) -> ComparisonSection:
    """All that is said of a comparison."""
    comparison = gated.comparison
    return ComparisonSection(
        [("a", f"{format_list(comparison.a, 12)} (the baseline)"), ("b", format_list(comparison.b, 12))],
        answer(comparison),
        _choose_mood(gated),
        verdict(gated),
        reasons(gated),
        [str(one) for one in comparison.differences],
        sections(comparison),
        conclusion(comparison),
    )


def _choose_mood(gated: GatedComparison) -> Literal["good", "bad", "none"]:
    if gated.gate is None:
        return "none"
    return "good" if gated.is_passing else "bad"


def answer(found: RunComparison) -> str:
    """`user: build=new is worse than build=old, by +19.8 % [18.1, 21.6].`; of many cells, how many are."""
    if not found.compared:
        return "Nothing could be compared."
    a, b = (format_list(found.a), format_list(found.b)) if found.parameter else ("a", "b")
    metrics = {one.metric.name for one in found.compared}
    if len(found.compared) > 1 and (len(metrics) > 1 or len(found.compared) > MOST_IN_ANSWER):
        return f"{b} against {a}: {_counts(found)}."
    if len(found.compared) > 1:
        told = [f"{one.cell.key} {_format_own_change(one)}, {one.verdict}" for one in found.compared]
        return f"{metrics.pop()} against {a}: {'; '.join(told)}."
    (one,) = found.compared
    b = one.cell.key if found.parameter else b
    change = _format_own_change(one)
    if one.verdict in (Verdict.BETTER, Verdict.WORSE):
        return f"{one.metric.name}: {b} is {one.verdict} than {a}, by {change}."
    return f"{one.metric.name}: {b} against {a}, {change}: {_verdict(one)}."


def _format_own_change(one: ComparedCell) -> str:
    return format_change(one.judged.comparison, _scale(one))


def verdict(gated: GatedComparison) -> str:
    """`It passes the gate, with a margin of 5 %.`; empty without a gate."""
    if gated.gate is None:
        return ""
    margin = "" if gated.gate.margin is None else f" with a margin of {format_percent(gated.gate.margin)}"
    if gated.is_passing:
        return f"The comparison passes{margin}."
    return f"The comparison does not pass{margin}: {format_count(len(gated.objections) or 1, 'reason')}."


def reasons(gated: GatedComparison) -> list[str]:
    """Why the gate does not pass, cell by cell; then what would let it."""
    against = gated.objections
    told = [f"{one.kind}  {one.cell.key}: {one.reason}" for one in against[:MOST_REASONS]]
    told += [f"and {len(against) - MOST_REASONS} more"] if len(against) > MOST_REASONS else []
    kinds = {one.kind for one in against}
    words = "allow: {}" if gated.comparison.parameter else "--allow {}"
    allowing = [words.format(kind) for kind in ALLOWABLE if kind in kinds]
    told += [f"{format_list(allowing)} accepts these"] if allowing else []
    if ObjectionKind.UNDECIDED in kinds:
        told.append("more trials and more runs narrow an interval; --metric NAME compares fewer metrics")
    if not against and not gated.is_passing:
        told.append("nothing could be compared, so there is no answer")
    return told


def sections(found: RunComparison) -> list[Section]:
    """A table for each metric."""
    made = []
    for metric, group in groupby(found.compared, key=lambda one: one.metric):
        better = "" if metric.better == "none" else f", {metric.better} is better"
        made.append(Section(metric.name + better, metric.about, [], HEAD, [_row(one) for one in group], []))
    return made


def conclusion(found: RunComparison) -> list[str]:
    """How many comparisons had which verdict, what else may be their reason, what was not compared."""
    made = format_count(len(found.compared), "comparison")
    said = f"{made}: {_counts(found)} (Holm's correction at {100 * ALPHA:g} %)"
    return [said if found.compared else "nothing to compare", *_caveats(found), *_list_uncompared(found)]


def format_comparison(one: ComparedCell) -> str:
    """A row as text: `12 pairs: 1.02 s -> 1.22 s, +19.8 % [18.1, 21.6]: worse`."""
    _, sizes, a, b, change, stands = _row(one)
    return f"n={sizes}: {a} -> {b}, {change}: {stands}"


def _counts(found: RunComparison) -> str:
    counts = [(len(found.select_by_verdict(verdict)), verdict) for verdict in Verdict]
    return ", ".join(f"{count} {verdict}" for count, verdict in counts if count)


def _scale(one: ComparedCell) -> Scale:
    comparison = one.judged.comparison
    known = [value for value in (comparison.median_a, comparison.median_b) if value is not None]
    return scale_for(known, one.metric.unit)


def _row(one: ComparedCell) -> tuple[str, ...]:
    comparison, scale = one.judged.comparison, _scale(one)
    sizes = f"{_size(comparison.n_a, comparison.failed_a)}, {_size(comparison.n_b, comparison.failed_b)}"
    return (
        one.cell.key,
        f"{comparison.n_a} pairs" if comparison.paired else sizes,
        "failed" if comparison.median_a is None else scale.text(comparison.median_a),
        "failed" if comparison.median_b is None else scale.text(comparison.median_b),
        format_change(comparison, scale),
        _verdict(one),
    )


def _size(n: int, failed: int) -> str:
    return f"{n}+{failed} failed" if failed else str(n)


def _verdict(one: ComparedCell) -> str:
    told = one.judged.note if one.verdict in (Verdict.TOO_FEW, Verdict.UNDECIDED) else ""
    if one.detectable is not None:
        told = f"a change of {_format_signed(100 * one.detectable)[1:]} % or more would be detected"
    elif one.verdict is Verdict.NO_DIFFERENCE and one.judged.comparison.ratio is not None:
        told = f"not even a factor of {LARGEST:g} would be detected"
    notes = "; ".join(filter(None, (told, one.disturbance)))
    return f"{one.verdict}: {notes}" if notes else str(one.verdict)


def format_change(found: Comparison, scale: Scale) -> str:
    """`-10.2 % [-11.5, -8.9]` or `286x [171, 477]`; a difference in the metric's unit without a ratio."""
    if found.difference is None:
        return "–"
    if found.ratio is None:
        return f"{_format_signed(found.difference / scale.factor)} {scale.label}".rstrip() + _ends(
            found.difference_interval, 0.0, 1 / scale.factor
        )
    if found.ratio >= MANY_TIMES:
        ends = found.ratio_interval
        return f"{found.ratio:.3g}x" + (f" [{ends.low:.3g}, {ends.high:.3g}]" if ends else "")
    return f"{_format_signed(100 * (found.ratio - 1))} %" + _ends(found.ratio_interval, 1.0, 100.0)


def _ends(interval: Interval | None, origin: float, factor: float) -> str:
    if interval is None:
        return ""
    low, high = (_format_signed((end - origin) * factor) for end in (interval.low, interval.high))
    return f" [{low}, {high}]"


def _format_signed(value: float) -> str:
    return f"{value:+.2f}" if abs(value) < 9.995 else f"{value:+.1f}"


def _caveats(found: RunComparison) -> Iterator[str]:
    """What else than the programs may be the reason of a verdict."""
    if found.machine_differences:
        told = "; ".join(map(str, found.machine_differences[:3]))
        yield f"measured in different places, which may explain any difference: {told}"
    if found.compared and not found.has_several_runs and not found.parameter:
        yield (
            "one run per side: these intervals do not include the variation between runs;"
            " `compare A1,A2,A3 B1,B2,B3` includes it"
        )
    apart = dict.fromkeys(
        one.cell.key for one in found.compared if found.parameter and _is_missing_pairs(one)
    )
    if cells := list(apart):
        reason = "the counted trials do not alternate with the baseline's"
        yield f"not compared in pairs, as {reason}: {format_list(cells)}"


def _is_missing_pairs(one: ComparedCell) -> bool:
    """Whether trials enough were made and none failed, but not side by side."""
    made = one.judged.comparison
    return not (made.paired or made.failed_a or made.failed_b or one.verdict is Verdict.TOO_FEW)


def _list_uncompared(found: RunComparison) -> Iterator[str]:
    if found.left_out:
        yield f"not compared: {format_list(found.left_out, 6)}; choose with --metric NAME"
    if found.parameter:
        yield from (f"{gap.cell.key}: no matching cell with {format_list(gap.runs)}" for gap in found.gaps)
    else:
        yield from _list_unmatched(found)
    yield from (f"{one.cell.key}: {one}" for one in found.missing_values)


def _list_unmatched(found: RunComparison) -> Iterator[str]:
    """The cells that only one side has, or that some of its runs lack."""
    which: Which
    for which in ("a", "b"):
        if cells := found.list_unmatched_cells(which):
            yield f"only in {which}: {format_list([cell.key for cell in cells])}"
    for gap in found.gaps:
        if not gap.whole:
            yield f"{gap.cell.key}: not in {format_list(gap.runs)}"
