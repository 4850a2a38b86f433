"""The protocol of Cassandra, and of all that take its place."""

from __future__ import annotations

from pathlib import Path

from steelyard.model.protocol import ClientBinding, WireProtocol

CQL = WireProtocol(
    "cql", 9042, (ClientBinding("ycsb", "steelyard.ycsb.Cql", str(Path(__file__).with_name("ycsb"))),)
)
