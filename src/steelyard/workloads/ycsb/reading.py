"""What YCSB's output means in metrics, and as series over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from steelyard.plugin import QUANTILES, Metric, ParseFailure, Reading, SeriesSample, latency_metrics
from steelyard.plugin.workload import Histogram
from steelyard.workloads.kit.hdr_log import LogInterval
from steelyard.workloads.ycsb.options import YcsbOptions
from steelyard.workloads.ycsb.output import OPERATIONS, StatusLine, YcsbOutput, sum_intervals

_MICRO = 1e6
_TITLES = {
    "read": "reading a record",
    "update": "writing a field of a record",
    "insert": "adding a record",
    "scan": "reading records in key order",
    "read_modify_write": "reading a record and writing a field of it",
}


@dataclass(frozen=True, slots=True)
class YcsbFigures:
    """What a phase gives: `load`, or `run`."""

    options: YcsbOptions
    phase: str

    def operations(self) -> tuple[str, ...]:
        """Those that are measured. YCSB also counts the two parts of a read-modify-write."""
        shares = self.options.shares
        if self.phase == "load":
            return ("insert",)
        asked = {name for name, weight in shares if weight}
        parts = {"read", "update"} if shares.read_modify_write else set()
        return tuple(name for name in OPERATIONS if name in asked | parts)

    def metrics(self) -> tuple[Metric, ...]:
        """All of the phase. With a rate, latencies from when an operation was due lead: users feel those."""
        reached = Metric(
            "rate_reached", "%", "higher", "throughput relative to the target rate", over_copies="mean"
        )
        wrong = Metric(
            "verify_failures", "1", "lower", "reads that returned something other than was written"
        )
        return (
            *(metric for name in self.operations() for metric in self._scheduled_metrics(name)),
            Metric("throughput", "1/s", "higher", "successful operations per second"),
            *(metric for name in self.operations() for metric in self._operation_metrics(name)),
            Metric("failed_share", "%", "lower", "share of operations that failed", over_copies="mean"),
            *((reached,) if self.options.rate else ()),
            *((wrong,) if self.options.verify and self.phase == "run" else ()),
        )

    def reading(self, found: YcsbOutput) -> Reading:
        """Values and histograms, without what is to be left out. Raises ParseFailure."""
        first = _find_first_status(found, self.options.omit if self.phase == "run" else 0)
        values: dict[str, float] = {}
        histograms: dict[str, Mapping[float, int]] = {}
        for name in self.operations():
            for metric, section in self._sections(name):
                bins = _histogram_since(found.logs.get(section, ()), first, self.options.interval)
                values |= _quantiles(metric, bins)
                histograms[metric] = dict(bins.bins)
            values |= self._counts(name, found, first)
        values["failed_share"] = failed = _failed_share(values)
        values["throughput"] = _attempt_rate(found, first) * (1 - failed)
        if found.target:
            values["rate_reached"] = values["throughput"] / found.target
        if self.options.verify and self.phase == "run":
            values["verify_failures"] = _count_wrong_reads(found)
        return Reading(values, histograms, facts=_facts(found))

    def series(self, found: YcsbOutput) -> tuple[SeriesSample, ...]:
        """The intervals between status lines, without what is to be left out. Raises ParseFailure.

        The first and the last may be short; those of less than half a step are left out, too.
        """
        first = _find_first_status(found, self.options.omit if self.phase == "run" else 0)
        lines = [line for line in found.statuses if first is None or line.at >= first.at]
        return tuple(
            SeriesSample(after.at, after.at - before.at, dict(self._interval_values(found, before, after)))
            for before, after in pairwise(lines)
            if after.at - before.at >= self.options.interval / 2
        )

    def _interval_values(
        self, found: YcsbOutput, before: StatusLine, after: StatusLine
    ) -> Iterator[tuple[str, float]]:
        length, lost = after.at - before.at, 0.0
        for name in self.operations():
            for metric, section in self._sections(name):
                bins = _histogram_between(found.logs.get(section, ()), before, after)
                yield from _quantiles(metric, bins).items()
                if bins.bins and metric == name:
                    yield f"{name}_max", bins.quantile(1)
            if name != "read_modify_write":
                failed = _histogram_between(found.logs.get(f"{OPERATIONS[name]}-FAILED", ()), before, after)
                yield f"{name}_failures", float(failed.count)
                lost += failed.count
        yield "throughput", max(0.0, after.operations - before.operations - lost) / length

    def _scheduled_metrics(self, name: str) -> tuple[Metric, ...]:
        about = f"time of {_TITLES[name]}, from its scheduled start"
        return latency_metrics(f"{name}_scheduled", about) if self.options.rate else ()

    def _operation_metrics(self, name: str) -> Iterator[Metric]:
        title, late = _TITLES[name], self.options.rate is not None
        yield from latency_metrics(name, f"time of {title}", secondary=late)
        mean, longest = f"mean time of {title}", f"longest time of {title}"
        yield Metric(f"{name}_mean", "s", "lower", mean, over_copies="mean", secondary=late)
        yield Metric(f"{name}_max", "s", "lower", longest, over_copies="max", secondary=late)
        yield Metric(f"{name}_count", "1", "none", f"how often {title} succeeded")
        if name != "read_modify_write":
            yield Metric(f"{name}_failures", "1", "lower", f"how often {title} failed")

    def _sections(self, name: str) -> Iterator[tuple[str, str]]:
        if self.options.rate:
            yield f"{name}_scheduled", f"Intended-{OPERATIONS[name]}"
        yield name, OPERATIONS[name]

    def _counts(self, name: str, found: YcsbOutput, first: StatusLine | None) -> dict[str, float]:
        section, step = OPERATIONS[name], self.options.interval
        bins = _histogram_since(found.logs.get(section, ()), first, step)
        values: dict[str, float] = {f"{name}_count": bins.count}
        if bins.bins:
            values |= {f"{name}_mean": bins.mean, f"{name}_max": bins.quantile(1)}
        if name != "read_modify_write":
            failed = found.logs.get(f"{section}-FAILED", ())
            values[f"{name}_failures"] = _histogram_since(failed, first, step).count
        return values


def _find_first_status(found: YcsbOutput, omit: float) -> StatusLine | None:
    """The status line from which on it counts; None for all."""
    if not omit:
        return None
    line = next((status for status in found.statuses[:-1] if status.elapsed >= omit), None)
    if line is None:
        raise ParseFailure(f"the run ended within the {omit:g} s to be omitted")
    return line


def _attempt_rate(found: YcsbOutput, first: StatusLine | None) -> float:
    """Operations per second, those that failed among them: YCSB does not tell them apart here."""
    if first is None:
        return found.throughput
    last = found.statuses[-1]
    if last.at <= first.at:
        raise ParseFailure("YCSB's status lines go back in time")
    return (last.operations - first.operations) / (last.at - first.at)


def _histogram_since(logs: tuple[LogInterval, ...], first: StatusLine | None, step: float) -> Histogram:
    """Logs begin a new interval with each status line, a moment later."""
    since = first.at - step / 2 if first else 0.0
    return Histogram.of(sum_intervals(log for log in logs if log.start >= since), divisor=_MICRO)


def _histogram_between(logs: tuple[LogInterval, ...], before: StatusLine, after: StatusLine) -> Histogram:
    """A log's interval ends a moment after the status line that ends it."""
    half = (after.at - before.at) / 2
    return Histogram.of(sum_intervals(log for log in logs if abs(log.end - after.at) < half), divisor=_MICRO)


def _quantiles(name: str, bins: Histogram) -> dict[str, float]:
    if not bins.bins:
        return {}
    return {f"{name}_{label}": bins.quantile(share) for label, share in QUANTILES.items()}


def _failed_share(values: Mapping[str, float]) -> float:
    """Over all tries; both parts of a read-modify-write are there, so that it itself is not counted."""
    failed = sum(value for name, value in values.items() if name.endswith("_failures"))
    well = sum(values.get(f"{name}_count", 0.0) for name in OPERATIONS if name != "read_modify_write")
    return failed / (failed + well) if failed else 0.0


def _count_wrong_reads(found: YcsbOutput) -> float:
    verified = found.summary.get("VERIFY", {})
    return found.count("READ") - verified.get("Return=OK", 0.0)


def _facts(found: YcsbOutput) -> dict[str, object]:
    facts: dict[str, object] = {
        "version": found.version,
        "began": found.statuses[0].at,
        "garbage_collection_seconds": found.summary.get("TOTAL_GC_TIME", {}).get("Time(ms)", 0.0) / 1e3,
    }
    return facts | ({"reasons": list(found.reasons)} if found.reasons else {})
