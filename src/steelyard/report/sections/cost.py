"""The cost of work, as a section."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.cost import CellCost, CostTable
from steelyard.report.numbers import Scale
from steelyard.report.sections.section import NO_INTERVAL, Section, summary_text
from steelyard.report.wording import format_list
from steelyard.stats.summary import Summary

_COUNTS = (Scale("", 1.0), Scale("k", 1e3), Scale("M", 1e6), Scale("G", 1e9))
_BYTES = (Scale("GiB", 2.0**30), Scale("TiB", 2.0**40), Scale("PiB", 2.0**50))


def cost_section(found: CostTable) -> Section:
    """Each cell with its price, what a unit of money buys, and what a unit of work costs."""
    money, unit = found.prices.currency or "money", found.unit
    scales = _BYTES if unit == "B" else _COUNTS
    scale = _price_scale([one.unit_price.median for one in found.costs], scales)
    work = {"1": "work", "B": "data"}.get(unit, "score hours")
    head = (
        "cell",
        "machine",
        f"{money} an hour",
        found.metric.name,
        f"{work} per {money}",
        _price_unit(money, scale, unit),
    )
    rows = [
        (
            one.cell.key,
            one.machine,
            f"{one.price:.4g}",
            summary_text(one.figure, found.metric.unit),
            _format_in_scale(one.work, _scale_of(one.work.median, scales)),
            _format_in_scale(one.unit_price, Scale("", 1 / scale.factor)),
        )
        for one in found.costs
    ]
    notes = [f"prices in {found.note}"]
    if found.missing:
        notes.append(f"no price known for {format_list(found.missing, 6)}")
    about = "The cost of an hour of all hosts of a cell, the work per unit of money, and the inverse."
    return Section(f"Cost of {found.metric.name}", about, _describe_cheapest(found), head, rows, notes)


def _describe_cheapest(found: CostTable) -> list[str]:
    best = max(found.costs, key=lambda one: one.work.median, default=None)
    if best is None or len(found.costs) < 2:
        return []
    text = f"most work for the money: {_name_cell(best)}"
    near = [_name_cell(one) for one in found.costs if one is not best and _has_overlap(one.work, best.work)]
    return [f"{text}; the intervals of {format_list(near, 4)} overlap its own" if near else text]


def _name_cell(one: CellCost) -> str:
    return f"{one.cell.key} ({one.machine})" if one.machine else one.cell.key


def _has_overlap(one: Summary, best: Summary) -> bool:
    """Whether the interval of a worse one reaches that of the best; without any, too."""
    if one.interval is None or best.interval is None:
        return True
    return one.interval.high >= best.interval.low


def _price_unit(money: str, scale: Scale, unit: str) -> str:
    """`USD per M`, `USD per TiB`, `USD per score hour`."""
    what = {"1": scale.label or "1", "B": scale.label}.get(unit, f"{scale.label} score hours".strip())
    return f"{money} per {what}"


def _price_scale(prices: Sequence[float], scales: Sequence[Scale]) -> Scale:
    """The smallest amount of work of which all prices reach a hundredth."""
    least = min(prices, default=1.0)
    return next((scale for scale in scales if least * scale.factor >= 0.01), scales[-1])


def _scale_of(value: float, scales: Sequence[Scale]) -> Scale:
    return [scale for scale in scales if value >= scale.factor or scale is scales[0]][-1]


def _format_in_scale(found: Summary, scale: Scale) -> str:
    """`2.63 M [2.51, 2.70]`"""
    if found.interval is None:
        return f"{scale.text(found.median)} {NO_INTERVAL}"
    ends = (scale.number(end, 4) for end in (found.interval.low, found.interval.high))
    return f"{scale.text(found.median, 4)} [{', '.join(ends)}]"
