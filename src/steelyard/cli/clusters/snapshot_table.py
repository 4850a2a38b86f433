"""Snapshots for people, as a table, and for machines."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from steelyard.model.snapshot import Snapshot
from steelyard.report.columns import align
from steelyard.units import show, show_span

DAY = 86400.0


def format_table(snapshots: Sequence[Snapshot], now: float | None = None) -> list[str]:
    """A line for each, newest first, below a heading."""
    moment = time.time() if now is None else now
    rows = [("name", "size", "nodes", "rows", "age", "job", "from")]
    for one in sorted(snapshots, key=lambda one: one.taken, reverse=True):
        about = show(one.size, "B"), str(len(one.nodes)), f"~{one.rows}", _format_age(moment - one.taken)
        rows.append((one.name, *about, one.job or "-", one.site))
    return align(rows)


def describe_snapshot(one: Snapshot) -> dict[str, Any]:
    """For machines."""
    about = one.model_dump(
        mode="json", include={"name", "service", "version", "taken", "origin", "job", "site"}
    )
    return {**about, "bytes": one.size, "nodes": len(one.nodes), "rows": one.rows, "spread": one.spread}


def _format_age(seconds: float) -> str:
    return show_span(seconds) if seconds < DAY else f"{seconds / DAY:.0f} d"
