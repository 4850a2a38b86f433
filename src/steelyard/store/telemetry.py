"""Host telemetry on disk: raw samples as lines of JSON while a trial runs, a Parquet table afterwards.

The caller removes the samples once `write_parquet` has returned, never before; whatever fails, they stay.
Duckdb and numpy are loaded on use: a third of a second that most commands need not spend.
"""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from steelyard.errors import StoreError
from steelyard.files import replace_whole
from steelyard.store.database import OFFLINE, escape_path, first_line
from steelyard.store.journal import write_failure
from steelyard.untrusted import open_regular, read_lines

if TYPE_CHECKING:
    import duckdb
    import numpy as np

_MOST_CELLS = 20_000_000


class RawSample(NamedTuple):
    """One sample of a host: wall clock and monotonic clock in seconds, raw text by path."""

    t: float
    m: float
    raw: Mapping[str, str]


def sample_line(sample: RawSample) -> bytes:
    """A sample as a line of the `.ndjson` file."""
    return json.dumps(sample._asdict(), separators=(",", ":"), allow_nan=False).encode() + b"\n"


def read_samples(path: Path) -> Iterator[RawSample]:
    """All samples in order. A torn last line, where the sampler was killed, is left out.

    Raises StoreError when the file cannot be read or another line is not a sample.
    """
    try:
        with open_regular(path) as file:
            for number, line in enumerate(read_lines(file), start=1):
                if line.endswith(b"\n"):
                    yield _parse_sample(line, path, number)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


def write_parquet(rows: Iterable[Mapping[str, float]], path: Path) -> None:
    """Write rows whole or not at all; it is on the disk afterwards. A value that a row lacks is null.

    Raises StoreFull, StoreError, and leaves nothing behind then.
    """
    try:
        with replace_whole(path, sync=True) as part:
            _write(_columns(rows), part)
    except OSError as error:
        raise write_failure(path, error) from error


def read_parquet(path: Path) -> dict[str, list[Any]]:
    """The columns of such a table by name; null is None. Raises StoreError."""
    import duckdb

    try:
        with open_regular(path), duckdb.connect(":memory:", config=OFFLINE) as database:
            table = database.read_parquet(escape_path(path))
            if len(table) * len(table.columns) > _MOST_CELLS:  # a few bytes can stand for any number of rows
                raise StoreError(f"cannot read {path}: it has {len(table)} rows of {len(table.columns)}")
            rows = table.fetchall()
            return {name: [row[index] for row in rows] for index, name in enumerate(table.columns)}
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    except duckdb.Error as error:
        raise StoreError(f"cannot read {path}: {first_line(error)}") from error


def _parse_sample(line: bytes, path: Path, number: int) -> RawSample:
    try:
        document = json.loads(line)
        sample = RawSample(float(document["t"]), float(document["m"]), document["raw"])
        texts = [*sample.raw.keys(), *sample.raw.values()]
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise StoreError(f"{path}:{number} is not a sample: {first_line(error)}") from error
    if not (math.isfinite(sample.t) and math.isfinite(sample.m) and all(isinstance(t, str) for t in texts)):
        raise StoreError(f"{path}:{number} is not a sample: a clock or a text has the wrong type")
    return sample


def _columns(rows: Iterable[Mapping[str, float]]) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    import numpy as np

    table = list(rows)
    names = dict.fromkeys(name for row in table for name in row) or {"t": None}
    values = {name: [row.get(name, math.nan) for row in table] for name in names}
    return {name: np.ma.masked_invalid(np.array(column, dtype=float)) for name, column in values.items()}


def _write(columns: Mapping[str, Any], path: Path) -> None:
    import duckdb

    try:
        with duckdb.connect(":memory:", config=OFFLINE) as database:
            # Names of devices are column names: handed over as values, they never become part of a query.
            database.register("telemetry", columns)
            database.view("telemetry").write_parquet(str(path), compression="zstd")
    except duckdb.Error as error:
        raise _write_error(path, error) from error


def _write_error(path: Path, error: duckdb.Error) -> StoreError:
    if os.strerror(errno.ENOSPC) in str(error) or os.strerror(errno.EDQUOT) in str(error):
        return write_failure(path, OSError(errno.ENOSPC, ""))
    return StoreError(f"cannot write {path}: {first_line(error)}")
