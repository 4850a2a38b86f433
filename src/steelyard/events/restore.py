"""`do: restore`: a service's servers go on from their last checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.plugin import Metric
from steelyard.plugin.event import Checkpointable, ServiceEvent, ServiceEventOptions


class Restore(ServiceEvent[ServiceEventOptions]):
    """Kill all servers of a service with SIGKILL, and start new ones from the state that `checkpoint` saved.

    Complete when they answer. The state files are in the cache unless something has dropped them. Clients
    lose their connections. **Healed** by starting those that did not come up as from the beginning, unless
    the service ends with its trial.
    """

    Options = ServiceEventOptions
    capability = Checkpointable
    metrics = (Metric("size", "B", "none", "state files of all servers"),)
    is_disruptive = True
    examples = ({"service": "ring"},)

    def check(self) -> None:
        """Whether the service was told how to restore itself."""
        self.service.check_checkpointable()

    async def happen(self) -> Mapping[str, Any]:
        """End what runs, go on from the files."""
        return {"size": await self.service.restore()}

    async def heal(self) -> None:
        """What did not come up gets another chance."""
        if self.options.service in self.event_context.lasting_services:
            await self.service.restart_ended()
