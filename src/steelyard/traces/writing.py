"""A trace's table out of rows that were not recorded by us."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.errors import StoreError
from steelyard.files import replace_whole
from steelyard.store.database import OFFLINE, first_line, quote
from steelyard.traces.folder import TraceFolder
from steelyard.traces.recording import summarise
from steelyard.traces.replay.rows import Row
from steelyard.traces.table import FORM, MEMORY

if TYPE_CHECKING:
    import duckdb

_TEXTS = ("call", "kind", "path", "other", "error")
_COPY = "COPY (SELECT * FROM made ORDER BY start) TO {path} {form}"
_MAKE = """
CREATE TABLE made AS
  SELECT start, duration, process::INTEGER AS process, thread::BIGINT AS thread, call, kind, path, other,
    descriptor::INTEGER AS descriptor, "offset", size, result, error, FALSE AS stream, detail, file_size,
    NULL::BIGINT AS inode
  FROM rows
"""


@contextmanager
def making_table(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database whose relation `made` becomes the table of a trace, by start, when the block ends well.

    Raises StoreError, also for what goes wrong in the block.
    """
    import duckdb

    try:
        with (
            replace_whole(path, sync=True) as part,
            duckdb.connect(config=OFFLINE | {"memory_limit": MEMORY}) as database,
        ):
            yield database
            database.execute(_COPY.format(path=quote(str(part)), form=FORM))
    except (OSError, duckdb.Error) as error:
        raise StoreError(f"cannot write {path}: {first_line(error)}") from error


def write_rows(rows: Sequence[Row], folder: TraceFolder, told: Mapping[str, Any]) -> None:
    """Write the table and the document of a trace. Raises StoreError."""
    columns = {name: _make_column(rows, name) for name in Row.__dataclass_fields__}
    with making_table(folder.table) as database:
        database.register("rows", columns)
        database.execute(_MAKE)
    folder.write_document({**told, "calls": len(rows), **summarise(folder.table)})


def _make_column(rows: Sequence[Row], name: str) -> Any:
    values = [getattr(row, name) for row in rows]
    if name in _TEXTS:
        return np.array(values, object)
    missing = np.array([value is None for value in values])
    return np.ma.masked_array(np.array([value or 0 for value in values], np.int64), missing)
