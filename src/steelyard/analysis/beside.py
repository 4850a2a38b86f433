"""A run beside a published result: by shape (ratios, ranks, knees), never by absolute value."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from steelyard.analysis.derived import derive
from steelyard.analysis.failures import failure_rates
from steelyard.analysis.knee import KneeCurve, KneeStudy, knee_study
from steelyard.analysis.machines import hosts, machine_of
from steelyard.analysis.published import Kind, Published, Shape
from steelyard.analysis.quotient import quotient
from steelyard.analysis.scaling import Scaling, scalable, scaling
from steelyard.analysis.series import chosen_metric
from steelyard.analysis.setters import basis, copies_setter, hosts_setter
from steelyard.analysis.summary import RunSummary
from steelyard.errors import UsageError
from steelyard.model.trial import show_level
from steelyard.stats.correlation import SMALLEST, RankCorrelation, spearman
from steelyard.stats.estimate import Estimate
from steelyard.stats.interval import Interval
from steelyard.stats.knee import Knee
from steelyard.store.reader import RunRecord


class Stands(StrEnum):
    """How our figure stands to their range. `INSIDE`: our interval, or figure, and their range overlap."""

    INSIDE = "inside"
    BELOW = "below"
    ABOVE = "above"
    SAME_ORDER = "same order"
    OTHER_ORDER = "opposite order"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Beside:
    """One shape, theirs and ours. `what` names it; `low` … `high` is their range, and a machine's own figure
    where there is one. `order` is set for orders of machines, of which `ours` is then the correlation."""

    kind: Kind
    what: str
    low: float
    high: float
    ours: Estimate
    stands: Stands
    order: RankCorrelation | None = None


@dataclass(frozen=True, slots=True)
class SetBeside:
    """All shapes of a published result that the run has, too; `apart` says what cannot be compared."""

    run: str
    published: Published
    shapes: tuple[Beside, ...]
    apart: tuple[str, ...]


def set_beside(record: RunRecord, summary: RunSummary, other: Published) -> SetBeside:
    """Set a run beside a published result. What the run does not have is said, and is no error."""
    shapes: list[Beside] = []
    apart = _other_work(record, other)
    for shape in other.shapes:
        try:
            shapes += _MAKERS[shape.kind](record, summary, shape)
        except UsageError as error:
            apart.append(f"{shape.kind.replace('_', ' ')}: {error.message}")
    return SetBeside(summary.run, other, tuple(shapes), (*apart, *other.beyond))


def _other_work(record: RunRecord, other: Published) -> list[str]:
    """What to say when the run measured something else than what corresponds to theirs."""
    uses = [str(entry.get("use", "")) for entry in record.design.get("workload") or ()]
    if not uses or other.workload in uses:
        return []
    return [
        f"the work itself: theirs corresponds to the workload '{other.workload}', ours is {', '.join(uses)}"
    ]


def _losses(record: RunRecord, summary: RunSummary, shape: Shape) -> Iterator[Beside]:
    over = copies_setter(summary)
    if over is None:
        raise UsageError("no parameter of the run sets how many copies there are")
    known = hosts(record)
    machines = {cell.cell.key: machine_of(cell, known) or "" for cell in summary.cells}
    found = scaling(record, summary, over=over, by="copies", question="loss")
    for curve in found.curves:
        last = curve.points[-1]
        if last.loss is None:
            continue
        machine = machines.get(last.cell.key, "")
        theirs = shape.values.get(machine)
        low, high = (shape.low, shape.high) if theirs is None else (theirs, theirs)
        name = machine or curve.label
        what = f"efficiency loss{f' of {name}' if name else ''}, {last.copies} copies"
        yield _beside(shape, what, last.loss, low, high)


def _order(record: RunRecord, summary: RunSummary, shape: Shape) -> Iterator[Beside]:
    totals = _totals(record, summary)
    common = [machine for machine in totals if machine in shape.values]
    if len(common) < SMALLEST:
        raise UsageError(
            f"{len(common)} of our machines carry a name of theirs, and an order needs at least {SMALLEST}"
        )
    found = spearman([shape.values[machine] for machine in common], [totals[machine] for machine in common])
    rho = Estimate(found.rho or 0.0, None, "")
    yield Beside(
        shape.kind, f"order of {len(common)} machines by {shape.about}", 1.0, 1.0, rho, _ordered(found), found
    )


def _totals(record: RunRecord, summary: RunSummary) -> dict[str, float]:
    """The best median of all copies together on each machine."""
    metric = chosen_metric(summary, None, lambda one: one.better == "higher" and scalable(one, "copies"))
    known, found = hosts(record), dict[str, float]()
    for cell in summary.cells if metric else ():
        machine, one = machine_of(cell, known), cell.metrics[metric.name].summary if metric else None
        if machine and one:
            found[machine] = max(one.median, found.get(machine, one.median))
    return found


def _ordered(found: RankCorrelation, alpha: float = 0.05) -> Stands:
    if found.rho is None or found.p_value is None or found.p_value > alpha:
        return Stands.OPEN
    return Stands.SAME_ORDER if found.rho > 0 else Stands.OTHER_ORDER


def _knees(record: RunRecord, summary: RunSummary, shape: Shape) -> Iterator[Beside]:
    parameter = _parameter(summary, shape)
    asked = [one for one in derive(record, summary).findings if isinstance(one, KneeStudy)]
    studies = [one for one in asked if one.parameter == parameter]
    found = [
        (study, curve)
        for study in studies or [knee_study(summary, parameter=parameter)]
        for curve in study.curves
    ]
    if not any(curve.knee for _, curve in found):
        raise UsageError("; ".join(study.sentence(curve) for study, curve in found))
    for study, curve in found:
        if curve.knee is not None:
            yield _knee(shape, study, curve, curve.knee)


def _knee(shape: Shape, study: KneeStudy, curve: KneeCurve, found: Knee) -> Beside:
    first, last = (curve.levels[at].place for at in (found.first, found.last))
    ours = Estimate(first, Interval(first, last, 0.95, "knee"))
    where = f" ({curve.label})" if curve.label else ""
    none = ", not reached" if found.kind == "none" else ""
    what = f"knee of {study.metric.name} over {study.parameter}{where}{none}"
    one = _beside(shape, what, ours, shape.low, shape.high)
    open_yet = found.kind == "undecided" and one.stands is Stands.INSIDE
    return dataclasses.replace(one, stands=Stands.OPEN) if open_yet else one


def _parameter(summary: RunSummary, shape: Shape) -> str:
    names = [name for cell in summary.cells for name in cell.cell.parameters]
    if shape.about not in names:
        raise UsageError(f"the run has no parameter '{shape.about}'")
    return shape.about


def _efficiencies(record: RunRecord, summary: RunSummary, shape: Shape) -> Iterator[Beside]:
    over = hosts_setter(summary) if shape.about == "hosts" else _parameter(summary, shape)
    if over is None:
        raise UsageError("no parameter of the run sets how many hosts there are")
    found: Scaling = scaling(
        record, summary, over=over, by=basis(summary, over), question="speedup", metric=shape.metric
    )
    for curve in found.curves:
        last = curve.points[-1]
        if last.efficiency is not None:
            where = f" ({curve.label})" if curve.label else ""
            what = f"parallel efficiency at {over}={last.level}{where}"
            yield _beside(shape, what, last.efficiency, shape.low, shape.high)


def _headroom(record: RunRecord, summary: RunSummary, shape: Shape) -> Iterator[Beside]:
    """How many times the best cell meets what the experiment itself requires."""
    bounds = {
        str(entry["metric"]): float(entry["bound"][0])
        for entry in record.design.get("require", ())
        if entry.get("operator") in (">=", ">") and float(entry["bound"][0]) > 0
    }
    made = False
    for name, bound in bounds.items():
        cells = [one.summary for cell in summary.cells if (one := cell.metrics.get(name)) and one.summary]
        if cells:
            best = max(cells, key=lambda one: one.median)
            figure = Estimate(best.median, best.interval, best.interval_reason)
            ours = figure.mapped(functools.partial(_divided, bound))
            made = True
            yield _beside(shape, f"best {name} / what is required of it", ours, shape.low, shape.high)
    if not made:
        raise UsageError("the run requires no least value of anything that it measured")


def _divided(bound: float, value: float) -> float:
    return value / bound


def _failure(_: RunRecord, summary: RunSummary, shape: Shape) -> Iterator[Beside]:
    rows = [row for table in failure_rates(summary) for row in table.rows]
    worst = max(rows, key=lambda row: row.share.value)
    what = f"failure rate at {worst.cell.key} (the highest; theirs with {shape.about})"
    yield _beside(shape, what, worst.share, shape.low, shape.high)


def _quotients(_: RunRecord, summary: RunSummary, shape: Shape) -> Iterator[Beside]:
    """One sum of metrics against another, cell by cell."""
    sums = [" + ".join(side) for side in (shape.dividend, shape.divisor)]
    named = " / ".join(f"({one})" if " + " in one else one for one in sums)
    found = [(cell.cell, quotient(cell, shape.dividend, shape.divisor)) for cell in summary.cells]
    if not any(ours for _, ours in found):
        raise UsageError(f"no trial of the run has all figures of {named}")
    for cell, ours in found:
        if ours is not None:
            level = show_level(cell.parameters.get(shape.about, ""))
            what = f"{named} at {cell.key}" if cell.parameters else named
            yield _beside(shape, what, ours, *shape.ranges.get(level, (shape.low, shape.high)))


def _beside(shape: Shape, what: str, ours: Estimate, low: float, high: float) -> Beside:
    ends = (ours.interval.low, ours.interval.high) if ours.interval else (ours.value, ours.value)
    stands = Stands.INSIDE
    if ends[0] > high:
        stands = Stands.ABOVE
    elif ends[1] < low:
        stands = Stands.BELOW
    return Beside(shape.kind, what, low, high, ours, stands)


_MAKERS: Mapping[Kind, Callable[[RunRecord, RunSummary, Shape], Iterator[Beside]]] = {
    "efficiency_loss": _losses,
    "order": _order,
    "knee": _knees,
    "efficiency": _efficiencies,
    "headroom": _headroom,
    "failure_rate": _failure,
    "share": _quotients,
    "ratio": _quotients,
}
