"""What all of these forms are made of: the median of each important metric in each cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from steelyard.analysis.findings import Findings
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell
from steelyard.stats.summary import Summary


class CellFigure(NamedTuple):
    """A metric of a cell, in base units. `summary` is of all trials where too few count."""

    cell: Cell
    metric: Metric
    summary: Summary

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The ends of the median's interval; None where it has none."""
        interval = self.summary.interval
        return (interval.low, interval.high) if interval else None


def list_figures(findings: Findings) -> Iterator[CellFigure]:
    """Of the primary metrics, cell by cell; what was not measured is left out."""
    for cell in findings.shown.cells:
        for metric in findings.shown.primary:
            summary = cell.metrics[metric.name].shown_summary
            if summary is not None:
                yield CellFigure(cell.cell, metric, summary)


def name_benchmark(findings: Findings, cell: Cell) -> str:
    """What a tracker calls a cell: `nightly`, or `nightly outstanding=8`."""
    levels = "" if cell.key == "-" else f" {cell.key}"
    return f"{findings.summary.title}{levels}"
