"""What collectors recorded, read without them."""

from __future__ import annotations

import pytest

from steelyard.analysis.over_time.collected import load_collected, summarise_table
from steelyard.errors import StoreError
from steelyard.model.column import Column
from steelyard.store.columns import write_columns
from steelyard.store.telemetry import write_parquet

MEANINGS = {
    "busy": Column("%", "share of time", "rate"),
    "size": Column("B", "bytes in use"),
    "idle": Column("%", "never told"),
}
ROWS = [
    {"t": 100.0 + n, "m": 5.0 + n, "busy:a": n / 10, "busy:b": 0.5, "size": 2.0**n, "untold": 1.0}
    for n in range(4)
]


@pytest.fixture
def record(build):
    """A run with a table of a collector that nobody knows any more."""
    record = build()
    for number, label in ((1, "host-0"), (1, "host-1"), (2, "host-0")):
        path = record.folder.collector_table(number, "gone", label, "parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_parquet(ROWS, path)
        write_columns(MEANINGS, path.with_suffix(".json"))
    return record


def test_columns_are_found_by_their_family_and_grouped_by_unit(record):
    tables = load_collected(record, 1)
    assert list(tables) == ["host-0", "host-1"]
    (table,) = tables["host-0"]
    assert (table.collector, table.samples.host, table.samples.began) == ("gone", "host-0", 5.0)
    assert table.samples.seconds == [0.0, 1.0, 2.0, 3.0]
    assert table.group_by_unit() == {"%": ["busy:a", "busy:b"], "B": ["size"]}
    assert table.samples.columns["size"] == [1.0, 2.0, 4.0, 8.0]
    assert load_collected(record, 3) == {}


def test_a_table_is_summed_up(record):
    summary = summarise_table(record.collector_tables(2)[0])
    assert set(summary) == {"busy:a", "busy:b", "size"}
    assert summary["size"] == (MEANINGS["size"], 4, 1.0, 3.75, 8.0)


def test_a_table_without_meanings_has_no_columns_to_show(record):
    record.collector_tables(2)[0].path.with_suffix(".json").unlink()
    assert [table.group_by_unit() for table in load_collected(record, 2)["host-0"]] == [{}]


def test_damage_is_said(record):
    record.collector_tables(2)[0].path.write_bytes(b"rubbish")
    with pytest.raises(StoreError, match="cannot read"):
        load_collected(record, 2)
