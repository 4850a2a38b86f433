"""What the record of a run says, for tests whose trials measure `found`."""

from __future__ import annotations

from typing import Any

from steelyard import api


def found(run: api.Run) -> list[float]:
    """What each trial found; none may have failed."""
    failures = [trial.message for trial in run.record.trials if trial.result.status != "ok"]
    assert not failures
    return [trial.result.metrics["found"] for trial in run.record.trials]


def told_of(run: api.Run, kind: str) -> list[dict[str, Any]]:
    """The lines of its journal of one kind."""
    return [line for line in run.record.journal if line["kind"] == kind]
