"""How a run that is over stands, in one word: what its requirements and its own comparison say together."""

from __future__ import annotations

from typing import Literal

from steelyard.analysis.findings import Findings
from steelyard.analysis.requirements import RequirementVerdict, has_failed_requirements

Standing = Literal["passed", "not-met", "undecided", "failed"]


def judge_standing(findings: Findings) -> Standing:
    """`failed` where no trial counts; `not-met` for a requirement or the comparison; `undecided` where open.

    Raises StoreError as the findings do.
    """
    trials = findings.record.trials
    if trials and all(trial.result.status == "failed" for trial in trials):
        return "failed"
    verdicts = {ruling.verdict for one in findings.requirements for ruling in one.rulings}
    passes = findings.comparison is None or findings.comparison.is_passing
    if not passes or RequirementVerdict.NOT_MET in verdicts:
        return "not-met"
    if has_failed_requirements(findings.requirements):
        return "undecided"
    return "failed" if findings.summary.has_no_pooled_trials else "passed"
