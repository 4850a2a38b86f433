"""Cells that differ in one parameter alone, and which parameter sets what of a run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.analysis.axes import ParameterAxis
from steelyard.analysis.summary import CellSummary, RunSummary
from steelyard.errors import UnknownName, UsageError
from steelyard.model.metric import Metric
from steelyard.model.trial import Scalar, show_level

MOST_SERIES = 200


@dataclass(frozen=True, slots=True)
class Series:
    """Cells that differ in `axis` alone, in its order; `rest` are the levels of others that vary."""

    axis: ParameterAxis
    rest: Mapping[str, Scalar]
    cells: tuple[CellSummary, ...]

    @property
    def label(self) -> str:
        """What tells it from other series: `protocol=xrootd`; empty without other parameters."""
        return " ".join(f"{name}={show_level(level)}" for name, level in self.rest.items())

    def level(self, cell: CellSummary) -> str:
        """A cell's level of the parameter, as text."""
        return show_level(cell.cell.parameters[self.axis.name])


def parameter_axis(summary: RunSummary, parameter: str) -> ParameterAxis:
    """The axis of a parameter. Raises UnknownName."""
    if parameter not in summary.axes:
        hint = f"the run has: {', '.join(summary.axes) or 'none'}"
        raise UnknownName("parameter", parameter, summary.axes, hint=hint)
    return summary.axes[parameter]


def has_figures(cell: CellSummary) -> bool:
    """Whether trials of a cell count."""
    return cell.n > 0


def series(
    summary: RunSummary, parameter: str, fits: Callable[[CellSummary], bool] = has_figures
) -> tuple[Series, ...]:
    """All series over a parameter with at least two cells that fit. Raises UnknownName."""
    axis = parameter_axis(summary, parameter)
    others = [one.name for one in summary.varying_axes if one.name != parameter]
    cells_by_others: dict[Hashable, list[CellSummary]] = {}
    for cell in summary.cells:
        if fits(cell) and parameter in cell.cell.parameters:
            cells_by_others.setdefault(_other_levels(cell, parameter), []).append(cell)
    groups = [
        sorted(cells, key=lambda cell: _place(axis, cell))
        for cells in cells_by_others.values()
        if len(cells) > 1
    ]
    return tuple(Series(axis, _levels(group[0], others), tuple(group)) for group in groups[:MOST_SERIES])


def require_series(summary: RunSummary, parameter: str) -> tuple[Series, ...]:
    """All series over a parameter. Raises UnknownName, and UsageError with the reason where there is none."""
    if all_series := series(summary, parameter):
        return all_series
    measured = [cell for cell in summary.cells if cell.n and parameter in cell.cell.parameters]
    levels = {show_level(cell.cell.parameters[parameter]) for cell in measured}
    if len(levels) < 2:
        include = f"; `steelyard show {summary.run} --disturbed include` counts disturbed ones"
        way = include if summary.has_disturbed else ""
        raise UsageError(f"fewer than two levels of '{parameter}' have trials that count{way}")
    others = [one.name for one in summary.varying_axes if one.name != parameter]
    raise UsageError(
        f"no two measured cells differ in '{parameter}' alone: {', '.join(others)} changes with it",
        hint="effects of parameters combined by `zip` cannot be separated; vary one of them by itself",
    )


def find_setters(summary: RunSummary, fact: Callable[[CellSummary], Hashable]) -> list[str]:
    """The parameters that decide a fact of cells: cells that differ in one of them alone differ in it.

    What is not known, None, differs from nothing.
    """
    return [
        axis.name
        for axis in summary.varying_axes
        if any(len({fact(cell) for cell in one.cells} - {None}) > 1 for one in series(summary, axis.name))
    ]


def choose_metric(summary: RunSummary, name: str | None, fits: Callable[[Metric], bool]) -> Metric | None:
    """The metric of a name, else the most important one that fits. Raises UnknownName."""
    if name is None:
        return next((metric for metric in summary.metrics if fits(metric)), None)
    known = {metric.name: metric for metric in summary.metrics}
    if name not in known:
        raise UnknownName("metric", name, known, hint=f"the run has: {', '.join(known) or 'none'}")
    return known[name]


def _other_levels(cell: CellSummary, parameter: str) -> Hashable:
    return frozenset(
        (name, show_level(level)) for name, level in cell.cell.parameters.items() if name != parameter
    )


def _levels(cell: CellSummary, names: Sequence[str]) -> dict[str, Scalar]:
    return {name: level for name, level in cell.cell.parameters.items() if name in names}


def _place(axis: ParameterAxis, cell: CellSummary) -> int:
    return axis.levels.index(show_level(cell.cell.parameters[axis.name]))
