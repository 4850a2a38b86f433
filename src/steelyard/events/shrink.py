"""`do: shrink`: a service gives hosts back while it is in use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.events.base import ServiceEvent, ServiceEventOptions
from steelyard.services.base import Shrinkable


class ShrinkOptions(ServiceEventOptions):
    """To which size."""

    to: int = Field(ge=1, description="How many hosts it has afterwards")


class Shrink(ServiceEvent[ShrinkOptions]):
    """A service gives hosts back, the last first, until it has so many; no data are lost.

    Complete when the hosts that stay hold all data.
    """

    options = ShrinkOptions
    capability = Shrinkable
    examples = ({"service": "ring", "to": 3},)

    async def happen(self) -> Mapping[str, Any]:
        """Shrink."""
        await self.service.shrink(self.chosen.to)
        return {"to": self.chosen.to}
