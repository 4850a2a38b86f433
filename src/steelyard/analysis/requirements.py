"""Whether requirements hold, decided by intervals: met, not met, undecided, missing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal

from steelyard.analysis.cell_metric import CellMetric, explain_too_few
from steelyard.analysis.damage import guard_record
from steelyard.analysis.summary import CellSummary, RunSummary
from steelyard.errors import StoreError, UsageError
from steelyard.model.expression import Expression, ExpressionError
from steelyard.model.keys.requirement import Requirement
from steelyard.model.metric import Metric, OverRepetitions
from steelyard.model.trial import Cell, Result
from steelyard.stats.condition import is_failure, judge_level
from steelyard.stats.interval import Interval, mean_interval
from steelyard.stats.outliers import screen
from steelyard.stats.summary import Summary
from steelyard.store.reader import RunRecord


class RequirementVerdict(StrEnum):
    """The words of a requirement."""

    MET = "met"
    NOT_MET = "not met"
    UNDECIDED = "undecided"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Ruling:
    """A requirement in one cell. `value` and `interval` are what it was decided by, in the metric's unit.

    `note` is a sentence: why it is undecided or missing, or what else a reader should know. `disturbance`
    says what disturbed the trials where all decided, as too few counted; `is_disturbance_sensitive` that it
    is open because disturbed trials would turn it.
    """

    cell: Cell
    verdict: RequirementVerdict
    value: float | None
    interval: Interval | None
    note: str
    disturbance: str = ""
    is_disturbance_sensitive: bool = False


@dataclass(frozen=True, slots=True)
class JudgedRequirement:
    """A requirement and its ruling in every cell that it applies to. `metric` is None when undeclared.

    With `against` it is on a ratio to other cells: `metric` is then that ratio.
    """

    requirement: Requirement
    over: OverRepetitions
    where: str
    metric: Metric | None
    rulings: tuple[Ruling, ...]
    against: str = ""

    @property
    def sentence(self) -> str:
        """The requirement with its conditions."""
        where = f" where {self.where}" if self.where else ""
        return self.requirement.text + where + (f" against {self.against}" if self.against else "")

    def select_rulings(self, *verdicts: RequirementVerdict) -> list[Ruling]:
        """The rulings with one of these verdicts."""
        return [ruling for ruling in self.rulings if ruling.verdict in verdicts]

    @property
    def verdict(self) -> RequirementVerdict:
        """Over all cells, the worst first: not met, missing, undecided, met. Missing without any cell."""
        verdicts = {ruling.verdict for ruling in self.rulings}
        order = (
            RequirementVerdict.NOT_MET,
            RequirementVerdict.MISSING,
            RequirementVerdict.UNDECIDED,
            RequirementVerdict.MET,
        )
        return next((verdict for verdict in order if verdict in verdicts), RequirementVerdict.MISSING)

    def is_failed(self, undecided: Literal["fail", "pass"] = "fail") -> bool:
        """Whether it counts as not met. Undecided and missing do, unless they are told to pass."""
        if undecided == "pass":
            return self.verdict is RequirementVerdict.NOT_MET
        return self.verdict is not RequirementVerdict.MET


def has_failed_requirements(
    judged: Iterable[JudgedRequirement], undecided: Literal["fail", "pass"] = "fail"
) -> bool:
    """Whether any requirement counts as not met, which is exit code 1."""
    return any(one.is_failed(undecided) for one in judged)


def judge(record: RunRecord, summary: RunSummary) -> tuple[JudgedRequirement, ...]:
    """Judge all requirements of a run, in the order of its file.

    What decides: for `median` the order-statistic interval, for `mean` Student's t, both of the values that
    the outlier policy keeps; an interval that straddles the bound, or is missing, leaves it undecided. For
    `min` and `max` the extreme value itself among all poolable ones, set aside or not, because a policy must
    not hide the failure that a requirement forbids. `==` and `!=` compare the statistic itself, as no
    interval can prove equality. A trial has one value per metric, merged over its copies already.

    A trial that failed is worse than any figure, as in a search for a limit (`stats.condition`): the ends of
    an order-statistic interval can be failures, and one is enough to miss any other requirement. Failures of
    host, disk, tool or store say nothing of the cell, and do not count.

    A verdict must not hang on disturbed trials: where it would be the opposite with them, it is undecided.
    Where none counts, or too few for an interval, all trials decide, and the ruling says so.

    Raises StoreError when the recorded requirements cannot be read.
    """
    with guard_record(summary.run):
        return tuple(_judge_requirement(entry, record, summary) for entry in record.design.get("require", ()))


def _judge_requirement(entry: Mapping[str, Any], record: RunRecord, summary: RunSummary) -> JudgedRequirement:
    where = str(entry.get("where") or "")
    requirement, condition = _parse_entry(str(entry["text"]), where, summary.run)
    metric = record.metrics.get(requirement.metric)
    over = requirement.over_repetitions or (metric.over_repetitions if metric else "median")
    if against := str(entry.get("against") or ""):
        from steelyard.analysis.ratio import judge_ratio  # comparing loads numpy, which few runs need

        return judge_ratio(JudgedRequirement(requirement, over, where, metric, (), against), record, summary)
    rulings = (_ruling(requirement, over, cell, condition) for cell in summary.cells)
    return JudgedRequirement(requirement, over, where, metric, tuple(ruling for ruling in rulings if ruling))


def _parse_entry(text: str, where: str, run: str) -> tuple[Requirement, Expression | None]:
    """A recorded requirement and its condition. Raises StoreError."""
    try:
        return Requirement.parse(text), Expression.parse(where) if where else None
    except (UsageError, ExpressionError) as error:
        raise StoreError(f"run {run}: cannot read a recorded requirement: {error}") from error


def _ruling(
    requirement: Requirement, over: OverRepetitions, cell: CellSummary, condition: Expression | None
) -> Ruling | None:
    """The ruling; None where the requirement does not apply."""
    try:
        if condition and not condition.value(cell.cell.parameters):
            return None
    except ExpressionError as error:
        return Ruling(
            cell.cell, RequirementVerdict.UNDECIDED, None, None, f"cannot evaluate `where`: {error.message}"
        )
    measured = cell.metrics.get(requirement.metric)
    if measured is None:
        return Ruling(
            cell.cell, RequirementVerdict.MISSING, None, None, f"there is no metric {requirement.metric}"
        )
    ruling = apply_sample_limits(
        _decide(replace(requirement, over_repetitions=over), cell, measured), measured
    )
    return _apply_bounds(ruling, requirement) if measured.is_upper_bound else ruling


def _decide(requirement: Requirement, cell: CellSummary, measured: CellMetric) -> Ruling:
    """By the trials that count and, where these are too few, by all; open where the two disagree."""
    counted = [trial.result for trial in cell.trials if trial.result.is_poolable or is_failure(trial.result)]
    own = measured.summary or measured.quick_summary
    ruling, few = _judge_results(requirement, cell, counted, measured.values, own, measured.reason)
    if (everything := measured.with_disturbed) is None:
        return ruling
    disturbed = [replace(trial.result, marks=()) for trial in cell.trials if trial.result.is_disturbed]
    other, _ = _judge_results(
        requirement, cell, counted + disturbed, everything.values, everything.summary, ""
    )
    if few:
        note = f"decided by all {everything.summary.n_total} trials, {everything.disturbance}"
        return replace(
            other, note="; ".join(filter(None, (note, other.note))), disturbance=everything.disturbance
        )
    return reconcile(ruling, other, everything.disturbance)


def apply_sample_limits(ruling: Ruling, measured: CellMetric) -> Ruling:
    """A quantile that some trials have too few samples for cannot be met by those that have enough."""
    if not measured.short_sample_counts or ruling.value is None:
        return ruling
    verdict = RequirementVerdict.UNDECIDED if ruling.verdict is RequirementVerdict.MET else ruling.verdict
    note = "; ".join(
        filter(None, (explain_too_few(measured.metric, measured.short_sample_counts), ruling.note))
    )
    return replace(ruling, verdict=verdict, note=note)


def _apply_bounds(ruling: Ruling, requirement: Requirement) -> Ruling:
    """What is at most so much can meet an upper limit and miss a lower one, and decides nothing else."""
    proven = {
        "<": RequirementVerdict.MET,
        "<=": RequirementVerdict.MET,
        ">": RequirementVerdict.NOT_MET,
        ">=": RequirementVerdict.NOT_MET,
    }
    if ruling.value is None or ruling.verdict is proven.get(requirement.operator):
        return ruling
    note = f"only an upper bound of {requirement.metric} is known"
    return replace(
        ruling, verdict=RequirementVerdict.UNDECIDED, note="; ".join(filter(None, (note, ruling.note)))
    )


def reconcile(ruling: Ruling, other: Ruling, under: str) -> Ruling:
    """What is met by the trials that count and not met by all of them, or the other way round, is open."""
    if {ruling.verdict, other.verdict} != {RequirementVerdict.MET, RequirementVerdict.NOT_MET}:
        return ruling
    note = f"depends on disturbed trials: {ruling.verdict} without them, {other.verdict} with them, {under}"
    return replace(ruling, verdict=RequirementVerdict.UNDECIDED, note=note, is_disturbance_sensitive=True)


def _judge_results(
    requirement: Requirement,
    cell: CellSummary,
    results: list[Result],
    values: tuple[float, ...],
    summary: Summary | None,
    reason: str,
) -> tuple[Ruling, bool]:
    """What these results say, and whether they are none, or too few for an interval."""
    if failed := sum(is_failure(result) for result in results):
        return _judge_failures(requirement, cell, results, failed)
    if summary is None:
        return Ruling(cell.cell, RequirementVerdict.MISSING, None, None, reason), True
    over = requirement.over_repetitions or "median"
    value, interval = _select_statistic(values, summary, over)
    verdict, note = _verdict(requirement, over, value, interval)
    few = verdict is RequirementVerdict.UNDECIDED and interval is None
    if few and over == "median":
        note = summary.interval_reason
    left_out = _describe_left_out(cell, 0, len(results))
    return Ruling(cell.cell, verdict, value, interval, "; ".join(filter(None, (note, left_out)))), few


def _judge_failures(
    requirement: Requirement, cell: CellSummary, results: list[Result], failed: int
) -> tuple[Ruling, bool]:
    """Figures that are failures are not shown. Equality is proven by no failure, and nor is its absence."""
    level = judge_level(requirement, results)
    unequal = requirement.operator in ("==", "!=")
    met = False if unequal else level.met
    verdict = (
        RequirementVerdict.UNDECIDED
        if met is None
        else RequirementVerdict.MET
        if met
        else RequirementVerdict.NOT_MET
    )
    ends = (level.interval.low, level.interval.high) if level.interval else (math.inf,)
    value = level.value if level.value is not None and math.isfinite(level.value) else None
    shown = level.interval if all(map(math.isfinite, ends)) else None
    note = f"{failed} of {level.n} trials failed, which is worse than any figure"
    left_out = _describe_left_out(cell, failed, len(results))
    ruling = Ruling(cell.cell, verdict, value, shown, "; ".join(filter(None, (note, left_out))))
    return ruling, met is None and level.interval is None


def _select_statistic(
    values: tuple[float, ...], summary: Summary, over: OverRepetitions
) -> tuple[float, Interval | None]:
    match over:
        case "min":
            return min(values), None
        case "max":
            return max(values), None
        case "mean":
            return summary.mean, mean_interval(screen(values, summary.outliers).kept)
    return summary.median, summary.interval


def _verdict(
    requirement: Requirement, over: OverRepetitions, value: float, interval: Interval | None
) -> tuple[RequirementVerdict, str]:
    if over in ("min", "max") or requirement.operator in ("==", "!="):
        return (RequirementVerdict.MET if requirement.is_met(value) else RequirementVerdict.NOT_MET), ""
    if interval is None:
        return RequirementVerdict.UNDECIDED, "one trial has no interval"
    holds = requirement.is_met_between(interval.low, interval.high)
    if holds is None:
        return RequirementVerdict.UNDECIDED, "the interval contains the bound"
    return (RequirementVerdict.MET if holds else RequirementVerdict.NOT_MET), ""


def _describe_left_out(cell: CellSummary, failed: int, counted: int) -> str:
    """A verdict over fewer trials than were made says so; so many count, of which so many `failed`."""
    failures = cell.failures - failed
    marks = len(cell.trials) - counted - failures
    parts = [f"{count} {fate}" for count, fate in ((failures, "failed"), (marks, "marked")) if count > 0]
    return f"not counted: {', '.join(parts)}" if parts else ""
