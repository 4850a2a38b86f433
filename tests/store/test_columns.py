"""What columns mean, on disk and back."""

from __future__ import annotations

import pytest

from steelyard.errors import StoreError
from steelyard.model.column import Column
from steelyard.store.columns import read_columns, write_columns

COLUMNS = {"busy": Column("%", "share of time", "rate"), "size": Column("B", "bytes in use")}


def test_they_come_back_as_they_were(tmp_path):
    path = tmp_path / "host.json"
    write_columns(COLUMNS, path)
    assert read_columns(path) == COLUMNS
    assert read_columns(tmp_path / "none.json") == {}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"columns": [1]}', '{"columns": {"a": {"unit": "s"}}}', "[" * 99_999]
)
def test_damage_is_said(tmp_path, text):
    path = tmp_path / "host.json"
    path.write_text(text)
    with pytest.raises(StoreError, match="damaged"):
        read_columns(path)


def test_an_unknown_kind_is_a_gauge(tmp_path):
    path = tmp_path / "host.json"
    path.write_text('{"columns": {"a": {"unit": "s", "about": "x", "kind": "of tomorrow"}}}')
    assert read_columns(path) == {"a": Column("s", "x", "gauge")}
