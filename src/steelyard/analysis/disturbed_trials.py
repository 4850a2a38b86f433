"""What a cell says when its disturbed trials count, too, and what disturbed them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.model.metric import Mark, Metric
from steelyard.stats.outliers import Policy
from steelyard.stats.sample import median
from steelyard.stats.summary import Summary, summarise
from steelyard.store.reader import TrialRecord
from steelyard.units import show


@dataclass(frozen=True, slots=True)
class Cause:
    """What disturbed `trials` trials, and the median of how much, in `unit`; None where no mark tells."""

    what: str
    trials: int
    amount: float | None
    unit: str

    def __str__(self) -> str:
        """`steal, median 12 %`; `foreign CPU load, median 1.0 cores`, as cells alike are told in one line."""
        if self.amount is None:
            return self.what
        known = self.unit in ("%", "s")
        amount = show(self.amount, self.unit, digits=2) if known else f"{self.amount:.1f} {self.unit}"
        return f"{self.what}, median {amount}"


@dataclass(frozen=True, slots=True)
class AllTrials:
    """One metric over all trials that ended well, whether something else disturbed them or not.

    Those that fell back to something else than was asked, or are incomplete, answer another question and are
    not among them.
    """

    trials: tuple[int, ...]
    values: tuple[float, ...]
    summary: Summary
    causes: tuple[Cause, ...]

    @property
    def disturbance(self) -> str:
        """What disturbed them, the most frequent first: `under steal, median 12 %`."""
        return "under " + " and ".join(map(str, self.causes))


def summarise_all(metric: Metric, trials: Sequence[TrialRecord], policy: Policy) -> AllTrials | None:
    """The metric with disturbed trials; None where no disturbed trial has it, or a figure is absurd.

    None, too, where some have too few observations: the others alone would be the quick ones.
    """
    ended = [trial for trial in trials if trial.result.is_poolable or trial.result.is_disturbed]
    having = [trial for trial in ended if metric.name in trial.result.metrics]
    lacking = any(metric.name in trial.short for trial in ended)
    if lacking or all(trial.result.is_poolable for trial in having):
        return None
    values = tuple(trial.result.metrics[metric.name] for trial in having)
    try:
        summary = summarise(values, outliers=policy)
    except (ValueError, TypeError):
        return None
    return AllTrials(tuple(trial.number for trial in having), values, summary, find_causes(having))


def find_causes(trials: Iterable[TrialRecord]) -> tuple[Cause, ...]:
    """What disturbed these trials, the most frequent first."""
    marks_by_gist: dict[str, dict[int, list[Mark]]] = {}
    for trial in trials:
        for mark in trial.marks:
            marks_by_gist.setdefault(mark.gist, {}).setdefault(trial.number, []).append(mark)
    each = [_cause(what, list(by_trial.values())) for what, by_trial in marks_by_gist.items()]
    return tuple(sorted(each, key=lambda cause: -cause.trials))


def _cause(what: str, of_trials: Sequence[Sequence[Mark]]) -> Cause:
    """A trial on several machines counts once, with the worst of them."""
    known = [[mark.amount for mark in marks if mark.amount is not None] for marks in of_trials]
    amounts = sorted(max(amounts) for amounts in known if amounts)
    unit = next((mark.unit for marks in of_trials for mark in marks if mark.unit), "")
    return Cause(what, len(of_trials), median(amounts) if amounts else None, unit)
