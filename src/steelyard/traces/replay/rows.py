"""The calls of a trace, one after the other as they began."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import StoreError
from steelyard.store.database import OFFLINE, escape_path, first_line, quote
from steelyard.traces.table import MEMORY, VERSION

_PIECE = 100_000
_VERSION = """
SELECT decode(value) FROM parquet_kv_metadata({path}) WHERE decode(key) = 'steelyard_trace'
"""
_QUERY = """
SELECT start - (SELECT min(start) FROM read_parquet({path})) AS start, duration, process, thread,
  call, kind, path, other, descriptor, "offset", size, result, error, detail, file_size
FROM read_parquet({path}) ORDER BY start
"""
_NUMBERS = {name: number for number, name in errno.errorcode.items()}


@dataclass(frozen=True, slots=True)
class Row:
    """One call, with the columns of docs/reference/traces.md; times in ns, sizes in bytes."""

    start: int
    duration: int
    process: int
    thread: int
    call: str
    kind: str
    path: str | None
    other: str | None
    descriptor: int | None
    offset: int | None
    size: int | None
    result: int | None
    error: str | None
    detail: int | None
    file_size: int | None

    @property
    def end(self) -> int:
        """When it returned."""
        return self.start + self.duration

    @property
    def outcome(self) -> int:
        """As the kernel has it: below zero, an error."""
        if self.error is None:
            return self.result or 0
        return -_NUMBERS.get(self.error, errno.EIO)


def read_rows(table: Path) -> Iterator[Row]:
    """All calls of a trace's table, and its notes. Raises StoreError."""
    import duckdb

    try:
        with (
            tempfile.TemporaryDirectory() as place,
            duckdb.connect(config=OFFLINE | {"memory_limit": MEMORY, "temp_directory": place}) as database,
        ):
            path = quote(escape_path(table))
            _check_version(database.execute(_VERSION.format(path=path)).fetchall(), table)
            asked = database.execute(_QUERY.format(path=path))
            while rows := asked.fetchmany(_PIECE):
                for row in rows:
                    yield Row(*row)
    except (OSError, duckdb.Error) as error:
        raise StoreError(f"cannot read {table}: {first_line(error)}") from error


def _check_version(found: list[tuple[str]], table: Path) -> None:
    if found != [(str(VERSION),)]:
        version = repr(found[0][0]) if found else "none"
        hint = "read it with the Steelyard that made it"
        raise StoreError(f"{table} is a trace's table of version {version}, not '{VERSION}'", hint=hint)
