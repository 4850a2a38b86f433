"""What can be asked of a copy of a CSV file into a table."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from steelyard.units import Frequency
from steelyard.workloads._client import ClientOptions

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

    port: int = Field(9042, ge=1, le=65535, description="The server's port, with `server`.")
    credentials: str | None = Field(
        None,
        pattern=r"^/[^\s]+$",
        description="With `server`: cqlsh's file of credentials on the clients' hosts, mode 0600.",
    )
    rows: int | None = Field(
        None,
        ge=1,
        le=2**31 - 1,
        description="Rows to make up: brain cells at x, y with a val. All copies of the workload share them.",
    )
    file: str | None = Field(
        None,
        pattern=r"^/[^\s'*?\[\],]+$",
        description="A CSV file on the clients' hosts instead of rows that are made up.",
    )
    header: bool = Field(False, description="The first line of `file` names its columns.")
    keyspace: str = Field("cells", pattern=_NAME, description="Keyspace; made where there is none.")
    table: str = Field("data", pattern=_NAME, description="Table; made where there is none.")
    columns: dict[str, str] | None = Field(
        None,
        description="Columns of `file` in its order, with their types: `{id: int, name: text}`. Without them "
        "the table must be there, and the file has all of its columns in the table's order.",
    )
    key: tuple[str, ...] = Field(
        (), description="Columns of the primary key, with `columns`. Default: the first one."
    )
    replication: int | None = Field(
        None,
        ge=1,
        le=100,
        description="Copies of each row, where the keyspace is made. Default: as the service says, or 1.",
    )
    truncate: bool = Field(True, description="Empty the table before.")
    ingest_rate: Literal["default"] | Frequency = Field(
        "default",
        description="Rows per second that cqlsh sends at most (`500/s` or 500). Its own default is 100,000.",
    )
    processes: int | None = Field(
        None,
        ge=1,
        le=1024,
        description="Processes that send rows. Default: cqlsh's, one less than cores, at most 16.",
    )
    chunk_size: int = Field(
        5000, ge=1, le=10_000_000, description="Rows that a process is handed at once; progress counts these."
    )
    max_batch_size: int = Field(20, ge=1, le=65535, description="Most rows of one request.")
    consistency: Consistency = Field("ONE", description="Replicas that must have a row before it counts.")
    may_fail: int = Field(
        0, ge=0, le=2**31 - 1, description="Rows that may get lost; more, and the trial fails."
    )

    @field_validator("ingest_rate")
    @classmethod
    def _a_rate(cls, value: Literal["default"] | Frequency) -> Literal["default"] | Frequency:
        if value != "default" and (value % 1 or not 1 <= value <= 10**9):
            raise ValueError(f"{value} is not a whole number of rows per second from 1 to 1,000,000,000")
        return value

    @field_validator("columns")
    @classmethod
    def _plain_columns(cls, columns: dict[str, str] | None) -> dict[str, str] | None:
        for name, kind in (columns or {}).items():
            if not re.fullmatch(_NAME, name):
                raise ValueError(f"'{name}' is no name of a column: letters, digits, _, at most 48")
            if not _TYPE.fullmatch(kind):
                raise ValueError(
                    f"'{kind}' of column {name} is no type of CQL; for example int, text, double"
                )
        return columns

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.rows is None) == (self.file is None):
            raise ValueError("name either `rows`, which are made up, or a `file`")
        if self.rows is not None and (self.columns or self.key or self.header):
            raise ValueError("columns, key and header are of a `file`; rows that are made up have x, y, val")
        if unknown := set(self.key) - set(self.columns or ()):
            raise ValueError(f"key: {', '.join(sorted(unknown))} is none of the columns")
        if self.credentials is not None and self.server is None:
            raise ValueError("credentials: are for a `server`; a service brings its own")
        return self

    @property
    def table_columns(self) -> dict[str, str]:
        """Names and types of the columns; empty where the table tells."""
        return CELLS if self.rows is not None else self.columns or {}

    @property
    def table_key(self) -> tuple[str, ...]:
        """Columns of the primary key."""
        return CELL_KEY if self.rows is not None else self.key or tuple(self.table_columns)[:1]
