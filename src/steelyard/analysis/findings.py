"""What analysis finds in a run, computed once: the terminal, reports, exports and Python all read it here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from steelyard.analysis.derived import DerivedResults, derive
from steelyard.analysis.over_time.drift import Drift, detect_drifts
from steelyard.analysis.requirements import JudgedRequirement, has_failed_requirements, judge
from steelyard.analysis.summary import RunSummary, summarise_run
from steelyard.stats.outliers import Policy
from steelyard.store.reader import RunRecord

if TYPE_CHECKING:
    from steelyard.analysis.comparison.gate import GatedComparison

Standing = Literal["passed", "not-met", "undecided", "failed"]
"""How a run that is over stands, in one word."""


@dataclass(frozen=True)
class Findings:
    """A record and what it comes to. A part is computed when somebody first reads it, and then kept.

    `outliers` overrides the policy that the experiment asked for; `metrics` name those to show, by default
    all, perhaps by patterns. Every part raises StoreError when the record is damaged.
    """

    record: RunRecord
    outliers: Policy | None = None
    metrics: Sequence[str] = ()

    @cached_property
    def summary(self) -> RunSummary:
        """The statistics of every cell and metric. Raises ValueError for an unknown policy."""
        return summarise_run(self.record, outliers=self.outliers)

    @cached_property
    def shown(self) -> RunSummary:
        """The summary with the metrics to show. Raises UnknownName."""
        return self.summary.filter_metrics(self.metrics)

    @cached_property
    def requirements(self) -> tuple[JudgedRequirement, ...]:
        """The experiment's requirements, judged."""
        return judge(self.record, self.summary)

    @cached_property
    def comparison(self) -> GatedComparison | None:
        """What the experiment's own `compare` says; None where it has none."""
        if not self.record.design.get("compare"):
            return None
        from steelyard.analysis.comparison.compare_levels import compare_within  # loads numpy

        return compare_within(self.record, self.summary)

    @property
    def has_only_failures(self) -> bool:
        """Whether not one trial gave a figure: the run was not carried out."""
        trials = self.record.trials
        return bool(trials) and all(trial.result.status == "failed" for trial in trials)

    def judge_standing(self, undecided: Literal["fail", "pass"] = "fail") -> Standing:
        """What requirements and comparison say together.

        `failed` where no trial counts, `not-met` for a requirement or the comparison, `undecided` where
        requirements are open that are not told to pass.
        """
        if self.has_only_failures:
            return "failed"
        passes = self.comparison is None or self.comparison.is_passing
        if not passes or has_failed_requirements(self.requirements, "pass"):
            return "not-met"
        if has_failed_requirements(self.requirements, undecided):
            return "undecided"
        return "failed" if self.summary.has_no_pooled_trials else "passed"

    @cached_property
    def derived(self) -> DerivedResults:
        """What the experiment asks to derive, or what its data support."""
        return derive(self.record, self.summary)

    @cached_property
    def drifts(self) -> tuple[Drift, ...]:
        """What drifts in the leading metrics."""
        return detect_drifts(self.shown, self.shown.leading)
