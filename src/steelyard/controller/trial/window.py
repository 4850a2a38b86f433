"""The time in which all copies of a workload worked, and what they did in it.

Rates of copies that began or ended at different times do not add up: whoever works alone has the system for
itself, and the sum of such rates is more than the system ever did at once. Nor does all work over the time
from the first start to the last end tell: that counts starting and tailing off as the system's slowness. What
holds is the rate over the common window. So a copy's rate is taken times how its own time series went in that
window over how it went as a whole, which keeps what the tool means by its figure (as the receiver saw it, a
warm-up left out). Where a tool tells no time series the sum stays, and a warning says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from steelyard.model.metric import Mark, Metric, SeriesSample

TOLERANCE = 0.05
"""Share of the time by which copies may differ and their rates still add up."""


class Span(NamedTuple):
    """From a moment to another, in seconds on our clock."""

    begin: float
    end: float

    @property
    def length(self) -> float:
        """In seconds; 0 where it ends before it begins."""
        return max(0.0, self.end - self.begin)


@dataclass(frozen=True, slots=True)
class Window:
    """When copies worked, on our clock: each by itself, all at once, and from the first start to the end.

    `common` ends before it begins where there was no such time. `series`: the samples of each copy, where the
    tool of all of them tells any. `summed_rates`: the rates of which it tells none.
    """

    spans: Mapping[str, Span]
    series: Mapping[str, Sequence[SeriesSample]]
    common: Span
    whole: Span
    summed_rates: tuple[str, ...]

    @classmethod
    def of(
        cls, rates: Iterable[str], processes: Mapping[str, Span], series: Mapping[str, Sequence[SeriesSample]]
    ) -> Window:
        """By the samples where every copy has some, else by the processes, which also start and end."""
        known = series if all(series.get(name) for name in processes) else {}
        spans = {name: _span(samples) for name, samples in known.items()} or processes
        begins, ends = [span.begin for span in spans.values()], [span.end for span in spans.values()]
        told = {name for samples in known.values() for sample in samples for name in sample.values}
        summed = tuple(name for name in rates if name not in told)
        return cls(spans, known, Span(max(begins), min(ends)), Span(min(begins), max(ends)), summed)

    @property
    def is_staggered(self) -> bool:
        """Whether copies worked at times so different that their rates do not add up."""
        return self.common.length < (1 - TOLERANCE) * self.whole.length

    def factor(self, copy: str, metric: str) -> float:
        """A copy's rate in the common window over its rate as a whole; 1 where that is not known."""
        if not self.is_staggered or not self.series:
            return 1.0
        whole = _mean(self.series[copy], metric, self.spans[copy])
        common = _mean(self.series[copy], metric, self.common)
        return common / whole if whole and common is not None else 1.0

    def facts(self) -> dict[str, Any]:
        """For the record."""
        by = "samples" if self.series else "processes"
        return {"common": self.common.length, "whole": self.whole.length, "by": by}

    def marks(self) -> tuple[Mark, ...]:
        """Incomplete, where samples show that copies never worked all at once."""
        if not self.series or self.common.length:
            return ()
        first = min(self.spans, key=lambda name: self.spans[name].end)
        last = max(self.spans, key=lambda name: self.spans[name].begin)
        reason = f"{first} ended before {last} began: no rate covers all copies at once"
        return (Mark("incomplete", reason),)

    def warnings(self) -> list[str]:
        """Which rates say too much, as copies worked at different times."""
        if not (self.is_staggered and self.summed_rates):
            return []
        rates = ", ".join(self.summed_rates)
        return [
            f"in some trials copies began or ended at different times: {rates} of all is "
            "the sum of each copy's own rate, which may exceed what all achieved at once"
        ]


def is_shared(metric: Metric) -> bool:
    """Whether it is a rate of which that of all copies is the sum."""
    return metric.kind == "scalar" and metric.over_copies == "sum" and metric.is_rate


def _span(series: Sequence[SeriesSample]) -> Span:
    return Span(series[0].at - series[0].length, series[-1].at)


def _mean(series: Iterable[SeriesSample], metric: str, span: Span) -> float | None:
    """Over the samples within a span, each by how much of it lies there; None without any."""
    amount = covered = 0.0
    for sample in series:
        within = min(sample.at, span.end) - max(sample.at - sample.length, span.begin)
        if within > 0 and metric in sample.values:
            amount += sample.values[metric] * within
            covered += within
    return amount / covered if covered else None
