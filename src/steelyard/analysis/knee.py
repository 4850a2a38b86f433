"""The knee of a parameter study, for every combination of the other parameters."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.analysis.series import Series, choose_metric, parameter_axis, require_series
from steelyard.analysis.summary import RunSummary
from steelyard.errors import UsageError
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell
from steelyard.stats.knee import TOLERANCE, Knee, knee
from steelyard.stats.summary import Summary


@dataclass(frozen=True, slots=True)
class Level:
    """One level of the study: as text, as a number (base units), and what was measured there."""

    cell: Cell
    text: str
    place: float
    figure: Summary


@dataclass(frozen=True, slots=True)
class KneeCurve:
    """One combination of the other parameters. Where there is no `knee` to ask for, `reason` says why."""

    label: str
    levels: tuple[Level, ...]
    knee: Knee | None
    reason: str


@dataclass(frozen=True, slots=True)
class KneeStudy:
    """What more of `parameter` brings to `metric`; a gain up to `tolerance` (a ratio) counts as none."""

    parameter: str
    metric: Metric
    tolerance: float
    curves: tuple[KneeCurve, ...]

    def sentence(self, curve: KneeCurve) -> str:
        """What the data say of a curve, with the evidence."""
        begin = f"{self.metric.name}{f' ({curve.label})' if curve.label else ''}: "
        if curve.knee is None:
            return f"{begin}no knee of {self.parameter} can be named: {curve.reason}"
        first, last = (self._named(curve, at) for at in (curve.knee.first, curve.knee.last))
        match curve.knee.kind:
            case "none":
                return f"{begin}gains go on up to {last}, the last level tried{self._before(curve)}"
            case "found":
                return f"{begin}no gain beyond {last}{self._beyond(curve)}{self._before(curve)}"
        where = f"from {first} to {last}" + ("" if curve.knee.beyond else ", or beyond")
        evidence = self._beyond(curve) + self._before(curve)
        return f"{begin}undecided: the knee lies {where}{evidence}; more repetitions would tell"

    def _named(self, curve: KneeCurve, at: int) -> str:
        return f"{self.parameter}={curve.levels[at].text}"

    def _beyond(self, curve: KneeCurve) -> str:
        gain = curve.knee.beyond if curve.knee else None
        if gain is None or gain.change.interval is None:
            return ""
        most = f"{100 * gain.change.interval.high:+.1f} %"
        return (
            f"; no later level is more than {100 * self.tolerance:g} % better"
            f" (at most {most}, {self._named(curve, gain.over)})"
        )

    def _before(self, curve: KneeCurve) -> str:
        gain = curve.knee.before if curve.knee else None
        if gain is None or gain.change.interval is None:
            return ""
        least = f"{100 * gain.change.interval.low:+.1f} %"
        return (
            f"; {self._named(curve, gain.of)} is beaten by at least {least} ({self._named(curve, gain.over)})"
        )


def knee_study(
    summary: RunSummary, *, parameter: str, metric: str | None = None, tolerance: float = TOLERANCE
) -> KneeStudy:
    """Look for the knee of a parameter. Raises UnknownName, and UsageError when it cannot have one."""
    target = choose_metric(summary, metric, lambda one: one.better != "none")
    if target is None or target.better == "none":
        raise UsageError(f"no direction of '{metric or 'any metric'}' is better, so it can have no knee")
    axis = parameter_axis(summary, parameter)
    if axis.places is None:
        raise UsageError(f"the levels of '{parameter}' are no numbers, so it can have no knee")
    curves = tuple(_curve(one, target, tolerance) for one in require_series(summary, parameter))
    return KneeStudy(parameter, target, tolerance, curves)


def _curve(one: Series, metric: Metric, tolerance: float) -> KneeCurve:
    cells = [cell for cell in one.cells if cell.metrics[metric.name].summary]
    levels = tuple(
        Level(cell.cell, one.level(cell), float(one.axis.place(one.level(cell))), figure)
        for cell in cells
        if (figure := cell.metrics[metric.name].summary)
    )
    samples = [cell.metrics[metric.name].values for cell in cells]
    if len(samples) < 2:
        return KneeCurve(one.label, levels, None, "fewer than two levels have figures")
    if min(map(min, samples)) <= 0:
        return KneeCurve(one.label, levels, None, "a figure is not above zero, and gains are ratios")
    if metric.better == "none":
        return KneeCurve(one.label, levels, None, "no direction is better")
    result = knee(samples, better=metric.better, tolerance=tolerance)
    return KneeCurve(one.label, levels, result, "" if result else _explain_too_few(one, levels, samples))


def _explain_too_few(one: Series, levels: tuple[Level, ...], samples: list[tuple[float, ...]]) -> str:
    n, level = min(zip(map(len, samples), levels, strict=True), key=lambda pair: pair[0])
    return f"{one.axis.name}={level.text} has n={n}, and at least 6 are needed"
