"""`do: uncordon`: nodes that were drained take pods again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.plugin.event import HostsEvent, HostsEventOptions
from steelyard.plugin.host import Drainable


class UncordonOptions(HostsEventOptions):
    """Which hosts' nodes."""

    on: str = Field(description="The hosts that `drain` named, such as db[1]")


class Uncordon(HostsEvent[UncordonOptions]):
    """Uncordon the nodes that `drain` cordoned. Complete when the hosts that were there are reached again.

    Nothing happens where no node was drained. Requires the site `kubernetes`, and `allow: drain`.
    """

    Options = UncordonOptions
    site_capabilities = frozenset({"drain-nodes"})
    permission = "drain"
    host_protocol = Drainable
    refusal, advice = "is on no node that can be drained", "use kubernetes"
    examples = ({"on": "db[1]"},)

    async def happen(self) -> Mapping[str, Any]:
        """Uncordon."""
        await asyncio.gather(*(host.uncordon_node() for host in self.hosts))
        return {"hosts": self.names}
