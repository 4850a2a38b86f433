"""Traces out of logs of Darshan, as its extended tracing (DXT) wrote them.

Darshan's own library reads a log, in a virtual environment of its own (`steelyard install darshan`), and in a
process of its own, since it trusts what it reads.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError
from steelyard.model.tool import DARSHAN
from steelyard.store.database import escape_path, quote
from steelyard.tools.find import find_missing
from steelyard.traces.folder import TraceFolder
from steelyard.traces.recording import summarise
from steelyard.traces.writing import making_table

READER = Path(__file__).with_name("reader.py")
_MAKE = """
CREATE TABLE made AS
  SELECT CAST(round(began * 1e9) AS BIGINT) AS start,
    CAST(round((ended - began) * 1e9) AS BIGINT) AS duration,
    rank AS process, rank AS thread, CASE kind WHEN 'read' THEN 'pread' ELSE 'pwrite' END AS call, kind, path,
    NULL::VARCHAR AS other, NULL::INTEGER AS descriptor, "offset", length AS size, length AS result,
    NULL::VARCHAR AS error, FALSE AS stream, NULL::BIGINT AS detail, NULL::BIGINT AS file_size,
    NULL::BIGINT AS inode
  FROM read_csv({rows}, auto_detect = false, header = false, delim = ',', quote = '"', escape = '"',
    columns = {{
    'rank': 'INTEGER', 'kind': 'VARCHAR', 'offset': 'BIGINT', 'length': 'BIGINT', 'began': 'DOUBLE',
    'ended': 'DOUBLE', 'path': 'VARCHAR'}})
"""


def import_log(log: Path, folder: TraceFolder) -> dict[str, Any]:
    """Make a trace of a log's reads and writes; its document. Raises UsageError, StoreError."""
    if not log.is_file():
        raise UsageError(f"there is no file {log}")
    rows = folder.path / "rows.csv"
    try:
        job = _read_log(log, rows)
        calls = _write_table(rows, folder.table)
    finally:
        rows.unlink(missing_ok=True)
    document = {
        "way": "darshan",
        "log": str(log.absolute()),
        **job,
        "calls": calls,
        **summarise(folder.table),
    }
    folder.write_document(document)
    return document


def _read_log(log: Path, rows: Path) -> dict[str, Any]:
    """What the log says of its job; its reads and writes go to `rows`."""
    if find_missing([DARSHAN]):
        hint = "run `steelyard install darshan`"
        raise UsageError("Darshan's library is not here, which reads its logs", hint=hint)
    argv = DARSHAN.argv("-I", str(READER), str(log.absolute()), str(rows))
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    try:
        return dict(json.loads(done.stdout if done.returncode == 0 else ""))
    except ValueError as error:
        lines = done.stderr.strip().splitlines() or [f"its reader ended with {done.returncode}"]
        raise UsageError(f"cannot read {log}: {lines[-1][:200]}") from error


def _write_table(rows: Path, path: Path) -> int:
    with making_table(path) as database:
        (count,) = database.execute(_MAKE.format(rows=quote(escape_path(rows)))).fetchall()[0]
    return int(count)
