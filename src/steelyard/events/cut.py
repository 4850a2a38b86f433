"""`do: cut`: a host loses its network."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.plugin import Duration, UsageError
from steelyard.plugin.event import HostsEvent, HostsEventOptions
from steelyard.plugin.host import Cuttable


class CutOptions(HostsEventOptions):
    """Which hosts, and for how long."""

    length: Duration | None = Field(
        None, gt=0, description="How long they stay cut off; default: until the end of the trial"
    )


class Cut(HostsEvent[CutOptions]):
    """Cut hosts off the network: no traffic reaches or leaves them. Their processes keep running.

    Requires a site that supports it: `guests`, `kubernetes` where the cluster enforces policies, or `netns`
    with `via: nsenter`, as Steelyard would lose a host that it reaches over the network. **Healed** by
    reconnecting them to the network.
    """

    Options = CutOptions
    site_capabilities = frozenset({"cut-network"})
    host_protocol = Cuttable
    refusal, advice = "cannot be cut off the network", "use the site netns, guests or kubernetes"
    is_disruptive = True
    examples = ({"on": "db[2]"}, {"on": "db[:2]", "length": "10s"})

    def check_host(self, host: Any) -> None:
        """Whether it can be cut off without being lost."""
        if host.lost_when_cut:
            raise UsageError(
                f"Steelyard reaches host {host.name} over the network that would be cut",
                hint="use a site with `use: netns` and `via: nsenter`, which bypasses that network",
            )

    async def happen(self) -> Mapping[str, Any]:
        """Cut, and join again after the length."""
        await asyncio.gather(*(host.cut() for host in self.hosts))
        await self.heal_after(self.options.length)
        return {"hosts": self.names}

    async def heal(self) -> None:
        """Join them again."""
        await asyncio.gather(*(host.heal() for host in self.hosts))
