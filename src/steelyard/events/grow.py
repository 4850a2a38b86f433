"""`do: grow`: a service takes in more hosts while it is in use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.events.base import ServiceEvent, ServiceEventOptions
from steelyard.services.base import Growable


class GrowOptions(ServiceEventOptions):
    """To which size."""

    to: int = Field(ge=1, description="How many hosts it has afterwards")


class Grow(ServiceEvent[GrowOptions]):
    """A service takes in hosts of its `grow_into`, in their order, until it has so many.

    Complete when every node sees every node. **Source**: cloud bursting in MIKELANGELO D6.3, chapter 5.
    """

    options = GrowOptions
    capability = Growable
    examples = ({"service": "ring", "to": 4},)

    async def happen(self) -> Mapping[str, Any]:
        """Grow."""
        await self.service.grow(self.chosen.to)
        return {"to": self.chosen.to}
