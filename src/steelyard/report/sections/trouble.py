"""Trials that do not count: each with its category, its reason, and where to look."""

from __future__ import annotations

from typing import NamedTuple

from steelyard.store.reader import RunRecord, TrialRecord

MOST_ROWS = 200
LONGEST = 1600
_EVIDENCE = ("stdout", "stderr")


class Case(NamedTuple):
    """A trial. `what` is `failed: crashed`, `disturbed` …; `evidence_files` are files in the run's folder."""

    number: int
    cell: str
    repetition: int
    what: str
    reason: str
    evidence_files: list[str]


class Trouble(NamedTuple):
    """`left_out` counts the cases beyond those shown."""

    cases: list[Case]
    left_out: int


def trouble(record: RunRecord) -> Trouble:
    """All trials that failed or are marked, in the order of their numbers."""
    trials = [trial for trial in record.trials if not trial.result.is_poolable]
    trials.sort(key=lambda trial: trial.number)
    return Trouble([_case(record, trial) for trial in trials[:MOST_ROWS]], max(0, len(trials) - MOST_ROWS))


def _case(record: RunRecord, trial: TrialRecord) -> Case:
    result = trial.result
    failed = result.status == "failed"
    kinds = list(dict.fromkeys(mark.kind for mark in trial.marks))
    reasons = [trial.message] if failed else []
    reasons += [mark.reason for mark in trial.marks]
    return Case(
        trial.number,
        result.trial.cell.key,
        result.trial.repetition,
        f"failed: {result.category}" if failed else ", ".join(kinds),
        "; ".join(reasons)[:LONGEST],
        evidence(record, trial.number),
    )


def evidence(record: RunRecord, number: int) -> list[str]:
    """The files that hold what a trial's commands said, relative to the run's folder; empty ones left out."""
    folder = record.folder.trial(number)
    paths = sorted(path for name in _EVIDENCE for path in folder.glob(f"*/*/{name}"))
    return [str(path.relative_to(record.folder.path)) for path in paths if path.stat().st_size]
