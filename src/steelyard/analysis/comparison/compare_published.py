"""A run beside a published result: by shape (ratios, ranks, knees), never by absolute value."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from steelyard.analysis.comparison.published import Kind, PublishedResult, Shape
from steelyard.analysis.comparison.quotient import quotient
from steelyard.analysis.failures import failure_rates
from steelyard.analysis.findings import Findings
from steelyard.analysis.knee import KneeCurve, KneeStudy, knee_study
from steelyard.analysis.machines import hosts, machine_of
from steelyard.analysis.scaling import Scaling, is_scalable, scaling
from steelyard.analysis.series import choose_metric
from steelyard.analysis.setters import basis, copies_setter, hosts_setter
from steelyard.analysis.summary import RunSummary
from steelyard.errors import UsageError
from steelyard.model.trial import show_level
from steelyard.stats.correlation import SMALLEST, RankCorrelation, spearman
from steelyard.stats.estimate import Estimate
from steelyard.stats.interval import Interval
from steelyard.stats.knee import Knee
from steelyard.store.reader import RunRecord


class ShapeVerdict(StrEnum):
    """How our figure stands to their range. `INSIDE`: our interval, or figure, and their range overlap."""

    INSIDE = "inside"
    BELOW = "below"
    ABOVE = "above"
    SAME_ORDER = "same order"
    OTHER_ORDER = "opposite order"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class ShapeComparison:
    """One shape, theirs and ours. `what` names it; `low` … `high` is their range, and a machine's own figure
    where there is one. `order` is set for orders of machines, of which `ours` is then the correlation."""

    kind: Kind
    what: str
    low: float
    high: float
    ours: Estimate
    stands: ShapeVerdict
    order: RankCorrelation | None = None


@dataclass(frozen=True, slots=True)
class PublishedComparison:
    """All shapes of a published result that the run has, too; `apart` says what cannot be compared."""

    run: str
    published: PublishedResult
    shapes: tuple[ShapeComparison, ...]
    apart: tuple[str, ...]


def compare_published(findings: Findings, other: PublishedResult) -> PublishedComparison:
    """Set a run beside a published result. What the run does not have is said, and is no error."""
    shapes: list[ShapeComparison] = []
    apart = _list_mismatches(findings.record, other)
    for shape in other.shapes:
        try:
            shapes += _MAKERS[shape.kind](findings, shape)
        except UsageError as error:
            apart.append(f"{shape.kind.replace('_', ' ')}: {error.message}")
    return PublishedComparison(findings.record.id, other, tuple(shapes), (*apart, *other.beyond))


def _list_mismatches(record: RunRecord, other: PublishedResult) -> list[str]:
    """What to say when the run measured something else than what corresponds to theirs."""
    uses = [str(entry.get("use", "")) for entry in record.design.get("workload") or ()]
    if not uses or other.workload in uses:
        return []
    return [f"the workload: theirs corresponds to '{other.workload}', ours is {', '.join(uses)}"]


def _compare_losses(findings: Findings, shape: Shape) -> Iterator[ShapeComparison]:
    record, summary = findings.record, findings.summary
    over = copies_setter(summary)
    if over is None:
        raise UsageError("no parameter of the run sets the number of copies")
    known = hosts(record)
    machines = {cell.cell.key: machine_of(cell, known) or "" for cell in summary.cells}
    study = scaling(record, summary, over=over, by="copies", question="loss")
    for curve in study.curves:
        last = curve.points[-1]
        if last.loss is None:
            continue
        machine = machines.get(last.cell.key, "")
        theirs = shape.values.get(machine)
        low, high = (shape.low, shape.high) if theirs is None else (theirs, theirs)
        name = machine or curve.label
        what = f"efficiency loss{f' of {name}' if name else ''}, {last.copies} copies"
        yield _compare_range(shape, what, last.loss, low, high)


def _compare_order(findings: Findings, shape: Shape) -> Iterator[ShapeComparison]:
    totals = _best_totals(findings.record, findings.summary)
    common = [machine for machine in totals if machine in shape.values]
    if len(common) < SMALLEST:
        raise UsageError(
            f"{len(common)} of our machines match theirs by name; an order needs at least {SMALLEST}"
        )
    correlation = spearman(
        [shape.values[machine] for machine in common], [totals[machine] for machine in common]
    )
    rho = Estimate(correlation.rho or 0.0, None, "")
    yield ShapeComparison(
        shape.kind,
        f"order of {len(common)} machines by {shape.about}",
        1.0,
        1.0,
        rho,
        _judge_order(correlation),
        correlation,
    )


def _best_totals(record: RunRecord, summary: RunSummary) -> dict[str, float]:
    """The best median of all copies together on each machine."""
    metric = choose_metric(summary, None, lambda one: one.better == "higher" and is_scalable(one, "copies"))
    known, totals = hosts(record), dict[str, float]()
    for cell in summary.cells if metric else ():
        machine, one = machine_of(cell, known), cell.metrics[metric.name].summary if metric else None
        if machine and one:
            totals[machine] = max(one.median, totals.get(machine, one.median))
    return totals


def _judge_order(found: RankCorrelation, alpha: float = 0.05) -> ShapeVerdict:
    if found.rho is None or found.p_value is None or found.p_value > alpha:
        return ShapeVerdict.OPEN
    return ShapeVerdict.SAME_ORDER if found.rho > 0 else ShapeVerdict.OTHER_ORDER


def _compare_knees(findings: Findings, shape: Shape) -> Iterator[ShapeComparison]:
    parameter = _check_parameter(findings.summary, shape)
    asked = [one for one in findings.derived.results if isinstance(one, KneeStudy)]
    studies = [one for one in asked if one.parameter == parameter]
    pairs = [
        (study, curve)
        for study in studies or [knee_study(findings.summary, parameter=parameter)]
        for curve in study.curves
    ]
    if not any(curve.knee for _, curve in pairs):
        raise UsageError("; ".join(study.sentence(curve) for study, curve in pairs))
    for study, curve in pairs:
        if curve.knee is not None:
            yield _compare_knee(shape, study, curve, curve.knee)


def _compare_knee(shape: Shape, study: KneeStudy, curve: KneeCurve, found: Knee) -> ShapeComparison:
    first, last = (curve.levels[at].place for at in (found.first, found.last))
    ours = Estimate(first, Interval(first, last, 0.95, "knee"))
    where = f" ({curve.label})" if curve.label else ""
    none = ", not reached" if found.kind == "none" else ""
    what = f"knee of {study.metric.name} over {study.parameter}{where}{none}"
    one = _compare_range(shape, what, ours, shape.low, shape.high)
    open_yet = found.kind == "undecided" and one.stands is ShapeVerdict.INSIDE
    return dataclasses.replace(one, stands=ShapeVerdict.OPEN) if open_yet else one


def _check_parameter(summary: RunSummary, shape: Shape) -> str:
    names = [name for cell in summary.cells for name in cell.cell.parameters]
    if shape.about not in names:
        raise UsageError(f"the run has no parameter '{shape.about}'")
    return shape.about


def _compare_efficiencies(findings: Findings, shape: Shape) -> Iterator[ShapeComparison]:
    record, summary = findings.record, findings.summary
    over = hosts_setter(summary) if shape.about == "hosts" else _check_parameter(summary, shape)
    if over is None:
        raise UsageError("no parameter of the run sets the number of hosts")
    study: Scaling = scaling(
        record, summary, over=over, by=basis(summary, over), question="speedup", metric=shape.metric
    )
    for curve in study.curves:
        last = curve.points[-1]
        if last.efficiency is not None:
            where = f" ({curve.label})" if curve.label else ""
            what = f"parallel efficiency at {over}={last.level}{where}"
            yield _compare_range(shape, what, last.efficiency, shape.low, shape.high)


def _compare_headroom(findings: Findings, shape: Shape) -> Iterator[ShapeComparison]:
    """How many times the best cell meets what the experiment itself requires."""
    bounds = {
        str(entry["metric"]): float(entry["bound"][0])
        for entry in findings.record.design.get("require", ())
        if entry.get("operator") in (">=", ">") and float(entry["bound"][0]) > 0
    }
    made = False
    for name, bound in bounds.items():
        measured = (cell.metrics.get(name) for cell in findings.summary.cells)
        cells = [one.summary for one in measured if one and one.summary]
        if cells:
            best = max(cells, key=lambda one: one.median)
            figure = Estimate(best.median, best.interval, best.interval_reason)
            ours = figure.transform(functools.partial(_divide, bound))
            made = True
            yield _compare_range(shape, f"best {name} / its requirement", ours, shape.low, shape.high)
    if not made:
        raise UsageError("the run requires no minimum of any metric that it measured")


def _divide(bound: float, value: float) -> float:
    return value / bound


def _compare_failure(findings: Findings, shape: Shape) -> Iterator[ShapeComparison]:
    rows = [row for table in failure_rates(findings.summary) for row in table.rows]
    worst = max(rows, key=lambda row: row.share.value)
    what = f"failure rate at {worst.cell.key} (the highest; theirs with {shape.about})"
    yield _compare_range(shape, what, worst.share, shape.low, shape.high)


def _compare_quotients(findings: Findings, shape: Shape) -> Iterator[ShapeComparison]:
    """One sum of metrics against another, cell by cell."""
    sums = [" + ".join(side) for side in (shape.dividend, shape.divisor)]
    named = " / ".join(f"({one})" if " + " in one else one for one in sums)
    cells = findings.summary.cells
    quotients = [(cell.cell, quotient(cell, shape.dividend, shape.divisor)) for cell in cells]
    if not any(ours for _, ours in quotients):
        raise UsageError(f"no trial of the run has all figures of {named}")
    for cell, ours in quotients:
        if ours is not None:
            level = show_level(cell.parameters.get(shape.about, ""))
            what = f"{named} at {cell.key}" if cell.parameters else named
            yield _compare_range(shape, what, ours, *shape.ranges.get(level, (shape.low, shape.high)))


def _compare_range(shape: Shape, what: str, ours: Estimate, low: float, high: float) -> ShapeComparison:
    ends = (ours.interval.low, ours.interval.high) if ours.interval else (ours.value, ours.value)
    stands = ShapeVerdict.INSIDE
    if ends[0] > high:
        stands = ShapeVerdict.ABOVE
    elif ends[1] < low:
        stands = ShapeVerdict.BELOW
    return ShapeComparison(shape.kind, what, low, high, ours, stands)


_MAKERS: Mapping[Kind, Callable[[Findings, Shape], Iterator[ShapeComparison]]] = {
    "efficiency_loss": _compare_losses,
    "order": _compare_order,
    "knee": _compare_knees,
    "efficiency": _compare_efficiencies,
    "headroom": _compare_headroom,
    "failure_rate": _compare_failure,
    "share": _compare_quotients,
    "ratio": _compare_quotients,
}
