"""`do: pause`: a node of a service stands still."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.plugin import Duration
from steelyard.plugin.event import NodeEvent, NodeEventOptions, Pausable


class PauseOptions(NodeEventOptions):
    """Which node, and for how long."""

    length: Duration | None = Field(
        None, gt=0, description="How long it is paused; default: until `resume` or the end of the trial"
    )


class Pause(NodeEvent[PauseOptions]):
    """Pause all servers of a service on one host (SIGSTOP): they keep connections but do not answer.

    **Healed** by resuming them (SIGCONT).
    """

    Options = PauseOptions
    capability = Pausable
    is_disruptive = True
    examples = ({"service": "ring", "node": 1}, {"service": "ring", "node": 1, "length": "5s"})

    async def happen(self) -> Mapping[str, Any]:
        """Freeze, and thaw after the length."""
        await self.service.pause(self.host.name)
        await self.heal_after(self.options.length)
        return {"host": self.host.name}

    async def heal(self) -> None:
        """Let them go on."""
        await self.service.resume(self.host.name)
