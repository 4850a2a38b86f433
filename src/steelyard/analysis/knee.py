"""The knee of a parameter study, for every combination of the other parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.analysis.series import Series, choose_metric, parameter_axis, require_series, series
from steelyard.analysis.summary import CellSummary, RunSummary
from steelyard.errors import UsageError
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell, show_level
from steelyard.stats.condition import is_reached
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
    """One combination of the other parameters. Where there is no `knee` to ask for, `reason` says why.

    `left_out` are levels that have no say: no trial has a figure that counts, or half of the trials or more
    failed or did something else than was asked.
    """

    label: str
    levels: tuple[Level, ...]
    knee: Knee | None
    reason: str
    left_out: tuple[CellSummary, ...] = ()


@dataclass(frozen=True, slots=True)
class KneeStudy:
    """What more of `parameter` brings to `metric`; a gain up to `tolerance` (a ratio) counts as none."""

    parameter: str
    metric: Metric
    tolerance: float
    curves: tuple[KneeCurve, ...]

    def sentence(self, curve: KneeCurve) -> str:
        """What the data say of a curve, with the evidence."""
        return self._describe_knee(curve) + self._describe_left_out(curve)

    def _describe_knee(self, curve: KneeCurve) -> str:
        begin = f"{self.metric.name}{f' ({curve.label})' if curve.label else ''}: "
        if curve.knee is None:
            return f"{begin}no knee of {self.parameter} can be determined: {curve.reason}"
        first, last = (self._level_name(curve, at) for at in (curve.knee.first, curve.knee.last))
        match curve.knee.kind:
            case "none":
                end = "with figures" if curve.left_out else "tried"
                return f"{begin}gains continue up to {last}, the last level {end}{self._earlier_gain(curve)}"
            case "found":
                return f"{begin}no gain beyond {last}{self._later_gain(curve)}{self._earlier_gain(curve)}"
        where = f"from {first} to {last}" + ("" if curve.knee.beyond else ", or beyond")
        evidence = self._later_gain(curve) + self._earlier_gain(curve)
        return f"{begin}undecided: the knee is {where}{evidence}; more repetitions would decide"

    def _describe_left_out(self, curve: KneeCurve) -> str:
        """`; left out: requests=8 (6 fallback)`."""
        levels = [
            f"{self.parameter}={show_level(cell.cell.parameters[self.parameter])} ({_count_fates(cell)})"
            for cell in curve.left_out
        ]
        return f"; left out: {', '.join(levels)}" if levels else ""

    def _level_name(self, curve: KneeCurve, at: int) -> str:
        return f"{self.parameter}={curve.levels[at].text}"

    def _later_gain(self, curve: KneeCurve) -> str:
        gain = curve.knee.beyond if curve.knee else None
        if gain is None or gain.change.interval is None:
            return ""
        most = f"{100 * gain.change.interval.high:+.1f} %"
        return (
            f"; no later level is more than {100 * self.tolerance:g} % better"
            f" (at most {most}, {self._level_name(curve, gain.over)})"
        )

    def _earlier_gain(self, curve: KneeCurve) -> str:
        gain = curve.knee.before if curve.knee else None
        if gain is None or gain.change.interval is None:
            return ""
        least = f"{100 * gain.change.interval.low:+.1f} %"
        beaten, winner = self._level_name(curve, gain.of), self._level_name(curve, gain.over)
        return f"; {beaten} is beaten by at least {least} ({winner})"


def knee_study(
    summary: RunSummary, *, parameter: str, metric: str | None = None, tolerance: float = TOLERANCE
) -> KneeStudy:
    """Look for the knee of a parameter. Raises UnknownName, and UsageError when it cannot have one."""
    target = choose_metric(summary, metric, lambda one: one.better != "none")
    if target is None or target.better == "none":
        raise UsageError(f"'{metric or 'any metric'}' has no better direction, so it cannot have a knee")
    axis = parameter_axis(summary, parameter)
    if axis.places is None:
        raise UsageError(f"the levels of '{parameter}' are not numbers, so it cannot have a knee")
    tried = series(summary, parameter, _has_trials) or require_series(summary, parameter)
    return KneeStudy(parameter, target, tolerance, tuple(_curve(one, target, tolerance) for one in tried))


def _has_trials(cell: CellSummary) -> bool:
    return bool(cell.trials)


def _count_fates(cell: CellSummary) -> str:
    fates = [f"{len(tally.trials)} {tally.what}" for tally in (*cell.failed, *cell.marked)]
    return ", ".join(fates) or "no figure"


def _has_say(cell: CellSummary, metric: Metric) -> bool:
    figure = cell.metrics[metric.name]
    return bool(figure.summary) and is_reached(figure.values, (trial.result for trial in cell.trials))


def _curve(one: Series, metric: Metric, tolerance: float) -> KneeCurve:
    cells = [cell for cell in one.cells if _has_say(cell, metric)]
    left_out = tuple(cell for cell in one.cells if not _has_say(cell, metric))
    levels = tuple(
        Level(cell.cell, one.level(cell), float(one.axis.place(one.level(cell))), figure)
        for cell in cells
        if (figure := cell.metrics[metric.name].summary)
    )
    samples = [cell.metrics[metric.name].values for cell in cells]
    if obstacle := _find_obstacle(samples):
        return KneeCurve(one.label, levels, None, obstacle, left_out)
    if metric.better == "none":
        return KneeCurve(one.label, levels, None, "the metric has no better direction", left_out)
    result = knee(samples, better=metric.better, tolerance=tolerance)
    reason = "" if result else _explain_too_few(one, levels, samples)
    return KneeCurve(one.label, levels, result, reason, left_out)


def _find_obstacle(samples: Sequence[Sequence[float]]) -> str:
    """Why gains cannot be computed of these figures; empty where they can."""
    if len(samples) < 2:
        return "fewer than two levels have figures"
    return "a figure is not above zero, but gains are ratios" if min(map(min, samples)) <= 0 else ""


def _explain_too_few(one: Series, levels: tuple[Level, ...], samples: list[tuple[float, ...]]) -> str:
    n, level = min(zip(map(len, samples), levels, strict=True), key=lambda pair: pair[0])
    return f"{one.axis.name}={level.text} has n={n}, but at least 6 are needed"
