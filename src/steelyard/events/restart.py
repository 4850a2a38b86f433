"""`do: restart`: a node of a service is ended and started again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.plugin.event import Killable, NodeEvent, NodeEventOptions


class Restart(NodeEvent[NodeEventOptions]):
    """Restart all servers of a service on one host; running ones are killed first.

    Complete when they answer. After `kill` it ends the outage.
    """

    Options = NodeEventOptions
    capability = Killable
    is_disruptive = True
    examples = ({"service": "ring", "node": 1},)

    async def happen(self) -> Mapping[str, Any]:
        """End what runs, start again."""
        await self.service.kill(self.host.name)
        await self.service.restart(self.host.name)
        return {"host": self.host.name}

    async def heal(self) -> None:
        """What was killed and did not come up gets another chance."""
        if self.options.service in self.event_context.lasting_services:
            await self.service.restart(self.host.name)
