"""What more copies or more hosts bring: the rate of each copy, the total, what is lost, and the speed-up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from steelyard.analysis.machines import count_copies
from steelyard.analysis.series import Series, choose_metric, require_series
from steelyard.analysis.setters import By, count_hosts, has_copy_per_core
from steelyard.analysis.summary import CellSummary, RunSummary
from steelyard.errors import UsageError
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell
from steelyard.stats.estimate import Estimate, ratio
from steelyard.stats.summary import Summary, summarise
from steelyard.store.reader import RunRecord

Question = Literal["loss", "speedup"]


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """A cell of a curve. `amount` is what it is scaled by: its copies, its hosts, or the level itself.

    `total` is the figure of all copies together and `each` that of one of them, in the metric's unit. The
    rest stands against the curve's first point and is None there: `speedup` is how many times faster,
    `efficiency` is that per amount (1 is perfect), and `loss` is what lacks to 1.
    """

    cell: Cell
    level: str
    copies: int
    hosts: int
    amount: float
    total: Summary
    each: Summary
    speedup: Estimate | None
    efficiency: Estimate | None

    @property
    def loss(self) -> Estimate | None:
        """The efficiency loss: 1 - (rate per copy here / rate per copy of the first point)."""
        return self.efficiency.transform(lambda share: 1 - share) if self.efficiency else None


@dataclass(frozen=True, slots=True)
class Curve:
    """Cells that differ in the parameter alone, by ascending amount; `label` tells it from other curves."""

    label: str
    points: tuple[ScalingPoint, ...]


@dataclass(frozen=True, slots=True)
class Scaling:
    """How a metric follows a parameter. `question` is what was asked: what a copy loses, or what more brings.

    `per` is what `each` is a part of: `core` where one copy runs on each core, else `copy`, `host` or the
    parameter's name.
    """

    question: Question
    parameter: str
    metric: Metric
    by: By
    per: str
    curves: tuple[Curve, ...]


def scaling(
    record: RunRecord,
    summary: RunSummary,
    *,
    over: str,
    by: By,
    question: Question,
    metric: str | None = None,
) -> Scaling:
    """Scale over a parameter. Raises UnknownName, and UsageError when nothing can be scaled by it.

    The total of a metric that is summed over copies is its value; of one that is averaged, its value times
    the copies. Of a metric of which lower is better (a time) the speed-up is the inverse ratio, and `each`
    and `total` are both its value. Ratios are those of medians over all poolable trials with their bootstrap
    intervals, which exist from six trials in both cells on.
    """
    target = choose_metric(summary, metric, lambda one: is_scalable(one, by))
    if target is None or not is_scalable(target, by):
        raise UsageError(_explain_unfit(metric, by))
    curves = [_curve(one, target, by) for one in require_series(summary, over)]
    usable = tuple(curve for curve in curves if len({point.amount for point in curve.points}) > 1)
    if not usable:
        raise UsageError(f"no two measured cells differ in '{over}' alone and also in their {_NOUN[by]}")
    return Scaling(question, over, target, by, _name_unit(record, summary, over, by), usable)


_NOUN = {"copies": "copies", "hosts": "hosts", "level": "level as a number"}


def is_scalable(metric: Metric, by: By) -> bool:
    """Whether a metric can be shared out: a rate or score with a direction, not a quantile or an extreme."""
    if metric.quantile is not None or metric.unit == "%":
        return False
    if metric.better == "lower":
        return metric.unit == "s" and by != "copies"
    return metric.better == "higher" and metric.over_copies in ("sum", "mean", "median")


def _explain_unfit(metric: str | None, by: By) -> str:
    rule = "a rate or score for which higher is better" + ("" if by == "copies" else ", or a time")
    if metric is None:
        return f"no metric of the run can be used for scaling: it must be {rule}"
    return f"the metric '{metric}' cannot be used for scaling over {_NOUN[by]}: it must be {rule}"


def _name_unit(record: RunRecord, summary: RunSummary, over: str, by: By) -> str:
    if by == "copies":
        return "core" if has_copy_per_core(record, summary) else "copy"
    return "host" if by == "hosts" else over


def _curve(one: Series, metric: Metric, by: By) -> Curve:
    cells = [cell for cell in one.cells if cell.metrics[metric.name].summary and _amount(one, cell, by)]
    cells.sort(key=lambda cell: _amount(one, cell, by) or 0)
    first = cells[0] if cells else None
    return Curve(one.label, tuple(_point(one, cell, first, metric, by) for cell in cells if first))


def _amount(one: Series, cell: CellSummary, by: By) -> float | None:
    if by == "copies":
        return count_copies(cell)
    if by == "hosts":
        return count_hosts(cell)
    place = one.axis.place(one.level(cell))
    return place if isinstance(place, float | int) and place > 0 else None


def _point(one: Series, cell: CellSummary, first: CellSummary | None, metric: Metric, by: By) -> ScalingPoint:
    amount = _amount(one, cell, by) or 1
    total = _totals(cell, metric)
    parts = total if metric.better == "lower" else [value / amount for value in total]
    speedup = _speedup(first, cell, metric) if first is not None and cell is not first else None
    base = (_amount(one, first, by) if first else None) or 1
    return ScalingPoint(
        cell=cell.cell,
        level=one.level(cell),
        copies=count_copies(cell) or 1,
        hosts=count_hosts(cell) or 1,
        amount=amount,
        total=summarise(total),
        each=summarise(parts),
        speedup=speedup,
        efficiency=speedup.transform(lambda times: times * base / amount) if speedup else None,
    )


def _totals(cell: CellSummary, metric: Metric) -> list[float]:
    """The values of all copies together, trial by trial."""
    values = list(cell.metrics[metric.name].values)
    if metric.better == "lower" or metric.over_copies == "sum":
        return values
    return [value * (count_copies(cell) or 1) for value in values]


def _speedup(first: CellSummary, cell: CellSummary, metric: Metric) -> Estimate | None:
    before, after = _totals(first, metric), _totals(cell, metric)
    if min(*before, *after) <= 0:
        return None
    return ratio(after, before) if metric.better == "lower" else ratio(before, after)
