"""`do: cut`: a host loses its network."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.errors import UsageError
from steelyard.events.base import Event, EventOptions
from steelyard.remote.base import Cuttable
from steelyard.units import Duration


class CutOptions(EventOptions):
    """Which hosts, and for how long."""

    on: str = Field(description="The hosts, as db[2] or db[:2]")
    length: Duration | None = Field(
        None, gt=0, description="How long they stay cut off; None is until the end of the trial"
    )


class Cut(Event[CutOptions]):
    """Hosts are cut off the network: nothing reaches them, nothing leaves them. What runs there goes on.

    Only on a site that can do it (`netns`), with `via: nsenter`: a host that Steelyard itself reaches over
    the network would be lost. **Healed** by joining them to the network again.
    """

    options = CutOptions
    site_must = frozenset({"cut-network"})
    stops = True
    examples = ({"on": "db[2]"}, {"on": "db[:2]", "length": "10s"})

    def check(self) -> None:
        """Whether the hosts are there and can be cut off."""
        for host in self.event_context.hosts(self.chosen.on):
            if not isinstance(host, Cuttable):
                raise UsageError(
                    f"host {host.name} cannot be cut off the network; the site netns has hosts that can"
                )
            if host.lost_when_cut:
                raise UsageError(
                    f"host {host.name} is reached over the network that would be cut",
                    hint="a site with `use: netns` and `via: nsenter` reaches its hosts past it",
                )

    async def happen(self) -> Mapping[str, Any]:
        """Cut, and join again after the length."""
        hosts = self._hosts()
        await asyncio.gather(*(host.cut() for host in hosts))
        await self.heal_after(self.chosen.length)
        return {"hosts": [host.name for host in self.event_context.hosts(self.chosen.on)]}

    async def heal(self) -> None:
        """Join them again."""
        await asyncio.gather(*(host.heal() for host in self._hosts()))

    def _hosts(self) -> list[Cuttable]:
        return [host for host in self.event_context.hosts(self.chosen.on) if isinstance(host, Cuttable)]
