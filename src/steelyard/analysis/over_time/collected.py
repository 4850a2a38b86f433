"""What collectors recorded beside the workload, with what its columns mean: no plug-in is asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from steelyard.analysis.over_time.telemetry import HostSamples, is_figure, thin_table
from steelyard.model.column import CLOCKS, Column, find_column
from steelyard.store.reader import CollectedTable, RunRecord
from steelyard.store.telemetry import read_parquet


class CollectedSamples(NamedTuple):
    """A table of a collector: whose, thinned to what a chart can hold, and what its columns mean."""

    collector: str
    samples: HostSamples
    meanings: Mapping[str, Column]

    def group_by_unit(self) -> dict[str, list[str]]:
        """Its columns by their unit, each group in the order of the table."""
        groups: dict[str, list[str]] = defaultdict(list)
        for name, meaning in self.meanings.items():
            groups[meaning.unit].append(name)
        return dict(groups)


class ColumnSummary(NamedTuple):
    """What a column came to during a trial, over `samples` that have it."""

    meaning: Column
    samples: int
    least: float
    mean: float
    most: float


def load_collected(record: RunRecord, number: int) -> dict[str, list[CollectedSamples]]:
    """The tables of a trial by the host, or the server, that they tell of. Raises StoreError."""
    by_label: dict[str, list[CollectedSamples]] = defaultdict(list)
    for table in record.collector_tables(number):
        values, meanings = _read(table)
        if samples := thin_table(table.label, values, meanings):
            by_label[table.label].append(CollectedSamples(table.collector, samples, meanings))
    return dict(by_label)


def summarise_table(table: CollectedTable) -> dict[str, ColumnSummary]:
    """What the columns of a whole table came to; one without any figure is left out. Raises StoreError."""
    values, meanings = _read(table)
    summaries = {name: _summarise(meanings[name], values[name]) for name in meanings}
    return {name: summary for name, summary in summaries.items() if summary}


def _read(table: CollectedTable) -> tuple[dict[str, list[float | None]], dict[str, Column]]:
    """The values of a table, and the meanings of those of its columns that have one."""
    values, declared = read_parquet(table.path), table.columns()
    return values, dict(_match(declared, values))


def _match(declared: Mapping[str, Column], names: Iterable[str]) -> Iterator[tuple[str, Column]]:
    for name in names:
        meaning = find_column(declared, name)
        if meaning and name not in CLOCKS:
            yield name, meaning


def _summarise(meaning: Column, values: Iterable[float | None]) -> ColumnSummary | None:
    there = [value for value in values if is_figure(value)]
    if not there:
        return None
    return ColumnSummary(meaning, len(there), min(there), sum(there) / len(there), max(there))
