"""`do: stutter`"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.plugin import Duration
from steelyard.plugin.event import Pausable, ServiceEvent, ServiceEventOptions, time_metric


class StutterOptions(ServiceEventOptions):
    """How often the service stands still, and for how long."""

    times: int = Field(3, ge=1, le=1000, description="Number of pauses")
    pause: Duration = Field(
        Duration(0.1), gt=0, le=60, description="Length of each pause, and of the time between"
    )


class Stutter(ServiceEvent[StutterOptions]):
    """Stop all servers of a service for a moment, again and again, as a host with too little memory does.

    **Healed** by letting them go on.
    """

    Options = StutterOptions
    capability = Pausable
    metrics = (time_metric("stopped", "how long the service stood still, in all"),)
    is_disruptive = True
    examples = ({"service": "store", "times": 2, "pause": "20ms"},)

    async def happen(self) -> Mapping[str, Any]:
        """The facts are kept in the record; `stopped_time` is a metric of the trial."""
        stopped = 0.0
        for _ in range(self.options.times):
            began = asyncio.get_running_loop().time()
            await self.apply("pause")
            await asyncio.sleep(self.options.pause)
            await self.apply("resume")
            stopped += asyncio.get_running_loop().time() - began
            await asyncio.sleep(self.options.pause)
        return {"stopped_time": stopped}

    async def heal(self) -> None:
        """Also where `happen` was cut short: the timeline always asks for it."""
        await self.apply("resume")

    async def apply(self, what: str) -> None:
        """Pause or resume all servers."""
        hosts = self.service.context.hosts
        await asyncio.gather(*(getattr(self.service, what)(host.name) for host in hosts))
