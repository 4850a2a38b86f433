"""`do: uncordon`: nodes that were drained take pods again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.plugin import UsageError
from steelyard.plugin.event import Event, EventOptions
from steelyard.plugin.host import Drainable


class UncordonOptions(EventOptions):
    """Which hosts' nodes."""

    on: str = Field(description="The hosts that `drain` named, such as db[1]")


class Uncordon(Event[UncordonOptions]):
    """Uncordon the nodes that `drain` cordoned. Complete when the hosts that were there are reached again.

    Nothing happens where no node was drained. Requires the site `kubernetes`, and `allow: drain`.
    """

    Options = UncordonOptions
    site_capabilities = frozenset({"drain-nodes"})
    permission = "drain"
    examples = ({"on": "db[1]"},)

    def check(self) -> None:
        """Whether the hosts are there."""
        for host in self.event_context.hosts(self.options.on):
            if not isinstance(host, Drainable):
                raise UsageError(f"host {host.name} is on no node that can be drained", hint="use kubernetes")

    async def happen(self) -> Mapping[str, Any]:
        """Uncordon."""
        hosts = self.event_context.hosts(self.options.on)
        await asyncio.gather(*(host.uncordon_node() for host in hosts if isinstance(host, Drainable)))
        return {"hosts": [host.name for host in hosts]}
