"""How the figures were made, in sentences that a reader needs to trust or doubt them."""

from __future__ import annotations

from steelyard.analysis.claims import format_by_kind, format_source, select_claims
from steelyard.analysis.overhead import Overhead
from steelyard.analysis.summary import RunSummary
from steelyard.report.sections.cautions import describe_early, describe_policy
from steelyard.report.wording import format_count, format_list
from steelyard.stats.interval import median_ranks
from steelyard.units import show

_POLICIES = {
    "none": "No outliers were set aside: the median and its interval hardly feel them.",
    "tukey": "Outliers by Tukey's fences were set aside: what lies more than 1.5 interquartile ranges outside"
    " the quartiles of its cell.",
    "mad": "Outliers by the median absolute deviation were set aside: what has a modified z-score over 3.5 in"
    " its cell.",
    "extremes": "The highest and the lowest value of each cell were set aside, from three values on.",
}
HOW_TO_READ = (
    "How to read an interval. `2.05 GiB/s [1.96, 2.11]` says: half of the trials of this cell reach 2.05"
    " GiB/s or more, and the true middle, which we would find with endless trials, lies between 1.96 and"
    " 2.11. It is the middle that lies there, not the next trial: single trials scatter more widely, as the"
    " dots show. Cells whose intervals lie far apart differ; where intervals overlap nothing is proven, and"
    " `steelyard compare` tests it between two runs. An interval knows nothing of what stayed the same during"
    " the whole run: of another disk, another day, another machine."
)


def method(summary: RunSummary) -> list[str]:
    """Paragraphs."""
    return [
        HOW_TO_READ,
        _intervals(summary),
        _outliers(summary),
        *([_sequential(summary)] if summary.sequential else []),
        "Trials that failed, that fell back to something else than was asked, or that were disturbed by"
        " something beside the workload are shown and never pooled with the others. Only where too few count"
        " for an interval the figures are of all trials, and say what disturbed them. Percentiles of latency"
        " over several trials come from their merged histograms; percentiles are never averaged.",
        *([_overhead(summary.overhead)] if summary.overhead else []),
    ]


def _intervals(summary: RunSummary) -> str:
    sizes = sorted({cell.n for cell in summary.cells if cell.n})
    achieved = [
        f"{100 * ranks.confidence:.1f} % for n={size}" for size in sizes[:6] if (ranks := median_ranks(size))
    ]
    held = select_claims("coverage.median")
    text = (
        "Intervals are those of the median by order statistics, exact whatever the distribution; their steps"
        " are coarse, so they hold more than the 95 % that they promise"
    )
    text += f" (by the binomial distribution {', '.join(achieved)})." if achieved else "."
    return text + (
        f" With a fixed number of repetitions that do not depend on each other, they held the median in"
        f" {format_by_kind(held)} {format_source(held)}."
        " They exist from six trials on. With fewer, `no 95 % interval, n=3` is printed instead: three values"
        " simply cannot say between which bounds the median lies with 95 % confidence, and a number in that"
        " place would be made up."
    )


def _outliers(summary: RunSummary) -> str:
    summaries = [one.summary for cell in summary.cells for one in cell.metrics.values() if one.summary]
    dropped, total = sum(one.dropped for one in summaries), sum(one.n_total for one in summaries)
    text = _POLICIES.get(summary.outliers, f"Outlier policy: {summary.outliers}.")
    if summary.outliers == "none":
        return text
    return (
        f"{text} That were {dropped} of {format_count(total, 'value')}; the charts still show them."
        f" In simulation, {describe_policy(summary.outliers)}."
    )


def _sequential(summary: RunSummary) -> str:
    held = select_claims("coverage.sequential")
    return (
        f"The number of repetitions was decided by the results: {summary.sequential}. Asking after every"
        " repetition favours samples that look calm by luck, so the stop is judged by a stricter interval"
        " than the one that is shown. Intervals of all cells under such a rule held the median in"
        f" {format_by_kind(held)} {format_source(held)}."
        f" Cells that stopped early are another matter: {describe_early()}."
        " Where values scatter widely, or about two modes, a cell that stops early is likely to owe it to"
        " luck, and no rule can tell. More `at_least` makes that rarer."
    )


def _overhead(found: Overhead) -> str:
    parts = [("the controller", found.controller)]
    if found.agents:
        parts.append(("its agents on the hosts", sum(found.agents.values())))
    used = " and ".join(
        f"{show(seconds, 's', digits=2)} of CPU time in {where}"
        f" ({show(found.of_a_core(seconds), '%', digits=2)} of one core)"
        for where, seconds in parts
    )
    text = f"Steelyard itself used {used} in {show(found.wall, 's', digits=2)}."
    if found.unknown:
        text += f" What its agent used is not known of {format_list(found.unknown, 6)}."
    if found.untold:
        text += f" {format_count(found.untold, 'session')} of the run told nothing of this."
    return text
