"""What the load driver's output means in metrics, and as series over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from steelyard.model.metric import QUANTILES, Mark, Metric, Reading, SeriesSample, latency_metrics
from steelyard.stats.histogram import Histogram
from steelyard.workloads.kit.load.options import LoadOptions
from steelyard.workloads.kit.load.output import DELAY, LoadInterval, LoadOutput

_NOTICEABLE = 1e-3  # seconds of the driver's own delay
_SHARE = 0.1  # of a latency, which the driver's own delay may make up


@dataclass(frozen=True, slots=True)
class LoadFigures:
    """Of a workload's kinds of request, each with what it is; `carrying` are those that carry data."""

    options: LoadOptions
    kinds: Mapping[str, str]
    carrying: frozenset[str] = frozenset()

    @property
    def is_open(self) -> bool:
        """Whether requests are due at instants."""
        return self.options.rate is not None

    def metrics(self) -> tuple[Metric, ...]:
        """At a rate, latencies from when a request was due lead: users feel those."""
        return (
            *(metric for kind in self.kinds for metric in self._scheduled_metrics(kind)),
            Metric("throughput", "1/s", "higher", "successful operations per second"),
            *([Metric("bandwidth", "B/s", "higher", "data transferred per second")] if self.carrying else []),
            Metric("success_ratio", "%", "higher", "share of operations that succeeded", over_copies="mean"),
            *(metric for kind in self.kinds for metric in self._kind_metrics(kind)),
            *(self._pace_metrics() if self.is_open else ()),
        )

    def reading(self, result: LoadOutput) -> Reading:
        """Values and histograms, and a mark where the driver was late itself."""
        values = self._totals(result)
        histograms = {}
        for name, log in self._logs():
            histogram = result.histogram(log)
            values |= _quantiles(name, histogram)
            histograms[name] = dict(histogram.bins)
        for kind in self.kinds:
            values |= self._kind_values(kind, result)
        if self.is_open:
            values |= self._pace_values(result, values["throughput"])
        marks = tuple(self._find_marks(result)) if self.is_open else ()
        return Reading(values, histograms, marks, _facts(result))

    def series(self, result: LoadOutput) -> tuple[SeriesSample, ...]:
        """The intervals; a last one that is much shorter is left out."""
        return tuple(
            SeriesSample(interval.at, interval.seconds, dict(self._interval_values(result, interval)))
            for interval in result.intervals
            if not interval.drains and interval.seconds >= self.options.interval / 2
        )

    def _logs(self) -> Iterator[tuple[str, str]]:
        for kind in self.kinds:
            if self.is_open:
                yield f"{kind}_scheduled", f"{kind}-scheduled"
            yield kind, kind
        if self.is_open:
            yield "driver_delay", DELAY

    def _scheduled_metrics(self, kind: str) -> tuple[Metric, ...]:
        about = f"time of {self.kinds[kind]}, from when it was due"
        return latency_metrics(f"{kind}_scheduled", about) if self.is_open else ()

    def _kind_metrics(self, kind: str) -> Iterator[Metric]:
        title, late = self.kinds[kind], self.is_open
        yield from latency_metrics(kind, f"time of {title}", secondary=late)
        mean, longest = f"mean time of {title}", f"longest time of {title}"
        yield Metric(f"{kind}_mean", "s", "lower", mean, over_copies="mean", secondary=late)
        yield Metric(f"{kind}_max", "s", "lower", longest, over_copies="max", secondary=late)
        yield Metric(
            f"{kind}_throughput", "1/s", "higher", f"how often {title} succeeded per second", secondary=True
        )
        if kind in self.carrying:
            yield Metric(
                f"{kind}_bandwidth",
                "B/s",
                "higher",
                f"data transferred per second by {title}",
                secondary=True,
            )
        yield Metric(f"{kind}_failures", "1", "lower", f"how often {title} failed", secondary=True)

    def _pace_metrics(self) -> tuple[Metric, ...]:
        about = "how much later than possible the driver itself sent a request"
        return (
            Metric("rate_reached", "%", "higher", "throughput relative to the rate", over_copies="mean"),
            Metric(
                "waited",
                "1",
                "lower",
                "requests that were due while all connections were busy",
                secondary=True,
            ),
            Metric(
                "unsent", "1", "lower", "requests that were due, but not sent before the end", secondary=True
            ),
            *latency_metrics("driver_delay", about, secondary=True),
        )

    def _totals(self, result: LoadOutput) -> dict[str, float]:
        timely = [result.sum_counts(kind, drained=False) for kind in self.kinds]
        every = [result.sum_counts(kind) for kind in self.kinds]
        done, failed = sum(each.done for each in every), sum(each.failed for each in every)
        values = {
            "throughput": sum(each.done for each in timely) / result.seconds,
            "success_ratio": done / (done + failed) if done + failed else 0.0,
        }
        if self.carrying:
            values["bandwidth"] = sum(each.carried for each in timely) / result.seconds
        return values

    def _kind_values(self, kind: str, result: LoadOutput) -> dict[str, float]:
        timely, histogram = result.sum_counts(kind, drained=False), result.histogram(kind)
        values = {
            f"{kind}_throughput": timely.done / result.seconds,
            f"{kind}_failures": float(result.sum_counts(kind).failed),
        }
        if kind in self.carrying:
            values[f"{kind}_bandwidth"] = timely.carried / result.seconds
        if histogram.bins:
            values |= {f"{kind}_mean": histogram.mean, f"{kind}_max": histogram.quantile(1)}
        return values

    def _pace_values(self, result: LoadOutput, throughput: float) -> dict[str, float]:
        copy_rate = result.rate or throughput
        return {
            "rate_reached": throughput / copy_rate if copy_rate else 0.0,
            "waited": float(result.waited),
            "unsent": float(result.unsent),
        }

    def _interval_values(self, result: LoadOutput, interval: LoadInterval) -> Iterator[tuple[str, float]]:
        counts = [interval.kinds[kind] for kind in self.kinds if kind in interval.kinds]
        yield "throughput", sum(each.done for each in counts) / interval.seconds
        if self.carrying:
            yield "bandwidth", sum(each.carried for each in counts) / interval.seconds
        for name, log in self._logs():
            yield from _quantiles(name, result.histogram(log, interval)).items()
        for kind in self.kinds:
            if kind in interval.kinds:
                yield f"{kind}_failures", float(interval.kinds[kind].failed)

    def _find_marks(self, result: LoadOutput) -> Iterator[Mark]:
        """The driver's own delay is part of every latency; it must be a small part."""
        delays = result.histogram(DELAY)
        waits = Histogram.from_histograms(result.histogram(f"{kind}-scheduled") for kind in self.kinds)
        if not delays.bins or not waits.bins:
            return
        delay, whole = delays.quantile(QUANTILES["p99"]), waits.quantile(QUANTILES["p99"])
        if delay > max(_NOTICEABLE, _SHARE * whole):
            reason = (
                f"the load driver could not keep up: it sent 1 % of requests at least {delay * 1e3:.3g} ms "
                f"late, where 1 % took {whole * 1e3:.3g} ms or more; use more copies or a lower rate"
            )
            yield Mark("fallback", reason, "load driver late", delay, "s")


def _quantiles(name: str, histogram: Histogram) -> dict[str, float]:
    if not histogram.bins:
        return {}
    return {f"{name}_{label}": histogram.quantile(share) for label, share in QUANTILES.items()}


def _facts(result: LoadOutput) -> dict[str, object]:
    facts: dict[str, object] = {"version": result.version, "began": result.began}
    causes = {kind: dict(causes) for kind, causes in result.failures.items() if causes}
    return facts | ({"failures": causes} if causes else {})
