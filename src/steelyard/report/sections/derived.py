"""Derived results as tables and sentences: limits, losses, speed-up, knees, cost, ranking, failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.analysis.cost import CostTable
from steelyard.analysis.failures import FailureTable
from steelyard.analysis.knee import KneeStudy
from steelyard.analysis.limit import LimitStudy
from steelyard.analysis.ranking import RankingTable
from steelyard.analysis.scaling import Scaling, ScalingPoint
from steelyard.report.sections.cost import cost_section
from steelyard.report.sections.limit import limit_section
from steelyard.report.sections.section import NO_INTERVAL, Section, estimate_text, summary_text
from steelyard.report.wording import format_list
from steelyard.stats.estimate import Estimate

if TYPE_CHECKING:
    from steelyard.analysis.derived import DerivedResult, DerivedResults

MOST_ROWS = 500


def derived_sections(derived: DerivedResults) -> list[Section]:
    """A section for each result, in their order."""
    return [_cut(_section(result)) for result in derived.results]


def _cut(section: Section) -> Section:
    more = max(0, len(section.rows) - MOST_ROWS)
    return section._replace(rows=section.rows[:MOST_ROWS], left_out=more)


def _section(result: DerivedResult) -> Section:
    match result:
        case Scaling():
            return _loss(result) if result.question == "loss" else _speedup(result)
        case KneeStudy():
            return _knees(result)
        case LimitStudy():
            return limit_section(result)
        case CostTable():
            return cost_section(result)
        case RankingTable():
            return _ranking(result)
    return _failures(result)


def _loss(found: Scaling) -> Section:
    points = [point for curve in found.curves for point in curve.points]
    about = (
        f"The rate per {found.per}, the total, and the efficiency loss: 1 - rate per {found.per} / the same"
        f" rate in the first of the cells that differ in {found.parameter} alone."
    )
    head = ("cell", "copies", f"rate per {found.per}", "total", "efficiency loss [95 %]")
    rows = [
        (
            point.cell.key,
            str(point.copies),
            summary_text(point.each, found.metric.unit),
            summary_text(point.total, found.metric.unit),
            estimate_text(point.loss, "%"),
        )
        for point in points
    ]
    heading = f"Efficiency loss of {found.metric.name} over {found.parameter}"
    return Section(heading, about, _losses(found), head, rows, _reasons(points))


def _losses(found: Scaling) -> list[str]:
    """`with 4 copies each core loses 44.6 % [43.9, 45.2]`, for the last point of each curve."""
    sentences = []
    for curve in found.curves:
        last = curve.points[-1]
        if last.loss and last.efficiency:
            where = f" ({curve.label})" if curve.label else ""
            text = _describe_loss(found.per, last.copies, last.loss, last.efficiency)
            sentences.append(f"{found.metric.name}{where}: {text} {curve.points[0].copies}")
    return sentences


def _describe_loss(per: str, copies: int, loss: Estimate, efficiency: Estimate) -> str:
    """A loss below zero is a gain, which is no share of anything."""
    size = estimate_text(loss, "%")
    if loss.interval and 0 in loss.interval:
        return f"no loss is detected with {copies} copies, {size} against"
    if loss.value < 0:
        times = estimate_text(efficiency, "1")
        return f"with {copies} copies, each {per} delivers {times} times what it delivers with"
    return f"with {copies} copies, each {per} loses {size} of what it delivers with"


def _speedup(found: Scaling) -> Section:
    points = [point for curve in found.curves for point in curve.points]
    counted = {"copies": "copies", "hosts": "hosts"}.get(found.by, found.parameter)
    about = (
        f"The speed-up over the first cell with more {counted}, and the share of it that remains per"
        f" {found.per} (parallel efficiency: 100 % is perfect)."
    )
    head = ("cell", counted, "total", "speed-up [95 %]", "parallel efficiency [95 %]")
    rows = [
        (
            point.cell.key,
            f"{point.amount:g}",
            summary_text(point.total, found.metric.unit),
            estimate_text(point.speedup, "1"),
            estimate_text(point.efficiency, "%"),
        )
        for point in points
    ]
    heading = f"Speed-up of {found.metric.name} over {found.parameter}"
    return Section(heading, about, [], head, rows, _reasons(points))


def _reasons(points: Sequence[ScalingPoint]) -> list[str]:
    """Why there are ratios without intervals, each reason once."""
    reasons = [point.speedup.reason for point in points if point.speedup and point.speedup.reason]
    reasons += [point.total.interval_reason for point in points if point.total.interval_reason]
    return [f"{NO_INTERVAL} {reason}" for reason in dict.fromkeys(reasons)]


def _knees(found: KneeStudy) -> Section:
    about = (
        f"The knee is the smallest {found.parameter} that no later level beats by more than"
        f" {100 * found.tolerance:g} %. A level is ruled out or confirmed only by entire 95 % intervals of"
        " ratios of medians (Bonferroni over all levels); where these are inconclusive, a range is given."
    )
    heading = f"Knee of {found.metric.name} over {found.parameter}"
    sentences = [found.sentence(curve) for curve in found.curves]
    return Section(heading, about, sentences, (), [], [])


def _ranking(found: RankingTable) -> Section:
    where = f" ({found.label})" if found.label else ""
    about = (
        f"Ranks by the median of {found.metric.name}. The interval counts those that are significantly better"
        " and worse (rank tests, Holm's correction over all pairs); the share is that of the resamples of the"
        " repetitions in which the rank is the same."
    )
    count = len(found.rows)
    head = ("rank", "[95 %]", found.of, found.metric.name, "same rank", "not distinguishable from")
    rows = [
        (
            str(row.place.rank),
            f"[{row.place.low}, {row.place.high}]",
            row.name,
            summary_text(row.figure, found.metric.unit),
            f"{100 * row.place.shares[row.place.rank - 1]:.0f} %",
            "all others" if len(row.tied) == count - 1 > 1 else format_list(row.tied, 4) or "–",
        )
        for row in found.rows
    ]
    notes = [found.note] if found.note else []
    return Section(
        f"Ranking of {found.of} by {found.metric.name}{where}",
        about,
        _describe_leader(found),
        head,
        rows,
        notes,
    )


def _describe_leader(found: RankingTable) -> list[str]:
    best = found.rows[0]
    if not best.tied:
        return [f"{found.metric.name}: {best.name} comes first"]
    return [f"{found.metric.name}: {best.name} leads, tied with {format_list(best.tied, 4)}"]


def _failures(found: FailureTable) -> Section:
    about = (
        "The share that failed over all copies and repetitions, with the exact binomial interval (Clopper &"
        " Pearson). It assumes independent attempts; where many fail together it is too narrow."
    )
    head = ("cell", "n", "failed", "failure rate [95 %]")
    rows = [
        (
            row.cell.key,
            str(row.n),
            "–" if row.failed is None else f"{row.failed} of {row.attempts}",
            estimate_text(row.share, "%"),
        )
        for row in found.rows
    ]
    notes = [row.share.reason for row in found.rows if row.share.reason]
    lost = sum(row.lost for row in found.rows)
    notes += [f"trials that failed entirely are not included: {lost}"] if lost else []
    return Section(
        found.metric.replace("_", " ").capitalize(), about, [], head, rows, list(dict.fromkeys(notes))
    )
