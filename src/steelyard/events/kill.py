"""`do: kill`: a node of a service dies without notice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.plugin.event import Killable, NodeEvent, NodeEventOptions


class Kill(NodeEvent[NodeEventOptions]):
    """Kill all servers of a service on one host with SIGKILL, as in a crash.

    **Healed** by restarting them with the data they left, unless the service ends with its trial.
    """

    Options = NodeEventOptions
    capability = Killable
    is_disruptive = True
    examples = ({"service": "ring", "node": 1},)

    async def happen(self) -> Mapping[str, Any]:
        """Kill."""
        await self.service.kill(self.host.name)
        return {"host": self.host.name}

    async def heal(self) -> None:
        """Start them again; those that were restarted meanwhile are left alone."""
        if self.options.service in self.event_context.lasting_services:
            await self.service.restart(self.host.name)
