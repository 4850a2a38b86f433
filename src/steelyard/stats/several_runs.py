"""Several runs a side: a comparison that takes in how runs differ, and not only the trials of one.

A run has a state that all its trials share: where its pages lie, how the linker laid it out, what else the
machine does today. More trials tell more of that state, and nothing of the next run's. So a run counts once,
by the median of its trials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard.stats.comparison import Better, Comparison, explain_no_ratio
from steelyard.stats.contrast import Contrast
from steelyard.stats.sample import check_values, median

Runs = Sequence[Sequence[float]]
OVER = "student t over runs"


def compare_several_runs(
    a: Runs, b: Runs, *, better: Better, failed: tuple[int, int] = (0, 0), confidence: float = 0.95
) -> Comparison:
    """Compare the runs of b with those of a, the baseline; a run is the values of its trials.

    The figures of a side are the geometric mean of its runs' medians, or the plain mean where values at or
    below zero occur. Intervals and p-value are Student's, of the logarithms of the runs' medians, with one
    variance of both sides: even one run can be set against several, whose spread is then taken for its own.
    Below 3 runs together there are neither. The medians hold what varies between runs and within them alike,
    as in the balanced designs of Kalibera & Jones, Rigorous Benchmarking in Reasonable Time (ISMM 2013),
    section 7. Drawing runs and then trials with replacement, as they also propose, was measured beside it and
    not taken: with as many runs as people make it raises too many false alarms, and the bootstrap's spread
    with Student's quantile too few (`tests/stats/test_several.py` has the figures).

    A trial that `failed` (of a, of b) counts as the worst value of any trial, for its run is not told here.
    Raises ValueError as `sample.check_values` does, and for a side without runs.
    """
    sides = [[check_values(run) for run in runs] for runs in (a, b)]
    first, second = ([value for run in runs for value in run] for runs in sides)
    reason = explain_no_ratio(first, second)
    medians = [[median(sorted(run)) for run in runs] for runs in _add_failures(sides, failed, better)]
    plain = Contrast.from_groups(*medians)
    logs = (
        plain if reason else Contrast.from_groups(*([math.log(value) for value in side] for side in medians))
    )
    shown = (lambda value: value) if reason else math.exp
    return Comparison(
        better=better,
        n_a=len(first),
        n_b=len(second),
        failed_a=failed[0],
        failed_b=failed[1],
        runs_a=len(a),
        runs_b=len(b),
        median_a=shown(logs.mean_a),
        median_b=shown(logs.mean_b),
        ratio=None if reason else math.exp(logs.difference),
        ratio_interval=None if reason else logs.interval(confidence, OVER, math.exp),
        ratio_reason=reason,
        difference=shown(logs.mean_b) - shown(logs.mean_a),
        difference_interval=plain.interval(confidence, OVER),
        p_value=logs.p_value,
        smallest_p=0.0,
        direction=logs.direction,
    )


def smallest_change_of_runs(a: Runs, b: Runs, *, better: Better, alpha: float) -> float | None:
    """The least change for the worse (0.05 is 5 %) that runs as different as these would have shown.

    None where there is no ratio, or nothing is known of how runs differ, and where 16 times would not do.
    """
    medians = [[median(sorted(check_values(run))) for run in side] for side in (a, b)]
    if explain_no_ratio(*medians):
        return None
    contrast = Contrast.from_groups(*([math.log(value) for value in side] for side in medians))
    return contrast.smallest_change(better, alpha)


def _add_failures(sides: Sequence[list[list[float]]], failed: tuple[int, int], better: Better) -> list[Runs]:
    """The runs of each side, with its failures as the worst of all values, dealt out to its runs in turn."""
    every = [value for runs in sides for run in runs for value in run]
    worst = min(every) if better == "higher" else max(every)
    return [
        [run + [worst] * len(range(place, count, len(runs))) for place, run in enumerate(runs)]
        for runs, count in zip(sides, failed, strict=True)
    ]
