"""Put on record what a person decided about a run of a history."""

from __future__ import annotations

import time

from steelyard.analysis.history.runs import HistoryRun
from steelyard.errors import UsageError
from steelyard.store.decisions import Decision, Verdict, add_decisions
from steelyard.store.layout import Store


def decide(store: Store, run: HistoryRun, verdict: Verdict, why: str, who: str) -> None:
    """Write it into the store. Raises UsageError for a decision without a reason, StoreError."""
    if verdict != "withdrawn" and not why.strip():
        raise UsageError("a decision needs a reason for those who read it later", hint="add --why TEXT")
    add_decisions(store, [Decision(run.glance.title, run.id, verdict, why.strip(), who, time.time())])
