"""What who watches knows of a run, from its record."""

from __future__ import annotations

from typing import Any

from steelyard.store.reader import RunRecord
from steelyard.watching.state import RunState


def watch(record: RunRecord, *more: dict[str, Any]) -> RunState:
    """The state after all lines of the journal, and more."""
    state = RunState(record.folder)
    for line in (*record.journal, *more):
        state.take_in(line)
    return state
