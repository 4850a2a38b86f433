"""What can be asked of a copy of a CSV file into a table."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.plugin import Frequency
from steelyard.workloads.kit.client import ClientOptions

_NAME = r"^[a-zA-Z][a-zA-Z0-9_]{0,47}$"
_TYPE = re.compile(r"[a-z][a-z0-9_]*(<[a-z0-9_<>, ]+>)?")
CELLS = {"x": "int", "y": "int", "val": "bigint"}
"""Columns of the table of brain cells that is made up."""
CELL_KEY = ("x", "y")

Consistency = Literal[
    "ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE"
]


class CqlCopyOptions(ClientOptions):
    """Which rows, into which table, and how hard cqlsh tries."""

    port: int = Field(9042, ge=1, le=65535, description="The port of `server`.")
    credentials: str | None = Field(
        None,
        pattern=r"^/[^\s]+$",
        description="With `server`: cqlsh's credentials file on the clients' hosts, mode 0600.",
    )
    rows: int | None = Field(
        None,
        ge=1,
        le=2**31 - 1,
        description="Rows to generate: brain cells at x, y with a val; shared by all copies of the workload",
    )
    file: str | None = Field(
        None,
        pattern=r"^/[^\s'*?\[\],]+$",
        description="A CSV file on the clients' hosts to use instead of generated rows.",
    )
    header: bool = Field(False, description="Whether the first line of `file` names its columns.")
    keyspace: str = Field("cells", pattern=_NAME, description="Keyspace; created if it does not exist.")
    table: str = Field("data", pattern=_NAME, description="Table; created if it does not exist.")
    columns: dict[str, str] | None = Field(
        None,
        description="Columns of `file`, in order, with their types: `{id: int, name: text}`. Without them, "
        "the table must exist, and the file must have all of its columns in the table's order.",
    )
    key: tuple[str, ...] = Field(
        (), description="Columns of the primary key, with `columns`. Default: the first one."
    )
    replication: int | None = Field(
        None,
        ge=1,
        le=100,
        description="Copies of each row, if the keyspace is created. Default: the service's value, or 1.",
    )
    truncate: bool = Field(True, description="Empty the table first.")
    ingest_rate: Literal["default"] | Frequency = Field(
        "default",
        description="Maximum rows per second that cqlsh sends (`500/s` or 500). cqlsh's default is 100,000.",
    )
    processes: int | None = Field(
        None,
        ge=1,
        le=1024,
        description="Processes that send rows. Default: cqlsh's, one fewer than cores, at most 16.",
    )
    chunk_size: int = Field(
        5000,
        ge=1,
        le=10_000_000,
        description="Rows handed to a process at once; progress is counted in these chunks.",
    )
    max_batch_size: int = Field(20, ge=1, le=65535, description="Maximum rows per request.")
    consistency: Consistency = Field(
        "ONE", description="Replicas that must have stored a row before it counts."
    )
    may_fail: int = Field(
        0, ge=0, le=2**31 - 1, description="Maximum number of lost rows; with more, the trial fails."
    )

    @field_validator("ingest_rate")
    @classmethod
    def _check_ingest_rate(cls, value: Literal["default"] | Frequency) -> Literal["default"] | Frequency:
        if value != "default" and (value % 1 or not 1 <= value <= 10**9):
            raise ValueError(f"{value} is not a whole number of rows per second from 1 to 1,000,000,000")
        return value

    @field_validator("columns")
    @classmethod
    def _check_columns(cls, columns: dict[str, str] | None) -> dict[str, str] | None:
        for name, kind in (columns or {}).items():
            if not re.fullmatch(_NAME, name):
                raise ValueError(f"'{name}' is not a column name: use letters, digits, _, at most 48")
            if not _TYPE.fullmatch(kind):
                raise ValueError(f"'{kind}' of column {name} is not a CQL type such as int, text or double")
        return columns

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if (self.rows is None) == (self.file is None):
            raise ValueError("give either `rows`, to generate them, or `file`")
        if self.rows is not None and (self.columns or self.key or self.header):
            raise ValueError("columns, key and header apply only to `file`; generated rows have x, y, val")
        if unknown := set(self.key) - set(self.columns or ()):
            raise ValueError(f"key: {', '.join(sorted(unknown))} is not a column of `columns`")
        if self.credentials is not None and self.server is None:
            raise ValueError("credentials: applies only to `server`; a service provides its own")
        return self

    @property
    def table_columns(self) -> dict[str, str]:
        """Names and types of the columns; empty where the table tells."""
        return CELLS if self.rows is not None else self.columns or {}

    @property
    def table_key(self) -> tuple[str, ...]:
        """Columns of the primary key."""
        return CELL_KEY if self.rows is not None else self.key or tuple(self.table_columns)[:1]
