"""How long trials took in an earlier run of an experiment."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from steelyard.errors import StoreError
from steelyard.store.layout import Store
from steelyard.store.reader import RunRecord, glance


@dataclass(frozen=True, slots=True)
class TrialPace:
    """So many trials of a run took so many seconds each, in the mean."""

    run: str
    trials: int
    seconds: float


def find_pace(store: Store, experiment: str) -> TrialPace | None:
    """That of the newest run of an experiment in which a trial ended well; None without any."""
    for folder in reversed(store.list_runs()):
        known = glance(folder)
        if known.title != experiment or known.trials <= known.failed:
            continue
        try:
            took = [trial.result.seconds for trial in RunRecord(folder).trials if trial.result.status == "ok"]
        except StoreError:
            continue
        if took:
            return TrialPace(folder.id, len(took), statistics.fmean(took))
    return None
