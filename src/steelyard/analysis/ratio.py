"""Requirements on a ratio: cells against those that are alike but for what the requirement names."""

from __future__ import annotations

from dataclasses import replace

from steelyard.analysis.comparison.samples import Samples
from steelyard.analysis.comparison.sides import Pair, is_blocked
from steelyard.analysis.requirements import (
    JudgedRequirement,
    RequirementVerdict,
    Ruling,
    apply_sample_limits,
    reconcile,
)
from steelyard.analysis.summary import CellSummary, RunSummary
from steelyard.errors import StoreError
from steelyard.model.counterpart import Counterpart, against_counterparts
from steelyard.model.expression import ExpressionError
from steelyard.model.keys.requirement import Requirement
from steelyard.stats.verdict import describe_sizes
from steelyard.store.reader import RunRecord


def judge_ratio(asked: JudgedRequirement, record: RunRecord, summary: RunSummary) -> JudgedRequirement:
    """A ruling for each cell of `where`. Its value is the ratio to its like of `against`, 1.05 for 105 %.

    The ratio and its interval are those of a comparison: of pairs where the trials were made side by side
    (`stats.pairs`), else of the medians. All cells must hold, so no correction for their number is needed.
    Raises StoreError where a condition suits no cell's levels.
    """
    cells = {cell.cell.key: cell for cell in summary.cells}
    every = [cell.cell for cell in summary.cells]
    try:
        counterparts = list(against_counterparts(every, asked.where, asked.against))
    except ExpressionError as error:
        message = f"run {summary.run}: cannot determine the cells of a recorded requirement: {error}"
        raise StoreError(message) from error
    rulings = tuple(_ruling(asked.requirement, one, cells, is_blocked(record)) for one in counterparts)
    return replace(asked, metric=asked.metric and replace(asked.metric, unit="%"), rulings=rulings)


def _ruling(
    requirement: Requirement, one: Counterpart, cells: dict[str, CellSummary], blocked: bool
) -> Ruling:
    missing = Ruling(one.cell, RequirementVerdict.MISSING, None, None, "")
    if len(one.others) != 1:
        return replace(missing, note=f"`against` matches {len(one.others)} cells for it, but must match one")
    cell, other = cells[one.cell.key], cells[one.others[0].key]
    if requirement.metric not in cell.metrics:
        return replace(missing, note=f"there is no metric {requirement.metric}")
    measured = cell.metrics[requirement.metric]
    pair = Pair(one.cell, (other,), (cell,), blocked)
    samples = Samples.of(measured.metric, pair, failures=True)
    if side := samples.empty_side:
        empty = other if side == "a" else cell
        return replace(missing, note=f"{empty.cell.key}: {empty.metrics[requirement.metric].reason}")
    ruling = _decide(requirement, missing, samples)
    if samples.everything:
        sides = [each for each in (measured, other.metrics[requirement.metric]) if each.with_disturbed]
        under = " and ".join(each.with_disturbed.disturbance for each in sides if each.with_disturbed)
        ruling = reconcile(ruling, _decide(requirement, missing, samples.everything), under)
    return apply_sample_limits(apply_sample_limits(ruling, measured), other.metrics[requirement.metric])


def _decide(requirement: Requirement, empty: Ruling, samples: Samples) -> Ruling:
    """By the interval. Failures are in none: more than on the other side leave it open at best."""
    comparison = samples.compare()
    decided = replace(
        empty, value=comparison.ratio, interval=comparison.ratio_interval, disturbance=samples.disturbance
    )
    if comparison.median_b is None:
        return replace(decided, verdict=RequirementVerdict.NOT_MET, note="all its trials failed")
    interval = comparison.ratio_interval
    if interval is None:
        reason = comparison.ratio_reason or f"{describe_sizes(comparison)}; at least 6 each are needed"
        return replace(decided, verdict=RequirementVerdict.UNDECIDED, note=reason)
    holds = requirement.is_met_between(interval.low, interval.high)
    how = f"{comparison.n_a} pairs" if comparison.paired else f"{describe_sizes(comparison)}, not in pairs"
    if holds and comparison.failed_b > comparison.failed_a:
        return replace(
            decided, verdict=RequirementVerdict.UNDECIDED, note=f"{how}; no interval includes failures"
        )
    if holds is None:
        return replace(
            decided, verdict=RequirementVerdict.UNDECIDED, note=f"{how}; the interval contains the bound"
        )
    return replace(decided, verdict=RequirementVerdict.MET if holds else RequirementVerdict.NOT_MET, note=how)
