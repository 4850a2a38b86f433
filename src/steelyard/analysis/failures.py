"""How many of all attempts of all copies failed, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.analysis.setters import FAILURE_RATE, is_failure_rate
from steelyard.analysis.summary import CellSummary, RunSummary
from steelyard.errors import UsageError
from steelyard.model.trial import Cell
from steelyard.stats.estimate import Estimate
from steelyard.stats.proportion import clopper_pearson
from steelyard.store.reader import TrialRecord

_SLACK = 1e-3


@dataclass(frozen=True, slots=True)
class Failures:
    """A cell: `failed` of `attempts` over all poolable trials. `lost` trials failed as a whole.

    Without counts both are None, and `share` is the mean of the trials' rates, without an interval.
    """

    cell: Cell
    n: int
    failed: int | None
    attempts: int | None
    share: Estimate
    lost: int


@dataclass(frozen=True, slots=True)
class FailureTable:
    """The failures of all measured cells; `metric` names the phase, too, where there are several."""

    metric: str
    rows: tuple[Failures, ...]


def failure_rates(summary: RunSummary) -> tuple[FailureTable, ...]:
    """The failure rates of all measured cells. Raises UsageError when no trial has one.

    A copy makes one attempt, or as many as its workload's fact `attempts` says (the files that it moves).
    The interval is Clopper and Pearson's over all of them. It takes attempts for independent; where a server
    refuses many at once they are not, and the interval is then too narrow.
    """
    names = [metric.name for metric in summary.metrics if is_failure_rate(metric.name)]
    tables = (
        FailureTable(name, tuple(one for cell in summary.cells if (one := _failures(cell, name))))
        for name in names
    )
    failure_tables = tuple(table for table in tables if table.rows)
    if not failure_tables:
        raise UsageError(f"no trial that counts has the metric '{FAILURE_RATE}'")
    return failure_tables


def _failures(cell: CellSummary, name: str) -> Failures | None:
    trials = [trial for trial in cell.trials if trial.result.is_poolable and name in trial.result.metrics]
    if not trials:
        return None
    counts = [_count_failed(trial, name) for trial in trials]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        mean = sum(trial.result.metrics[name] for trial in trials) / len(trials)
        share = Estimate(mean, None, "no interval: the number of attempts is not recorded")
        return Failures(cell.cell, len(trials), None, None, share, cell.failures)
    failed, attempts = sum(known), sum(map(_count_attempts, trials))
    share = Estimate(failed / attempts, clopper_pearson(failed, attempts))
    return Failures(cell.cell, len(trials), failed, attempts, share, cell.failures)


def _count_failed(trial: TrialRecord, name: str) -> int | None:
    """How many attempts failed; None where their number does not fit the rate."""
    attempts = _count_attempts(trial)
    count = trial.result.metrics[name] * attempts
    whole = round(count)
    return whole if abs(count - whole) <= _SLACK and 0 <= whole <= attempts else None


def _count_attempts(trial: TrialRecord) -> int:
    """The attempts of all copies together; facts stand by copy where there were several."""
    groups = [trial.facts, *(facts for facts in trial.facts.values() if isinstance(facts, Mapping))]
    counts = {facts["attempts"] for facts in groups if isinstance(facts.get("attempts"), int)}
    return trial.result.copies * (counts.pop() if len(counts) == 1 else 1)
