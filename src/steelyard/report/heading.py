"""Where a run measured, in one line for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.store.reader import RunRecord


def describe_site(record: RunRecord) -> str:
    """`site netns:4: 4 hosts, 2 cores each, ext4 on vda`, as far as the record tells; else empty."""
    environment = record.environment
    name = record.site or environment.get("site")
    if not name:
        return ""
    hosts = environment.get("hosts", ())
    parts = [_hosts(hosts), _cores(hosts), _disk(environment.get("scratch", {}))]
    told = ", ".join(part for part in parts if part)
    return f"site {name}: {told}" if told else f"site {name}"


def _hosts(hosts: Sequence[Mapping[str, Any]]) -> str:
    return f"{len(hosts)} host{'s' if len(hosts) != 1 else ''}" if hosts else ""


def _cores(hosts: Sequence[Mapping[str, Any]]) -> str:
    counts = sorted({int(host.get("cores", 0)) for host in hosts} - {0})
    if not counts:
        return ""
    range_ = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{range_} core{'s' if range_ != '1' else ''}{' each' if len(hosts) > 1 else ''}"


def _disk(scratch: Mapping[str, Any]) -> str:
    return f"{scratch['type']} on {scratch['device']}" if {"type", "device"} <= scratch.keys() else ""
