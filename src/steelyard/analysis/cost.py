"""What work costs: the price of a unit of work, and the work that a unit of money buys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.machines import HostFacts, hosts, hosts_of, machine_of
from steelyard.analysis.series import choose_metric
from steelyard.analysis.summary import CellSummary, RunSummary
from steelyard.errors import UsageError
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell
from steelyard.stats.summary import Summary, summarise
from steelyard.store.reader import RunRecord

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices of an hour by machine type or host name; where they are from, and of when."""

    currency: str
    per_hour: Mapping[str, float]
    source: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class CellCost:
    """A cell. `price` is that of an hour of all its hosts.

    `work` is what a unit of money buys: of a rate the work itself (1/s: a count, B/s: bytes), of a score its
    hours. `unit_price` is the inverse, the price of one count, byte or score hour.
    """

    cell: Cell
    machine: str
    price: float
    figure: Summary
    work: Summary
    unit_price: Summary


@dataclass(frozen=True, slots=True)
class CostTable:
    """Costs of a metric in all cells that have a price; `missing` are machines of which nobody knows it."""

    metric: Metric
    prices: PriceTable
    costs: tuple[CellCost, ...]
    missing: tuple[str, ...]

    @property
    def unit(self) -> str:
        """The unit of `work`: `1` for counts, `B` for bytes, `score h` for scores times hours."""
        if not self.metric.is_rate:
            return "score h"
        return "B" if self.metric.unit == "B/s" else "1"

    @property
    def note(self) -> str:
        """Where the prices are from: `USD, prices: on-demand list, 2015-08-01`."""
        where = ", ".join(part for part in (self.prices.source, self.prices.date) if part)
        return f"{self.prices.currency or 'currency not recorded'}, prices: {where or 'source not recorded'}"


def price_table(record: RunRecord) -> PriceTable | None:
    """The experiment's prices, else those that its site recorded; None without any."""
    declared = record.design.get("prices")
    if isinstance(declared, Mapping) and declared.get("per_hour"):
        return _read_declared(declared)
    known = [host for host in hosts(record).values() if host.price]
    if not known:
        return None
    prices = {host.machine: host.price for host in known if host.price}
    return PriceTable(known[0].currency, prices, "as given by the site when the run began")


def _read_declared(prices: Mapping[str, Any]) -> PriceTable:
    return PriceTable(
        str(prices.get("currency") or ""),
        {str(name): float(price) for name, price in prices["per_hour"].items()},
        str(prices.get("source") or ""),
        str(prices.get("date") or ""),
    )


def is_priceable(metric: Metric) -> bool:
    """Whether a metric is work or a rate of it: higher is better, and it is no quantile and no percentage."""
    return metric.better == "higher" and metric.quantile is None and (metric.is_rate or metric.unit == "1")


def costs(record: RunRecord, summary: RunSummary, *, metric: str | None = None) -> CostTable:
    """The costs of all cells. Raises UnknownName, and UsageError without prices or anything to price."""
    prices = price_table(record)
    if prices is None:
        raise UsageError(
            "no prices are known", hint="add to the experiment `prices: {currency: …, per_hour: {TYPE: …}}`"
        )
    target = choose_metric(summary, metric, is_priceable)
    if target is None or not is_priceable(target):
        raise UsageError(f"'{metric or 'no metric'}' cannot be priced: only a rate or a score can")
    known = hosts(record)
    costed = [_cost(cell, target, prices, known) for cell in summary.cells]
    return CostTable(
        target, prices, tuple(one for one in costed if one), _find_unpriced(summary, prices, known)
    )


def _cost(
    cell: CellSummary, metric: Metric, prices: PriceTable, known: Mapping[str, HostFacts]
) -> CellCost | None:
    one, price = cell.metrics[metric.name], _cell_price(cell, prices, known)
    if one.summary is None or price is None or min(one.values) <= 0:
        return None
    values = one.values
    seconds = HOUR if metric.is_rate else 1.0
    work = [value * seconds / price for value in values]
    machine = machine_of(cell, known) or ""
    unit_prices = summarise([1 / one for one in work])
    return CellCost(cell.cell, machine, price, summarise(values), summarise(work), unit_prices)


def _cell_price(cell: CellSummary, prices: PriceTable, known: Mapping[str, HostFacts]) -> float | None:
    """What an hour of all hosts of a cell costs; None when the price of any is not known."""
    host_prices = [
        _host_price(known.get(name, HostFacts(name)), prices) for name in hosts_of(cell, known) or ()
    ]
    there = [price for price in host_prices if price is not None]
    return sum(there) if there and len(there) == len(host_prices) else None


def _host_price(host: HostFacts, prices: PriceTable) -> float | None:
    candidates = (prices.per_hour.get(name) for name in (host.type, host.name) if name)
    return next((price for price in candidates if price is not None), None)


def _find_unpriced(
    summary: RunSummary, prices: PriceTable, known: Mapping[str, HostFacts]
) -> tuple[str, ...]:
    names = dict.fromkeys(name for cell in summary.cells for name in hosts_of(cell, known) or ())
    facts = [known.get(name, HostFacts(name)) for name in names]
    return tuple(dict.fromkeys(host.machine for host in facts if _host_price(host, prices) is None))
