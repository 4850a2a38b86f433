"""Two samples that were measured side by side: a comparison of their pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard.stats.comparison import Better, Comparison, explain_no_ratio
from steelyard.stats.contrast import Contrast
from steelyard.stats.sample import check_values

OVER = "student t over pairs"


def compare_pairs(
    a: Sequence[float], b: Sequence[float], *, better: Better, confidence: float = 0.95
) -> Comparison:
    """Compare b with a, the baseline, of which each value was measured beside its like of b.

    The figures of a side are geometric means, `ratio` is that of the pairs' ratios, and interval and p-value
    are Student's of their logarithms; where values at or below zero occur, all is of plain values. What a
    pair shares, as the state of the machine while a block was measured, is in neither: pairs tell programs
    apart that scatter more over the blocks than they differ.

    Student's test and no rank test, since six pairs have but 64 patterns of signs: the least p-value of a
    two-sided signed-rank or sign test is 1/32, so six pairs could judge one comparison and never two. Where
    nothing differs, the difference of two logarithms is symmetric whatever the distribution is, and there
    Student's test holds its rate: see `alarms.pairs` and `coverage.pairs` in `analysis/claims.json`.

    Source: Student, The Probable Error of a Mean, Biometrika 6 (1908), on pairs; blocks as in Box, Hunter &
    Hunter, Statistics for Experimenters, 2nd ed. (2005), chapter 3. Raises ValueError as
    `sample.check_values` does, and for unequal numbers.
    """
    first, second = check_values(a), check_values(b)
    reason = explain_no_ratio(first, second)
    plain = Contrast.from_pairs(first, second)
    tested, shown = (plain, float) if reason else (_contrast_logs(first, second), math.exp)
    return Comparison(
        better=better,
        n_a=len(first),
        n_b=len(second),
        failed_a=0,
        failed_b=0,
        runs_a=1,
        runs_b=1,
        median_a=shown(tested.mean_a),
        median_b=shown(tested.mean_b),
        ratio=None if reason else math.exp(tested.difference),
        ratio_interval=None if reason else tested.interval(confidence, OVER, math.exp),
        ratio_reason=reason,
        difference=plain.difference,
        difference_interval=plain.interval(confidence, OVER),
        p_value=tested.p_value,
        smallest_p=0.0,
        direction=tested.direction,
        paired=True,
    )


def smallest_change_of_pairs(
    a: Sequence[float], b: Sequence[float], *, better: Better, alpha: float
) -> float | None:
    """The least change for the worse (0.05 is 5 %) that pairs as scattered as these would have shown.

    None where there is no ratio, and where 16 times would not do.
    """
    first, second = check_values(a), check_values(b)
    if explain_no_ratio(first, second):
        return None
    return _contrast_logs(first, second).smallest_change(better, alpha)


def _contrast_logs(a: Sequence[float], b: Sequence[float]) -> Contrast:
    return Contrast.from_pairs([math.log(value) for value in a], [math.log(value) for value in b])
