"""`do: snapshot`: a service keeps a snapshot of its data while it is in use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.plugin import Metric
from steelyard.plugin.event import ServiceEvent, ServiceEventOptions, Snapshottable, time_metric


class SnapshotOptions(ServiceEventOptions):
    """Of which service, and where it goes."""

    into: str | None = Field(
        None,
        description="Where to store it: a directory that all hosts can access, or s3://bucket/prefix. "
        "Default: each host's scratch, which is removed after the run",
    )


class TakeSnapshot(ServiceEvent[SnapshotOptions]):
    """Take a snapshot of the data of all nodes of a service at one moment, and copy it, during use.

    Complete when all files are copied. The facts record how long each step took, and how far apart the nodes'
    moments are. **Source**: Cassandra4Slurm (C4S) 2018, chapter 5.1.2 and table 6.1.
    """

    Options = SnapshotOptions
    capability = Snapshottable
    metrics = (
        Metric("size", "B", "none", "files of all nodes"),
        Metric("copied", "B", "lower", "files that were not yet in the snapshot store"),
        Metric("spread", "s", "lower", "upper bound on the time between the nodes' moments"),
        time_metric("connect", "connecting to all nodes"),
        time_metric("wait", "waiting for nodes to receive writes that others held for them"),
        time_metric("flush", "writing memory contents to disk, before the moment"),
        time_metric("freeze", "the moment: all nodes freeze their data"),
        time_metric("collect", "collecting the files and counting their rows"),
        time_metric("describe", "reading the table definitions"),
        time_metric("copy", "copying the files, on all nodes at once"),
    )
    examples = ({"service": "ring"},)

    async def happen(self) -> Mapping[str, Any]:
        """Keep it."""
        snapshot = await self.event_context.take_snapshot(self.service, self.options.into)
        return {
            "snapshot": snapshot.name,
            "size": snapshot.size,
            "copied": snapshot.copied,
            "rows": snapshot.rows,
            "spread": snapshot.spread,
            **{f"{step}_time": took for step, took in snapshot.steps.items()},
        }
