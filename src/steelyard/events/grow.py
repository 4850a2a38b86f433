"""`do: grow`: a service takes in more hosts while it is in use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.plugin.event import Growable, ServiceEvent, ServiceEventOptions


class GrowOptions(ServiceEventOptions):
    """To which size."""

    to: int = Field(ge=1, description="The number of hosts after growing")


class Grow(ServiceEvent[GrowOptions]):
    """Grow a service: add hosts of its `grow_into`, in order, up to the given number.

    Complete when every node sees every node. **Source**: cloud bursting in MIKELANGELO D6.3, chapter 5.
    """

    Options = GrowOptions
    capability = Growable
    changes_hosts = True
    needs_spare_hosts = True
    covers = ("MIK.1", "MIK.2")
    examples = ({"service": "ring", "to": 4},)

    async def happen(self) -> Mapping[str, Any]:
        """Grow."""
        await self.service.grow(self.options.to)
        return {"to": self.options.to}
