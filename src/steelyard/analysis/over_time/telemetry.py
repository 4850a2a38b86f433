"""The host during one trial: which trials to show, and their samples thinned to what a chart can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from steelyard.analysis.summary import CellSummary, RunSummary
from steelyard.model.metric import Metric
from steelyard.store.reader import RunRecord, TrialRecord
from steelyard.store.telemetry import read_parquet

MOST_POINTS = 240
Column = list[float | None]


@dataclass(frozen=True, slots=True)
class HostSamples:
    """A host during a trial. `seconds` counts from the trial's first sample; a column may have gaps.

    `began` is the moment from which is counted on the controller's monotonic clock, `wall` since 1970.
    """

    host: str
    seconds: list[float]
    columns: Mapping[str, Column]
    began: float = 0.0
    wall: float = 0.0

    def shift_origin(self, zero: float) -> HostSamples:
        """The same with seconds since another moment of the monotonic clock."""
        later = zero - self.began
        seconds = [moment - later for moment in self.seconds]
        return replace(self, seconds=seconds, began=zero, wall=self.wall + later)


def select_trials(summary: RunSummary, *, most: int) -> list[TrialRecord]:
    """The trials whose telemetry stands for the run: of each cell, in order, the one nearest its median.

    Nearest in the most important metric that the cell has. When there are more than `most` cells, those
    shown are spread evenly over them, the first one included.
    """
    metrics = summary.primary
    trials = [trial for cell in summary.cells if (trial := median_trial(cell, metrics))]
    step = len(trials) / most
    return trials if step <= 1 else [trials[int(index * step)] for index in range(most)]


def median_trial(cell: CellSummary, metrics: Iterable[Metric]) -> TrialRecord | None:
    """The trial nearest the cell's median in the first metric that it has; else its first poolable one.

    Where all are marked it is the first that ended well: it counts in no figure, but shows what happened.
    """
    by_number = {trial.number: trial for trial in cell.trials}
    for metric in metrics:
        one = cell.metrics.get(metric.name)
        if one and one.summary:
            middle = one.summary.median
            ranked = sorted(zip(one.values, one.trials, strict=True), key=lambda pair: abs(pair[0] - middle))
            return by_number[ranked[0][1]]
    well = [trial for trial in cell.trials if trial.result.status == "ok"]
    return next((trial for trial in well if trial.result.is_poolable), well[0] if well else None)


def load_samples(record: RunRecord, number: int, names: Sequence[str]) -> list[HostSamples]:
    """What the hosts of a trial showed in the columns `names`, at most 240 points each.

    Raises StoreError when a file cannot be read.
    """
    hosts = (thin_table(host, read_parquet(path), names) for host, path in record.telemetry(number).items())
    return [host for host in hosts if host]


def thin_table(host: str, table: Mapping[str, Column], names: Iterable[str]) -> HostSamples | None:
    """The columns `names` of a table, at most 240 points each; None where it has no times."""
    moments = [moment for moment in table.get("m", ()) if is_figure(moment)]
    if not moments or len(moments) < len(table["m"]):
        return None
    columns = {name: table[name] for name in names if name in table}
    return _thin_host(host, moments, columns, (table.get("t") or [0.0])[0] or 0.0)


def _thin_host(host: str, moments: list[float], columns: Mapping[str, Column], wall: float) -> HostSamples:
    size = math.ceil(len(moments) / MOST_POINTS)
    seconds = [moment - moments[0] for moment in moments]
    groups = range(0, len(seconds), size)
    thinned = {name: [_mean(column[at : at + size]) for at in groups] for name, column in columns.items()}
    return HostSamples(host, [seconds[at] for at in groups], thinned, moments[0], wall)


def _mean(values: Column) -> float | None:
    """The mean of what is there; None for a group without a figure."""
    there = [value for value in values if is_figure(value)]
    return math.fsum(there) / len(there) if there else None


def is_figure(value: object) -> TypeGuard[float]:
    """Whether it is a finite number; what is in a table may be anything."""
    return isinstance(value, int | float) and math.isfinite(value)
