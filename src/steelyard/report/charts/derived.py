"""The chart of each derived result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from steelyard.analysis.cost import CostTable
from steelyard.analysis.failures import FailureTable
from steelyard.analysis.knee import KneeStudy
from steelyard.analysis.limit import LimitStudy
from steelyard.analysis.ranking import RankingTable
from steelyard.analysis.scaling import Scaling
from steelyard.report.charts.base import Chart
from steelyard.report.charts.curves import Dot, Look, curves
from steelyard.report.charts.estimates import EstimateRow, estimates
from steelyard.report.charts.limit import limit_chart
from steelyard.stats.estimate import Estimate
from steelyard.stats.interval import Interval
from steelyard.stats.summary import Summary

if TYPE_CHECKING:
    from steelyard.analysis.derived import DerivedResult


def derived_chart(number: int, result: DerivedResult) -> Chart | None:
    """The chart of the run's derived result of that number; None when there is nothing to draw."""
    match result:
        case Scaling():
            return _loss(number, result) if result.question == "loss" else _speedup(number, result)
        case KneeStudy():
            return _knee(number, result)
        case LimitStudy():
            return limit_chart(number, result)
        case CostTable():
            return _cost(number, result)
        case RankingTable():
            return _ranking(number, result)
    return _failures(number, result)


def _loss(number: int, found: Scaling) -> Chart | None:
    points = [point for curve in found.curves for point in curve.points]
    rows = [
        EstimateRow(point.cell.key, point.loss, f"{point.copies} copies")
        for point in points
        if point.loss is not None
    ]
    return estimates(number, f"Efficiency loss of {found.metric.name}", rows, "%")


def _speedup(number: int, found: Scaling) -> Chart | None:
    dots = [
        Dot(curve.label, f"{point.amount:g}", point.amount, point.speedup or Estimate(1.0, None, "the base"))
        for curve in found.curves
        for point in curve.points
    ]
    along = {"copies": "copies", "hosts": "hosts"}.get(found.by, found.parameter)
    look = Look(f"Speed-up of {found.metric.name}", along, "1", "dashed: perfect")
    return curves(number, look, dots, ideal=True)


def _knee(number: int, found: KneeStudy) -> Chart | None:
    dots = [
        Dot(curve.label, level.text, level.place, _estimate(level.figure))
        for curve in found.curves
        for level in curve.levels
    ]
    better = f"{found.metric.better} is better"
    look = Look(f"{found.metric.name} against {found.parameter}", found.parameter, found.metric.unit, better)
    return curves(number, look, dots, knees=list(_knees(found)))


def _knees(found: KneeStudy) -> Iterator[float]:
    """Where a knee was found, or both ends of where it lies."""
    for curve in found.curves:
        if curve.knee and curve.knee.kind != "none":
            yield curve.levels[curve.knee.first].place
            yield curve.levels[curve.knee.last].place


def _cost(number: int, found: CostTable) -> Chart | None:
    rows = [EstimateRow(one.cell.key, _estimate(one.work), one.machine) for one in found.costs]
    unit = "B" if found.unit == "B" else "1"
    what = {"1": "Work", "B": "Data"}.get(found.unit, "Score hours")
    return estimates(number, f"{what} per {found.prices.currency or 'unit of money'}", rows, unit)


def _ranking(number: int, found: RankingTable) -> Chart | None:
    if len(found.rows) < 3:
        return None
    rows = [
        EstimateRow(
            row.name,
            Estimate(row.place.rank, Interval(row.place.low, row.place.high, 0.95, "rank tests")),
            "; ".join(
                f"rank {n}: {100 * share:.0f} %" for n, share in enumerate(row.place.shares, 1) if share
            ),
        )
        for row in found.rows
    ]
    return estimates(number, f"Rank by {found.metric.name}", rows, "1", ranks=len(rows))


def _failures(number: int, found: FailureTable) -> Chart | None:
    rows = [
        EstimateRow(row.cell.key, row.share, "" if row.failed is None else f"{row.failed} of {row.attempts}")
        for row in found.rows
    ]
    return estimates(number, found.metric, rows, "%")


def _estimate(found: Summary) -> Estimate:
    return Estimate(found.median, found.interval, found.interval_reason)
