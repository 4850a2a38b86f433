"""`do: resume`: a node of a service goes on that was paused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.plugin.event import NodeEvent, NodeEventOptions, Pausable


class Resume(NodeEvent[NodeEventOptions]):
    """Resume all servers of a service on one host (SIGCONT) after a `pause`."""

    Options = NodeEventOptions
    capability = Pausable
    examples = ({"service": "ring", "node": 1},)

    async def happen(self) -> Mapping[str, Any]:
        """Thaw."""
        await self.service.resume(self.host.name)
        return {"host": self.host.name}
