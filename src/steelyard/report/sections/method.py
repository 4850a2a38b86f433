"""How the figures were made, in sentences that a reader needs to trust or doubt them."""

from __future__ import annotations

from steelyard.analysis.claims import format_by_kind, format_source, select_claims
from steelyard.analysis.overhead import Overhead
from steelyard.analysis.summary import RunSummary
from steelyard.report.sections.cautions import describe_early_stops, describe_policy
from steelyard.report.wording import format_list
from steelyard.stats.interval import median_ranks
from steelyard.units import format_count, show

_POLICIES = {
    "none": "No outliers were set aside: they hardly affect the median and its interval.",
    "tukey": "Outliers by Tukey's fences were set aside: values more than 1.5 interquartile ranges outside"
    " the quartiles of its cell.",
    "mad": "Outliers by the median absolute deviation were set aside: values with a modified z-score over 3.5"
    " in their cell.",
    "extremes": "The highest and the lowest value of each cell with three or more values were set aside.",
}
HOW_TO_READ = (
    "How to read an interval. `2.05 GiB/s [1.96, 2.11]` means: half of the trials of this cell reach 2.05"
    " GiB/s or more, and the true median, which an unlimited number of trials would give, is between 1.96 and"
    " 2.11. This range is for the median, not for the next trial: single trials scatter more widely, as the"
    " dots show. Cells whose intervals are far apart differ; where intervals overlap, nothing is proven:"
    " test it between two runs with `steelyard compare`. An interval does not cover what stayed the same"
    " during the entire run: another disk, another day or another machine may give other figures."
)


def method(summary: RunSummary) -> list[str]:
    """Paragraphs."""
    return [
        HOW_TO_READ,
        _intervals(summary),
        _outliers(summary),
        *([_sequential(summary)] if summary.sequential else []),
        "Trials that failed, fell back to something other than requested, or were disturbed by something"
        " other than the workload are shown but never pooled with the others. Only where too few trials count"
        " for an interval are the figures those of all trials, with a note of what disturbed them. Latency"
        " percentiles over several trials come from their merged histograms; percentiles are never averaged.",
        *([_overhead(summary.overhead)] if summary.overhead else []),
    ]


def _intervals(summary: RunSummary) -> str:
    sizes = sorted({cell.n for cell in summary.cells if cell.n})
    achieved = [
        f"{100 * ranks.confidence:.1f} % for n={size}" for size in sizes[:6] if (ranks := median_ranks(size))
    ]
    held = select_claims("coverage.median")
    text = (
        "Intervals of the median use order statistics, which are exact for any distribution; their steps are"
        " coarse, so their coverage is higher than the nominal 95 %"
    )
    text += f" (by the binomial distribution {', '.join(achieved)})." if achieved else "."
    return text + (
        f" With a fixed number of independent repetitions, they contained the median in"
        f" {format_by_kind(held)} {format_source(held)}."
        " They require at least six trials. With fewer, `no 95 % interval, n=3` is printed instead: three"
        " values cannot bound the median with 95 % confidence, and any number printed there would be"
        " invented."
    )


def _outliers(summary: RunSummary) -> str:
    summaries = [one.summary for cell in summary.cells for one in cell.metrics.values() if one.summary]
    dropped, total = sum(one.dropped for one in summaries), sum(one.n_total for one in summaries)
    text = _POLICIES.get(summary.outliers, f"Outlier policy: {summary.outliers}.")
    if summary.outliers == "none":
        return text
    return (
        f"{text} This applies to {dropped} of {format_count(total, 'value')}; the charts still show them."
        f" In simulation, {describe_policy(summary.outliers)}."
    )


def _sequential(summary: RunSummary) -> str:
    held = select_claims("coverage.sequential")
    return (
        f"The results decided the number of repetitions: {summary.sequential}. Checking after every"
        " repetition favours samples that look stable by chance, so the decision to stop uses a stricter"
        " interval than the one shown. Intervals of all cells under such a rule contained the median in"
        f" {format_by_kind(held)} {format_source(held)}."
        f" Cells that stopped early differ: {describe_early_stops()}."
        " Where values scatter widely, or around two modes, a cell that stops early has probably done so by"
        " chance, and no rule can detect that. A higher `at_least` makes it rarer."
    )


def _overhead(found: Overhead) -> str:
    parts = [("the controller", found.controller)]
    if found.agents:
        parts.append(("its agents on the hosts", sum(found.agents.values())))
    used = " and ".join(
        f"{show(seconds, 's', digits=2)} of CPU time in {where}"
        f" ({show(found.core_share(seconds), '%', digits=2)} of one core)"
        for where, seconds in parts
    )
    text = f"Steelyard itself used {used} in {show(found.wall, 's', digits=2)}."
    if found.unknown:
        text += f" The agent's use is unknown for {format_list(found.unknown, 6)}."
    if found.untold:
        text += f" {format_count(found.untold, 'session')} of the run did not report this."
    return text
