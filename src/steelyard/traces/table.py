"""One Parquet table of all calls of a trace, in the order in which they began.

`docs/reference/traces.md` has its columns with their units. The work is duckdb's, in a file of its own beside
the table, so that it takes little memory however many calls there are.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.errors import StoreError
from steelyard.files import replace_whole
from steelyard.store.database import OFFLINE, first_line, quote
from steelyard.traces.calls import list_calls
from steelyard.traces.names import NameHider
from steelyard.traces.segments import TraceSegment

if TYPE_CHECKING:
    import duckdb

VERSION = 1
FORM = f"(FORMAT parquet, COMPRESSION zstd, KV_METADATA {{steelyard_trace: '{VERSION}'}})"
"""How a table is written by duckdb's COPY."""
_NUMBERS = {call.name: call.number for call in list_calls()}
_OPENS = (_NUMBERS["open"], _NUMBERS["found"])
_TWO_NAMES = tuple(
    _NUMBERS[name]
    for name in ("resolved", "rename", "link", "symlink", "readlink", "copy_file_range", "sendfile")
)
_STREAM = 1
MEMORY = "1GB"
"""What duckdb may take before it goes on in temporary files."""

_MAKE = """
CREATE TABLE calls (
  row BIGINT, segment INTEGER, start BIGINT, duration BIGINT, process INTEGER, thread INTEGER, call SMALLINT,
  name INTEGER, other INTEGER, descriptor INTEGER, source INTEGER, "offset" BIGINT, size BIGINT,
  result BIGINT, stream BOOLEAN, detail BIGINT, file_size BIGINT, inode BIGINT);
CREATE TABLE names (segment INTEGER, name INTEGER, path VARCHAR);
CREATE TABLE kinds (call SMALLINT, "call name" VARCHAR, kind VARCHAR);
CREATE TABLE errors (number BIGINT, error VARCHAR);
"""
# What a call leaves of its descriptor's position: known from it alone (`leaves`), or so much further
# (`moved`). That of a copied descriptor is its source's; of one not seen before, `found` asked the kernel.
_STEPS = """
CREATE TEMP TABLE steps AS SELECT c.row, c.segment, c.descriptor, c.start, c.source,
    CASE WHEN k."call name" IN ('read', 'readv', 'write', 'writev') AND NOT c.stream AND c.result > 0
         THEN c.result ELSE 0 END AS moved,
    CASE WHEN c.stream AND c."offset" IS NOT NULL THEN c."offset" + c.result
         WHEN k."call name" = 'open' THEN CASE WHEN c.detail & {append} <> 0 THEN c.file_size ELSE 0 END
         WHEN k."call name" = 'dup' THEN coalesce(d.position, -{far})
         WHEN k."call name" IN ('found', 'lseek') THEN CASE WHEN c.result >= 0 THEN c.result END
    END AS leaves
  FROM calls c JOIN kinds k USING (call) LEFT JOIN copied d ON d.row = c.row
  WHERE c.descriptor IS NOT NULL AND c.result >= 0
"""
# Before a call, a file stands so far from where the last step left it that is known: the `known`th one of its
# descriptor. A join finds that; `last_value(… IGNORE NULLS)` would look back over all calls in between.
_POSITIONS = """
CREATE TEMP TABLE running AS
  SELECT *, sum(moved) OVER steps AS total, count(leaves) OVER steps AS known FROM steps
  WINDOW steps AS (PARTITION BY segment, descriptor ORDER BY start, row ROWS UNBOUNDED PRECEDING);
CREATE TEMP TABLE positions AS
  SELECT r.row, r.segment, r.descriptor, r.start, r.moved, r.leaves,
    a.leaves - a.total + r.total - r.moved AS position
  FROM running r LEFT JOIN running a ON a.segment = r.segment AND a.descriptor = r.descriptor
    AND a.leaves IS NOT NULL AND a.known = r.known - (r.leaves IS NOT NULL)::INTEGER;
DROP TABLE running
"""
_COPIED = """
CREATE OR REPLACE TEMP TABLE copied AS
  SELECT s.row, coalesce(p.leaves, p.position + p.moved) AS position
  FROM (SELECT * FROM steps WHERE source IS NOT NULL) s ASOF JOIN positions p
    ON s.segment = p.segment AND s.source = p.descriptor AND s.start > p.start
"""
_FILL = """
UPDATE calls SET "offset" = p.position FROM positions p JOIN kinds k ON TRUE
  WHERE calls.row = p.row AND k.call = calls.call AND calls."offset" IS NULL AND p.position >= 0
    AND k."call name" IN ('read', 'readv', 'write', 'writev')
"""
_COPY = """
COPY (
  SELECT c.start, c.duration, c.process, c.thread, k."call name" AS call, k.kind, n.path, o.path AS other,
    c.descriptor, c."offset", c.size, CASE WHEN c.result >= 0 THEN c.result END AS result,
    CASE WHEN c.result < 0 THEN coalesce(e.error, CAST(-c.result AS VARCHAR)) END AS error,
    c.stream, CASE WHEN k."call name" = 'dup' THEN c.source ELSE c.detail END AS detail, c.file_size, c.inode
  FROM calls c JOIN kinds k USING (call) LEFT JOIN errors e ON e.number = -c.result
    LEFT JOIN names n ON n.segment = c.segment AND n.name = c.name
    LEFT JOIN names o ON o.segment = c.segment AND o.name = c.other
  ORDER BY c.start, c.row
) TO {path} {form}
"""


def write_table(segments: Iterable[TraceSegment], path: Path, *, anonymous: bool = False) -> int:
    """Write the calls of segments of one machine as `path`, whole or not at all; how many there are.

    The times are nanoseconds since the first of the processes began. Raises StoreError.
    """
    import duckdb

    try:
        with replace_whole(path, sync=True) as part:
            work = part.with_name("work.duckdb")
            with duckdb.connect(str(work), config=OFFLINE | {"memory_limit": MEMORY}) as database:
                database.execute(_MAKE)
                _insert(database, segments, NameHider() if anonymous else None)
                _fill_positions(database)
                database.execute(_COPY.format(path=quote(str(part)), form=FORM))
                (count,) = database.execute("SELECT count(*) FROM calls").fetchall()[0]
    except (OSError, duckdb.Error) as error:
        raise StoreError(f"cannot write {path}: {first_line(error)}") from error
    return int(count)


# So far off, in ns, a wall clock tells of another boot. Within one, all processes share the monotonic clock,
# and none reads both clocks at one instant: by the wall clock, calls of two processes would change places.
_APART = 1_000_000_000


def _insert(
    database: duckdb.DuckDBPyConnection, segments: Iterable[TraceSegment], hider: NameHider | None
) -> None:
    database.executemany("INSERT INTO kinds VALUES (?, ?, ?)", [list(call) for call in list_calls()])
    database.executemany("INSERT INTO errors VALUES (?, ?)", [list(each) for each in errno.errorcode.items()])
    row, began, ahead = 0, None, 0
    for number, segment in enumerate(segments):
        own = segment.wall - segment.monotonic
        if began is None or abs(own - ahead) > _APART:
            ahead = own
        began = segment.wall if began is None else began
        shift = ahead - began
        for records in segment.read_calls():
            columns = _make_columns(records, number, segment.process, row, shift)
            database.register("piece", columns)
            database.execute("INSERT INTO calls SELECT * FROM piece")
            database.unregister("piece")
            row += len(records)
        rows = [[number, name, hider.hide(path) if hider else path] for name, path in segment.names.items()]
        if rows:
            database.executemany("INSERT INTO names VALUES (?, ?, ?)", rows)


def _make_columns(
    records: np.ndarray[Any, Any], segment: int, process: int, row: int, shift: int
) -> dict[str, Any]:
    """The columns of the table `calls`, in order; what a record does not have is masked."""
    call, count = records["call"], len(records)
    opens, copies = np.isin(call, _OPENS), call == _NUMBERS["dup"]
    made = (call == _NUMBERS["open"]) | copies
    descriptor = np.where(made, records["result"], records["descriptor"])
    two = np.isin(call, _TWO_NAMES)
    return {
        "row": np.arange(row, row + count),
        "segment": np.full(count, segment),
        "start": records["start"].astype(np.int64) + shift,
        "duration": records["duration"].astype(np.int64),
        "process": np.full(count, process),
        "thread": records["thread"].astype(np.int64),
        "call": call.astype(np.int64),
        "name": records["name"].astype(np.int64),
        "other": _mask(records["extra"], two),
        "descriptor": _mask(descriptor, descriptor >= 0),
        "source": _mask(records["descriptor"], copies),
        "offset": _mask(records["offset"], ~opens & (records["offset"] >= 0)),
        "size": _mask(records["size"], ~opens),
        "result": records["result"].astype(np.int64),
        "stream": (records["flags"] & _STREAM).astype(bool),
        "detail": _mask(records["extra"], ~two),
        "file_size": _mask(records["offset"], opens),
        "inode": _mask(records["size"], opens),
    }


def _mask(values: np.ndarray[Any, Any], kept: np.ndarray[Any, Any]) -> np.ma.MaskedArray[Any, Any]:
    return np.ma.masked_array(values.astype(np.int64), ~kept)


def _fill_positions(database: duckdb.DuckDBPyConnection) -> None:
    """Offsets of calls that went on where the file stood."""
    database.execute("CREATE TEMP TABLE copied (row BIGINT, position BIGINT)")
    copied = database.execute("SELECT count(source) FROM calls").fetchall()[0][0]
    for _ in range(3 if copied else 1):  # a copy of a copy
        database.execute("DROP TABLE IF EXISTS steps; DROP TABLE IF EXISTS positions")
        database.execute(_STEPS.format(append=os.O_APPEND, far=1 << 61))
        database.execute(_POSITIONS)
        database.execute(_COPIED)
    database.execute(_FILL)
