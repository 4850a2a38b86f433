"""Which machine, or which level of a parameter, comes first, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.analysis.machines import HostFacts, hosts, machine_of
from steelyard.analysis.series import Series, choose_metric, find_setters, require_series
from steelyard.analysis.setters import machine_setter
from steelyard.analysis.summary import CellSummary, RunSummary
from steelyard.errors import UsageError
from steelyard.model.metric import Metric
from steelyard.model.trial import Cell
from steelyard.stats.ranking import RankedSample, ranking
from steelyard.stats.summary import Summary
from steelyard.store.reader import RunRecord

MOST = 60
"""More are not ranked: every pair is compared, and nobody repeats often enough to tell so many apart."""


@dataclass(frozen=True, slots=True)
class RankingRow:
    """One level, called `name`, with its figure and its place; `tied` are the names of those that the data
    cannot tell from it."""

    cell: Cell
    name: str
    figure: Summary
    place: RankedSample
    tied: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RankingTable:
    """Levels of `parameter` from the best to the worst, with the others as in `label`.

    `of` is what the names name: `machine`, or the parameter. `note` says when there were too few trials to
    tell anything apart; it is empty otherwise.
    """

    of: str
    parameter: str
    metric: Metric
    label: str
    rows: tuple[RankingRow, ...]
    note: str


def rankings(
    record: RunRecord, summary: RunSummary, *, of: str | None = None, metric: str | None = None
) -> tuple[RankingTable, ...]:
    """Rank the levels of a parameter, by default of the one that sets the machine.

    One table for each combination of the other parameters. Raises UnknownName, and UsageError when there is
    nothing to rank.
    """
    target = choose_metric(summary, metric, lambda one: one.better != "none")
    if target is None or target.better == "none":
        raise UsageError(f"'{metric or 'no metric'}' cannot be ranked: it has no better direction")
    known = hosts(record)
    parameter = of if of is not None and of != "machine" else machine_setter(summary, known)
    if parameter is None:
        raise UsageError(
            "no single parameter of the run sets the machine, so machines cannot be ranked",
            hint='let one choose the host: `on: "host[${machine}]"`, or rank another: {ranking: {of: NAME}}',
        )
    by_machine = parameter in find_setters(summary, lambda cell: machine_of(cell, known))
    tables = [
        _table(one, target, known if by_machine else None, record.seed)
        for one in require_series(summary, parameter)
    ]
    if not any(tables):
        raise UsageError(f"fewer than two levels of '{parameter}' have figures of {target.name} that count")
    return tuple(table for table in tables if table)


def _table(
    one: Series, metric: Metric, known: Mapping[str, HostFacts] | None, seed: int
) -> RankingTable | None:
    having = [(cell, figure) for cell in one.cells[:MOST] if (figure := cell.metrics[metric.name].summary)]
    if len(having) < 2 or metric.better == "none":
        return None
    samples = [cell.metrics[metric.name].values for cell, _ in having]
    result = ranking(samples, better=metric.better, seed=seed)
    names = _names(one, [cell for cell, _ in having], known)
    rows = [
        RankingRow(cell.cell, name, figure, place, tuple(names[other] for other in place.tied))
        for (cell, figure), name, place in zip(having, names, result.places, strict=True)
    ]
    rows.sort(key=lambda row: row.place.rank)
    of = "machine" if known else one.axis.name
    note = "" if result.enough else _explain_too_few([len(sample) for sample in samples])
    return RankingTable(of, one.axis.name, metric, one.label, tuple(rows), note)


def _names(one: Series, cells: list[CellSummary], known: Mapping[str, HostFacts] | None) -> list[str]:
    """What to call the levels: their machines, with the level where two have the same kind of machine."""
    levels = [one.level(cell) for cell in cells]
    if known is None:
        return levels
    machines = [machine_of(cell, known) or "unknown" for cell in cells]
    return [
        name if machines.count(name) == 1 else f"{name} ({one.axis.name}={level})"
        for name, level in zip(machines, levels, strict=True)
    ]


def _explain_too_few(sizes: list[int]) -> str:
    pairs = len(sizes) * (len(sizes) - 1) // 2
    return (
        f"n={min(sizes)} cannot distinguish any of {len(sizes)} in {pairs} comparisons:"
        " use more repetitions or rank fewer levels"
    )
