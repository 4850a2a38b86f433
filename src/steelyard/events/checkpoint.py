"""`do: checkpoint`: a service's running servers save their state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.plugin import Metric
from steelyard.plugin.event import Checkpointable, ServiceEvent, ServiceEventOptions


class TakeCheckpoint(ServiceEvent[ServiceEventOptions]):
    """Have all servers of a service save their state, each on its host, during use.

    Complete when the state files and their directories are synced. The servers go on; what they do
    afterwards is lost by `restore`. A snapshot has a service's data, which other servers can start from; a
    checkpoint has the state of these processes, to go on from. **Source**: XtreemOS D4.2.7 (2010), 4.3.
    """

    Options = ServiceEventOptions
    capability = Checkpointable
    metrics = (Metric("size", "B", "none", "state files of all servers"),)
    examples = ({"service": "ring"},)

    def check(self) -> None:
        """Whether the service was told how to save itself."""
        self.service.check_checkpointable()

    async def happen(self) -> Mapping[str, Any]:
        """Save it."""
        return {"size": await self.service.checkpoint()}
