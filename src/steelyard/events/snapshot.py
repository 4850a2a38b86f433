"""`do: snapshot`: a service keeps a snapshot of its data while it is in use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.events.base import ServiceEvent, ServiceEventOptions, time_metric
from steelyard.model.metric import Metric
from steelyard.services.base import Snapshottable


class SnapshotOptions(ServiceEventOptions):
    """Of which service, and where it goes."""

    into: str | None = Field(
        None,
        description="Where snapshots lie: a directory that all hosts see, or s3://bucket/prefix. "
        "Default: the scratch of each host, where it is gone after the run",
    )


class TakeSnapshot(ServiceEvent[SnapshotOptions]):
    """A service keeps the data of all its nodes at one moment, and copies them, while it is in use.

    Complete when all files are copied. The facts tell how long each step took, and how far the nodes' moments
    lie apart. **Source**: Cassandra4Slurm (C4S) 2018, chapter 5.1.2 and table 6.1.
    """

    options = SnapshotOptions
    capability = Snapshottable
    metrics = (
        Metric("size", "B", "none", "files of all nodes"),
        Metric("copied", "B", "lower", "files that the place did not have"),
        Metric("spread", "s", "lower", "at most so far lie the nodes' moments apart"),
        time_metric("connect", "asking all nodes for a connection"),
        time_metric("wait", "for nodes to take writes that others kept for them"),
        time_metric("flush", "writing what is in memory, before the moment"),
        time_metric("freeze", "the moment: all nodes keep what they have"),
        time_metric("collect", "laying the files together, and counting their rows"),
        time_metric("describe", "asking what the tables are"),
        time_metric("copy", "copying the files, on all nodes at once"),
    )
    examples = ({"service": "ring"},)

    async def happen(self) -> Mapping[str, Any]:
        """Keep it."""
        snapshot = await self.event_context.keep(self.service, self.chosen.into)
        return {
            "snapshot": snapshot.name,
            "size": snapshot.size,
            "copied": snapshot.copied,
            "rows": snapshot.rows,
            "spread": snapshot.spread,
            **{f"{step}_time": took for step, took in snapshot.steps.items()},
        }
