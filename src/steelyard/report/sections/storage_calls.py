"""What the programs of a run asked of their storage, where `capture: io` recorded it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.report.sections.section import Section
from steelyard.store.reader import RunRecord
from steelyard.units import show

_MOST = 12
_ABOUT = (
    "Storage calls of the programs and servers that the experiment captures. From twice as many bytes read as"
    " written, a program is called read-intensive; from twice as many written, write-intensive."
)


def describe_storage_calls(record: RunRecord) -> list[Section]:
    """A section with a row for each trace; none where nothing was captured."""
    summaries = {path: document.get("summary", {}) for path, document in record.traces.items()}
    if not summaries:
        return []
    first = next(iter(summaries))
    sentences = [
        f"{first}: {summaries[first].get('text', '')}",
        "`steelyard trace show PATH` shows more of each.",
    ]
    rows = [_describe(path, summary) for path, summary in list(summaries.items())[:_MOST]]
    head = ("trace", "profile", "read", "written", "calls")
    return [Section("Storage calls", _ABOUT, sentences, head, rows, [], max(0, len(summaries) - _MOST))]


def _describe(path: str, summary: Mapping[str, Any]) -> tuple[str, ...]:
    moved = (show(float(summary.get(key, 0)), "B") for key in ("read", "written"))
    return (path, str(summary.get("profile", "–")), *moved, str(summary.get("calls", "–")))
