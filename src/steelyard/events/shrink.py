"""`do: shrink`: a service gives hosts back while it is in use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.plugin.event import ServiceEvent, ServiceEventOptions, Shrinkable


class ShrinkOptions(ServiceEventOptions):
    """To which size."""

    to: int = Field(ge=1, description="The number of hosts after shrinking")


class Shrink(ServiceEvent[ShrinkOptions]):
    """Shrink a service: release hosts, the last first, down to the given number, without losing data.

    Complete when the remaining hosts hold all data.
    """

    Options = ShrinkOptions
    capability = Shrinkable
    changes_hosts = True
    examples = ({"service": "ring", "to": 3},)

    async def happen(self) -> Mapping[str, Any]:
        """Shrink."""
        await self.service.shrink(self.options.to)
        return {"to": self.options.to}
