"""From fio's result to a reading: metrics by direction, merged over jobs, and marks.

Bandwidth and I/Os per second are what all jobs moved over the time they took: jobs of one group run at the
same time and count with the longest, groups follow one another and count with their sum. Latencies are fio's
completion latencies (`clat`, from an I/O's submission to its completion) from its histogram bins, 1/64 wide;
the bins of all jobs are added, so that no percentile is ever averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.errors import NothingMeasured, ParseFailure
from steelyard.model.metric import Mark, Metric, Reading, latency_metrics
from steelyard.stats.histogram import Histogram
from steelyard.workloads.kit.fio import depth
from steelyard.workloads.kit.fio.output import FioFlow, FioJob, FioResult


@dataclass(frozen=True, slots=True)
class FioFigures:
    """What a phase gives: which directions, and how its metrics are called.

    `label` stands before every metric (`random_read_bandwidth`), `cpu` before those of the CPU. `job_names`
    names the fio jobs that count; empty: all. One direction alone may go without its name: `bandwidth`.
    """

    directions: tuple[str, ...]
    label: str = ""
    cpu: str = ""
    job_names: frozenset[str] = frozenset()
    is_named: bool = True

    def metrics(self) -> tuple[Metric, ...]:
        """All metrics that `reading` may give."""
        flows = [metric for way in self.directions for metric in _flow_metrics(self._begin(way), way)]
        return (*flows, *_cpu_metrics(self.cpu))

    def reading(self, result: FioResult) -> Reading:
        """The metrics, marks and facts of a result. Raises ParseFailure when a direction moved nothing."""
        jobs = [job for job in result.jobs if not self.job_names or job.name in self.job_names]
        _check_errors(jobs)
        flows = {self._begin(way): _flows(jobs, way) for way in self.directions}
        latencies = {f"{begin}latency": _merge_histograms(entry) for begin, entry in flows.items()}
        return Reading(
            values={**_rates(flows), **self._quantiles(latencies), **_cpu(self.cpu, jobs)},
            histograms={name: dict(entry.bins) for name, entry in latencies.items() if entry.bins},
            marks=(Mark("fallback", reason),) if (reason := depth.find_fallback(jobs)) else (),
            facts=facts(result.version, jobs),
        )

    def _begin(self, way: str) -> str:
        """What stands before the names of a direction's metrics."""
        return f"{self.label}{way}_" if self.is_named else self.label

    def _quantiles(self, latencies: Mapping[str, Histogram]) -> dict[str, float]:
        return {
            metric.name: latencies[metric.histogram].quantile(metric.quantile)
            for metric in self.metrics()
            if metric.histogram and metric.quantile is not None and latencies[metric.histogram].bins
        }


def _rates(flows: Mapping[str, Sequence[tuple[FioJob, FioFlow]]]) -> dict[str, float]:
    values = {}
    for begin, pairs in flows.items():
        seconds = _span((job.group, flow.seconds) for job, flow in pairs)
        values[f"{begin}bandwidth"] = sum(flow.bytes for _, flow in pairs) / seconds
        values[f"{begin}iops"] = sum(flow.ios for _, flow in pairs) / seconds
    return values


def _cpu(label: str, jobs: Sequence[FioJob]) -> dict[str, float]:
    seconds = _total(jobs)
    return {
        f"{label}cpu_user": sum(job.user for job in jobs) / seconds,
        f"{label}cpu_system": sum(job.system for job in jobs) / seconds,
    }


def facts(version: str, jobs: Sequence[FioJob]) -> dict[str, Any]:
    """What fio says it really did. Depths are means per process; see `depth`. Seconds and bytes."""
    mean_depth = depth.mean([each for job in jobs if (each := depth.measure(job))])
    return {
        "fio_version": version,
        "engine": _common_value([depth.engine(job) for job in jobs]),
        "direct": _common_value([depth.is_direct(job) for job in jobs]),
        "jobs": len(jobs),
        "asked_depth": mean_depth.asked,
        "achieved_depth": mean_depth.achieved,
        "attainable_depth": mean_depth.attainable,
        "submitting_share": mean_depth.submission_share,
        "depth_levels": _levels(jobs),
        "runtime": _total(jobs),
        "bytes": sum(flow.bytes for job in jobs for flow in job.flows.values()),
        "io_errors": sum(job.errors for job in jobs),
        "ios": sum(flow.ios for job in jobs for flow in job.flows.values()),
    }


def _flow_metrics(begin: str, way: str) -> tuple[Metric, ...]:
    return (
        Metric(f"{begin}bandwidth", "B/s", "higher", f"bytes per second, {way}"),
        Metric(f"{begin}iops", "1/s", "higher", f"I/O operations per second, {way}"),
        *latency_metrics(f"{begin}latency", f"completion latency of one {way} I/O"),
    )


def _cpu_metrics(label: str) -> tuple[Metric, ...]:
    about = "CPU time of fio's processes over the run time (100 % is one core), spent in {}"
    return (
        Metric(f"{label}cpu_user", "%", "lower", about.format("fio itself")),
        Metric(f"{label}cpu_system", "%", "lower", about.format("the kernel")),
    )


def _check_errors(jobs: Sequence[FioJob]) -> None:
    if not jobs:
        raise ParseFailure("fio's output lacks the measured job")
    for job in jobs:
        if job.error:
            raise ParseFailure(
                f"fio exited with 0, but its job '{job.name}' reports error number {job.error}"
            )


def _flows(jobs: Iterable[FioJob], way: str) -> list[tuple[FioJob, FioFlow]]:
    pairs = [(job, job.flows[way]) for job in jobs if way in job.flows]
    if not pairs:
        raise NothingMeasured(f"fio completed no {way}", longer="`duration`, or `runtime` of its job")
    if not _span((job.group, flow.seconds) for job, flow in pairs):
        raise ParseFailure(f"fio's {way} I/O took less than 1 ms, its time resolution; move more data")
    return pairs


def _span(times: Iterable[tuple[int, float]]) -> float:
    longest: dict[int, float] = {}
    for group, seconds in times:
        longest[group] = max(seconds, longest.get(group, 0.0))
    return sum(longest.values())


def _total(jobs: Iterable[FioJob]) -> float:
    return _span((job.group, flow.seconds) for job in jobs for flow in job.flows.values())


def _merge_histograms(flows: Iterable[tuple[FioJob, FioFlow]]) -> Histogram:
    return Histogram.from_histograms(Histogram.of(flow.bins) for _, flow in flows)


def _levels(jobs: Sequence[FioJob]) -> dict[str, float]:
    lows = sorted({low for job in jobs for low in job.levels})
    return {str(low): _mean([job.levels.get(low, 0.0) for job in jobs]) for low in lows}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _common_value(values: Sequence[Any]) -> Any:
    distinct = list(dict.fromkeys(values))
    return distinct[0] if len(distinct) == 1 else distinct
