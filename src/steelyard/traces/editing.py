"""Other traces out of traces: a part of one, several in one, a larger one. Each is a new trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.errors import UsageError
from steelyard.store.database import escape_path, quote
from steelyard.traces.folder import TraceFolder
from steelyard.traces.recording import summarise
from steelyard.traces.writing import making_table

_VIEW = "CREATE VIEW {name} AS SELECT * FROM read_parquet({table})"
_CUT = """
CREATE TABLE kept AS SELECT * FROM a WHERE kind <> 'note' AND start >= {first} AND start < {last}
  AND ({under} = '' OR starts_with(path, {under} || '/'));
CREATE TABLE inherited AS
  SELECT process, descriptor, arg_min(path, start) AS path, arg_min("offset", start) AS position,
    max(coalesce("offset", 0) + coalesce(result, 0)) AS size, min(start) AS first
  FROM kept WHERE descriptor IS NOT NULL AND kind NOT IN ('open') GROUP BY process, descriptor;
CREATE TABLE made AS
  SELECT 0::BIGINT AS start, 0::BIGINT AS duration, i.process, i.process AS thread, 'found' AS call,
    'note' AS kind, i.path, NULL::VARCHAR AS other, i.descriptor, NULL::BIGINT AS "offset",
    NULL::BIGINT AS size, coalesce(i.position, 0) AS result, NULL::VARCHAR AS error, FALSE AS stream,
    (SELECT arg_max(o.detail, o.start) FROM a o WHERE o.process = i.process AND o.path = i.path
      AND o.descriptor = i.descriptor AND o.start <= i.first AND o.call IN ('open', 'found')) AS detail,
    i.size AS file_size, NULL::BIGINT AS inode
  FROM inherited i WHERE NOT EXISTS (SELECT 1 FROM kept k WHERE k.kind = 'open' AND k.process = i.process
    AND k.descriptor = i.descriptor AND k.start < i.first)
  UNION ALL SELECT * REPLACE (start - {first} AS start) FROM kept
  UNION ALL SELECT * REPLACE (greatest(start - {first}, 0) AS start) FROM a
    WHERE call = 'resolved' AND start < {last} AND path IN (SELECT path FROM kept);
"""
_KEPT = ("way", "began", "host", "anonymous")
_NUMBERED = ("process", "parent", "cpu")
_MOVES = "kind IN ('read', 'write', 'copy', 'size')"


def cut_trace(
    trace: TraceFolder, folder: TraceFolder, *, first: float, last: float | None, under: str = ""
) -> int:
    """The calls that began between two instants, in seconds, on files below a path; how many rows it has.

    What was open then is noted as such, and where links in their paths lead. Raises StoreError, UsageError
    where nothing is left.
    """
    asked = _CUT.format(
        first=int(first * 1e9),
        last=2**62 if last is None else int(last * 1e9),
        under=quote(under.rstrip("/")),
    )
    return _make(folder, [trace], asked, {"cut": trace.id, "from": first, "to": last, "under": under})


def merge_traces(traces: Sequence[TraceFolder], folder: TraceFolder, *, together: bool = False) -> int:
    """All of several traces in one, each with processes of its own; how many rows it has.

    They are apart by the time that was between them, or begin `together`. Raises StoreError.
    """
    began = [0.0 if together else float(each.read_document().get("began", 0.0)) for each in traces]
    parts = [
        f"SELECT * REPLACE (start + {round((at - min(began)) * 1e9)} AS start,"  # noqa: S608 - numbers of ours
        f" process + {_stride(number)} AS process) FROM {_name(number)}"
        for number, at in enumerate(began)
    ]
    asked = f"CREATE TABLE made AS {' UNION ALL '.join(parts)}"
    return _make(folder, traces, asked, {"merged": [each.id for each in traces]})


def scale_trace(trace: TraceFolder, folder: TraceFolder, *, sizes: int = 1, streams: int = 1) -> int:
    """The same calls on so many times as many bytes, and so often at once on files of their own.

    How many rows it has. Raises StoreError.
    """
    larger = ", ".join(
        f"CASE WHEN {_MOVES} THEN {column} * {sizes} ELSE {column} END AS {column}"
        for column in ('"offset"', "size", "result")
    )
    parts = [
        f"SELECT * REPLACE ({larger}, file_size * {sizes} AS file_size,"  # noqa: S608 - numbers of ours
        f" process + {_stride(number)} AS process,"
        f" {_move('path', number)} AS path, {_move('other', number)} AS other) FROM a"
        for number in range(streams)
    ]
    asked = f"CREATE TABLE made AS {' UNION ALL '.join(parts)}"
    return _make(folder, [trace], asked, {"scaled": trace.id, "sizes": sizes, "streams": streams}, streams)


def _name(number: int) -> str:
    return "a" if number == 0 else f"a{number}"


def _stride(number: int) -> int:
    """What makes numbers of processes differ: no system gives any so large."""
    return number << 23


def _move(column: str, number: int) -> str:
    return f"'/stream-{number}' || {column}" if number else column


def _make(
    folder: TraceFolder, traces: Sequence[TraceFolder], asked: str, told: dict[str, Any], streams: int = 1
) -> int:
    for trace in traces:
        trace.verify()
    with making_table(folder.table) as database:
        for number, trace in enumerate(traces):
            database.execute(_VIEW.format(name=_name(number), table=quote(escape_path(trace.table))))
        database.execute(asked)
        (count,) = database.execute("SELECT count(*) FROM made WHERE kind <> 'note'").fetchall()[0]
        if not count:
            raise UsageError("nothing of the trace is left")
    documents = [trace.read_document() for trace in traces]
    kept: dict[str, Any] = {key: documents[0][key] for key in _KEPT if key in documents[0]}
    processes = [
        _renumber(each, number)
        for number, document in enumerate(documents * streams)
        for each in document.get("processes", ())
    ]
    folder.write_document(
        {**kept, **told, "calls": int(count), "processes": processes, **summarise(folder.table)}
    )
    return int(count)


def _renumber(process: dict[str, Any], number: int) -> dict[str, Any]:
    """One as it is called in a trace that has its own as the `number`th."""
    return {name: value + _stride(number) if name in _NUMBERED else value for name, value in process.items()}
