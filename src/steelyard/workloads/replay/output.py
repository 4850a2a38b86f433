"""What a replay printed: times, and how faithful it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.plugin import ParseFailure
from steelyard.workloads.kit.document import JsonNode, parse_document
from steelyard.workloads.kit.hdr_log import read_histogram

_TOOL = "steelyard-load replay"


@dataclass(frozen=True, slots=True)
class Transfers:
    """All reads or all writes; latencies in seconds. `distance` is None where there are none."""

    calls: int
    bytes: int
    latency: Mapping[float, int]
    distance: float | None


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    """`seconds` of the longest stream; `fidelity` by metric, as shares, None for what cannot be told."""

    seconds: float
    transfers: Mapping[str, Transfers]
    fidelity: Mapping[str, float | None]
    facts: Mapping[str, Any]


def read_summary(text: str) -> ReplaySummary:
    """The last line. Raises ParseFailure."""
    lines = [line for line in text.splitlines() if line.startswith("{")]
    if not lines:
        raise ParseFailure(f"{_TOOL} printed no summary")
    document = parse_document(lines[-1], _TOOL)
    transfers = {kind: _read_transfers(document.child(f"{kind}s")) for kind in ("read", "write")}
    made = document.child("operations").count() * document.child("streams").count()
    seconds, recorded = document.child("seconds").number(), document.child("recorded_seconds").number()
    if not made or not seconds:
        raise ParseFailure(f"{_TOOL} reports {made} calls in {seconds} s")
    left_out = {name: node.count() for name, node in document.child("left_out").items()}
    calls = document.child("operations").count() + sum(left_out.values())
    others = {name: node.count() for name, node in document.child("other_results").items()}
    pairs = document.child("pairs").count()
    fidelity = {
        "duration_ratio": seconds / recorded if recorded else None,
        "read_distance": transfers["read"].distance,
        "write_distance": transfers["write"].distance,
        "interarrival_error": _read_optional(document.child("interarrival_error")),
        "other_results": sum(others.values()) / made,
        "order_violations": document.child("violations").count() / pairs if pairs else 0.0,
        "left_out": sum(left_out.values()) / calls,
    }
    facts = {
        "operations": document.child("operations").count(),
        "left_out_calls": left_out,
        "other_calls": others,
    }
    return ReplaySummary(seconds, transfers, fidelity, {**facts, "trace": document.child("trace").text()})


def _read_transfers(node: JsonNode) -> Transfers:
    return Transfers(
        node.child("calls").count(),
        node.child("bytes").count(),
        read_histogram(node.child("latency")),
        _read_optional(node.child("distance")),
    )


def _read_optional(node: JsonNode) -> float | None:
    return None if node.value is None else node.number()
