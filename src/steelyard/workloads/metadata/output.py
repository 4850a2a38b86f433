"""What the ranks of an operation printed, merged: a rate and a histogram of latencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.plugin import ParseFailure
from steelyard.workloads.kit.document import JsonNode, parse_document
from steelyard.workloads.kit.hdr_log import read_histogram

_TOOL = "steelyard-load metadata"


@dataclass(frozen=True, slots=True)
class OperationSummary:
    """An operation over all ranks: `rate` in files (or listed entries) a second, latencies in seconds."""

    rate: float
    items: int
    ranks: int
    latency: Mapping[float, int]


@dataclass(frozen=True, slots=True)
class RankResult:
    """What one rank did, from a common start of its workers to the end of the last."""

    rank: int
    ranks: int
    items: int
    seconds: float
    latency: Mapping[float, int]


def read_summary(text: str, operation: str, workers: int) -> OperationSummary:
    """All ranks' lines. Raises ParseFailure, also when a rank is missing or ranks disagree."""
    lines = [line for line in text.splitlines() if line.startswith("{")]
    if not lines:
        raise ParseFailure(f"{_TOOL} printed no summary of '{operation}'")
    results = [_read_rank(parse_document(line, _TOOL), operation, workers) for line in lines]
    _check_ranks(results)
    latency: Counter[float] = Counter()
    for result in results:
        latency.update(result.latency)
    return OperationSummary(
        rate=sum(result.items / result.seconds for result in results),
        items=sum(result.items for result in results),
        ranks=len(results),
        latency=dict(latency),
    )


def _read_rank(document: JsonNode, operation: str, workers: int) -> RankResult:
    said = document.child("operation").text(), document.child("workers").count()
    if said != (operation, workers):
        raise ParseFailure(
            f"{_TOOL} reports {said[0]!r} of {said[1]} workers, not '{operation}' of {workers}"
        )
    seconds = document.child("seconds").number()
    items = document.child("items").count()
    if not seconds or not items:
        raise ParseFailure(f"{_TOOL} reports {items} items in {seconds} s")
    latency = _read_latency(document.child("latency"))
    return RankResult(
        document.child("rank").count(), document.child("ranks").count(), items, seconds, latency
    )


def _read_latency(node: JsonNode) -> Mapping[float, int]:
    counts = read_histogram(node)
    if not counts:
        raise ParseFailure(f"{node.where}: the histogram is empty")
    return counts


def _check_ranks(results: list[RankResult]) -> None:
    count = results[0].ranks
    if any(result.ranks != count for result in results):
        raise ParseFailure(f"{_TOOL}: ranks disagree about how many of them there are")
    if sorted(result.rank for result in results) != list(range(len(results))) or count != len(results):
        raise ParseFailure(
            f"{_TOOL}: {len(results)} summaries came from {count} ranks, or a rank spoke twice"
        )
