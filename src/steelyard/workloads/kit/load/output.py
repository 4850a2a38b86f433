"""What the load driver prints and writes: a summary in JSON, and logs of latencies by kind of request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from steelyard.errors import ParseFailure
from steelyard.model.command import Output
from steelyard.stats.histogram import Histogram
from steelyard.workloads.kit.document import JsonNode, parse_document
from steelyard.workloads.kit.hdr_log import LogInterval, parse_intervals

DELAY = "driver-delay"
_TOOL = "steelyard-load"
_NANO = 1e9


@dataclass(frozen=True, slots=True)
class KindCounts:
    """Of a kind of request in an interval: how many succeeded and failed, and the bytes that they carried."""

    done: int
    failed: int
    carried: int

    @classmethod
    def of(cls, node: JsonNode) -> Self:
        """From the summary."""
        return cls(*(node.child(name).count() for name in ("done", "failed", "bytes")))


@dataclass(frozen=True, slots=True)
class LoadInterval:
    """When it ended, in seconds since 1970, and how long it was. `drains`: nothing new was sent any more."""

    at: float
    seconds: float
    drains: bool
    kinds: Mapping[str, KindCounts]

    @classmethod
    def of(cls, node: JsonNode) -> Self:
        """From the summary."""
        kinds = {name: KindCounts.of(counts) for name, counts in node.child("kinds").items()}
        drains = node.child("drain").value is True
        return cls(node.child("at").number(), node.child("seconds").number(), drains, kinds)


@dataclass(frozen=True, slots=True)
class LoadOutput:
    """Everything that one driver reported, without the intervals to be omitted.

    `waited` are the requests that were due while all connections were busy, `unsent` those of them that were
    never sent. `rate` is what this driver was told, 0 without. `failures` are causes by kind. `logs` are
    latencies, from when a request was due (`read-scheduled`) and from when it was sent (`read`).
    """

    version: str
    began: float
    rate: float
    waited: int
    unsent: int
    intervals: tuple[LoadInterval, ...]
    failures: Mapping[str, Mapping[str, int]]
    logs: Mapping[str, tuple[LogInterval, ...]]

    def histogram(self, name: str, within: LoadInterval | None = None) -> Histogram:
        """Latencies in seconds, of all intervals or of one."""
        logs: Iterable[LogInterval] = self.logs.get(name, ())
        if within:
            logs = (log for log in logs if abs(log.end - within.at) < within.seconds / 2)
        counts: Counter[float] = Counter()
        for log in logs:
            counts.update(log.counts)
        return Histogram.of(counts, divisor=_NANO)

    def sum_counts(self, kind: str, *, drained: bool = True) -> KindCounts:
        """Over the intervals, with or without those after the end."""
        counts = [
            interval.kinds[kind]
            for interval in self.intervals
            if kind in interval.kinds and (drained or not interval.drains)
        ]
        return KindCounts(
            sum(count.done for count in counts),
            sum(count.failed for count in counts),
            sum(count.carried for count in counts),
        )

    @property
    def seconds(self) -> float:
        """How long was measured."""
        return sum(interval.seconds for interval in self.intervals if not interval.drains)


def parse_output(output: Output, omit: float) -> LoadOutput:
    """All of it after the first seconds, checked against itself. Raises ParseFailure."""
    root = parse_document(output.stdout, _TOOL)
    began = root.child("began").number()
    intervals = [LoadInterval.of(node) for node in root.child("intervals").nodes()]
    logs = {name[:-4]: _read_log(output, name) for name in output.raw if name.endswith(".hdr")}
    _check_logs(intervals, logs)
    since = began + omit - 0.005  # logs have whole milliseconds
    kept = tuple(each for each in intervals if each.at - each.seconds >= since)
    if not sum(each.seconds for each in kept if not each.drains):
        raise ParseFailure(f"the run ended within the {omit:g} s to be omitted")
    return LoadOutput(
        root.child("version").text(),
        began,
        root.child("rate").number(),
        root.child("waited").count(),
        root.child("unsent").count(),
        kept,
        {kind: _count_causes(causes) for kind, causes in root.child("failures").items()},
        {name: tuple(log for log in parts if log.start >= since) for name, parts in logs.items()},
    )


def _count_causes(node: JsonNode) -> dict[str, int]:
    return {cause[:200]: count.count() for cause, count in node.items()}


def _read_log(output: Output, name: str) -> tuple[LogInterval, ...]:
    return parse_intervals(output.raw[name].read_text(errors="replace"), name)


def _check_logs(intervals: Iterable[LoadInterval], logs: Mapping[str, tuple[LogInterval, ...]]) -> None:
    done: Counter[str] = Counter()
    for interval in intervals:
        done.update({kind: counts.done for kind, counts in interval.kinds.items()})
    for kind, count in done.items():
        logged = sum(sum(log.counts.values()) for log in logs.get(kind, ()))
        if logged != count:
            raise ParseFailure(f"{kind}.hdr has {logged} of {count} requests")
