"""What tests of replays share: rows of a trace, and traces that were not recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steelyard.traces.calls import list_calls
from steelyard.traces.folder import TraceFolder
from steelyard.traces.replay.rows import Row
from steelyard.traces.writing import write_rows

_KINDS = {call.name: call.kind for call in list_calls()}


def row(**fields: Any) -> Row:
    """A call, of which what is not given is 0 or none."""
    values: dict[str, Any] = {"start": 0, "duration": 1, "process": 1, "thread": 1, "result": 0}
    values |= {"kind": _KINDS[fields["call"]]}
    missing = dict.fromkeys(name for name in Row.__dataclass_fields__ if name not in values)
    return Row(**{**missing, **values, **fields})


def make_trace(place: Path, rows: Sequence[Row], **document: Any) -> TraceFolder:
    """A trace of these calls, in a folder that is made."""
    place.mkdir()
    folder = TraceFolder(place)
    write_rows(rows, folder, {"way": "io", **document})
    return folder
