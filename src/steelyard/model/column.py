"""What a column of a collector's table means, for those who fill it and those who draw it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from steelyard.model.metric import Unit

ColumnKind = Literal["gauge", "rate"]
Sample = tuple[float, float, Mapping[str, str]]
"""A sample: wall clock and monotonic clock in seconds, raw text by path or name of a command."""


class Column(NamedTuple):
    """What a column of a row means; `%` is a ratio that is shown as per cent.

    A `gauge` is as it was when the sample was taken, a `rate` holds for the interval that ends there.
    """

    unit: Unit
    about: str
    kind: ColumnKind = "gauge"


CLOCKS: Mapping[str, Column] = {
    "t": Column("s", "end of the interval on the wall clock, seconds since 1970"),
    "m": Column("s", "end of the interval on the host's monotonic clock"),
}
"""Columns that every table has."""


def find_column(columns: Mapping[str, Column], name: str) -> Column | None:
    """What a column means; `disk_read:vda` is a device of the family `disk_read`. None when unknown."""
    return columns.get(name) or columns.get(name.partition(":")[0])
