"""What an application does to its storage: a profile of a trace's table.

After BBFS (BigStorage D2.4, "Big Brother File System interceptor": total reads and writes, their ratio, times
and throughput, and the profile of its table 1) and Darshan's counters of access sizes and patterns (Carns et
al., Understanding and improving computational science storage access through continuous characterization,
MSST 2011).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import StoreError
from steelyard.store.database import OFFLINE, escape_path, first_line, quote
from steelyard.traces.queries import (
    BINS,
    BUSY,
    FILES,
    GROUPS,
    HEAT,
    MOST_AT_ONCE,
    OVER_TIME,
    PATTERNS,
    SIZES,
    TOTALS,
)
from steelyard.traces.table import MEMORY
from steelyard.untrusted import open_regular

if TYPE_CHECKING:
    import duckdb

READ_INTENSIVE, WRITE_INTENSIVE = 2.0, 0.5
"""Ratios of bytes read to bytes written from which, and up to which, an application is called so."""


@dataclass(frozen=True)
class CallGroup:
    """Calls of one kind or of one name. Times in seconds; `bytes` are those that were moved."""

    name: str
    calls: int
    errors: int
    bytes: int
    seconds: float
    p50: float
    p99: float
    longest: float


@dataclass(frozen=True)
class FileUse:
    """What was done to one file."""

    path: str
    read: int
    written: int
    calls: int
    seconds: float


@dataclass(frozen=True)
class Profile:
    """A trace in figures.

    `seconds`: from the first call to the end of the last; `busy`: in all calls together, so that
    `busy / seconds` calls ran at once on average, and `most_at_once` at most. `sizes`: by kind, pairs of a
    power of two (from that size to twice as much) and calls. `patterns`: by kind, how many bytes were
    `sequential`, `strided` and `random`. `over_time`: for each of `BINS` equal parts of the time, bytes read
    and written, calls, and seconds in calls. `heat`: of the file with most bytes, bytes by part of the time
    and part of the file (`PARTS`).
    """

    calls: int
    seconds: float
    processes: int
    threads: int
    files: int
    busy: float
    kinds: Mapping[str, CallGroup]
    names: Mapping[str, CallGroup]
    sizes: Mapping[str, Sequence[tuple[int, int]]]
    patterns: Mapping[str, Mapping[str, int]]
    most_used: Sequence[FileUse]
    most_at_once: int
    over_time: Sequence[tuple[int, int, int, float]]
    heat: Sequence[tuple[int, int, int]]

    @property
    def read(self) -> int:
        """Bytes."""
        return self.kinds["read"].bytes if "read" in self.kinds else 0

    @property
    def written(self) -> int:
        """Bytes."""
        return self.kinds["write"].bytes if "write" in self.kinds else 0

    @property
    def ratio(self) -> float | None:
        """Bytes read to bytes written; None where none was written."""
        return self.read / self.written if self.written else None

    @property
    def label(self) -> str:
        """As table 1 of BBFS calls it: `read-intensive`, `write-intensive`, `balanced`, or `no data`."""
        if not self.read and not self.written:
            return "no data"
        if self.ratio is None or self.ratio >= READ_INTENSIVE:
            return "read-intensive"
        return "write-intensive" if self.ratio <= WRITE_INTENSIVE else "balanced"


def profile_table(path: Path, under: str = "") -> Profile:
    """The profile of a trace's table; of calls on files below a directory, if `under` names one.

    Raises StoreError when it cannot be read.
    """
    import duckdb

    try:
        with open_regular(path), tempfile.TemporaryDirectory() as place:
            more: dict[str, str | bool | int | float | list[str]] = {
                "memory_limit": MEMORY,
                "temp_directory": place,
                "preserve_insertion_order": False,
            }
            with duckdb.connect(":memory:", config=OFFLINE | more) as database:
                where = f" AND starts_with(path, {quote(under.rstrip('/') + '/')})" if under else ""
                database.execute(
                    f"CREATE VIEW calls AS SELECT * FROM read_parquet({quote(escape_path(path))})"  # noqa: S608 - quoted
                    f" WHERE kind <> 'note'{where}"
                )
                return _profile(database)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    except duckdb.Error as error:
        raise StoreError(f"cannot read {path}: {first_line(error)}") from error


def _profile(database: duckdb.DuckDBPyConnection) -> Profile:
    def ask(query: str, *values: object) -> list[Any]:
        return database.execute(query, list(values)).fetchall()

    files = [FileUse(*row) for row in ask(FILES)]
    sizes: dict[str, list[tuple[int, int]]] = {}
    for kind, power, calls, _ in ask(SIZES):
        sizes.setdefault(kind, []).append((power, calls))
    patterns: dict[str, dict[str, int]] = {}
    for kind, pattern, _, moved in ask(PATTERNS):
        patterns.setdefault(kind, {})[pattern] = moved
    busy = dict(ask(BUSY))
    moved = {index: figures for index, *figures in ask(OVER_TIME)}
    over_time = [(*moved.get(index, (0, 0, 0)), busy.get(index, 0.0)) for index in range(BINS)]
    calls, seconds, processes, threads, distinct, in_calls = ask(TOTALS)[0]
    return Profile(
        calls=calls,
        seconds=seconds,
        processes=processes,
        threads=threads,
        files=distinct,
        busy=in_calls,
        kinds=_ask_groups(ask, "kind"),
        names=_ask_groups(ask, "call"),
        sizes=sizes,
        patterns=patterns,
        most_used=files,
        most_at_once=int(ask(MOST_AT_ONCE)[0][0]),
        over_time=over_time,
        heat=[tuple(row) for row in ask(HEAT, files[0].path, files[0].path)] if files else [],
    )


def _ask_groups(ask: Any, by: str) -> dict[str, CallGroup]:
    return {row[0]: CallGroup(*row) for row in ask(GROUPS.format(by=by))}
