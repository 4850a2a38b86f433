"""`do: pause`: a node of a service stands still."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.events.base import NodeEvent, NodeEventOptions
from steelyard.services.base import Pausable
from steelyard.units import Duration


class PauseOptions(NodeEventOptions):
    """Which node, and for how long."""

    length: Duration | None = Field(
        None, gt=0, description="How long it stands still; None is until `resume`, or the end of the trial"
    )


class Pause(NodeEvent[PauseOptions]):
    """All servers of a service on one host stand still (SIGSTOP): they hold connections and answer nothing.

    **Healed** by letting them go on (SIGCONT).
    """

    options = PauseOptions
    capability = Pausable
    stops = True
    examples = ({"service": "ring", "node": 1}, {"service": "ring", "node": 1, "length": "5s"})

    async def happen(self) -> Mapping[str, Any]:
        """Freeze, and thaw after the length."""
        await self.service.pause(self.host.name)
        await self.heal_after(self.chosen.length)
        return {"host": self.host.name}

    async def heal(self) -> None:
        """Let them go on."""
        await self.service.resume(self.host.name)
