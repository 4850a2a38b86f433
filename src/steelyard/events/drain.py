"""`do: drain`: the nodes under hosts are emptied for maintenance."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.plugin import Duration
from steelyard.plugin.event import HostsEvent, HostsEventOptions, check_servers, time_metric
from steelyard.plugin.host import Drainable


class DrainOptions(HostsEventOptions):
    """Which hosts' nodes, and for how long."""

    on: str = Field(description="The hosts whose nodes are drained, such as db[1]")
    length: Duration | None = Field(
        None,
        gt=0,
        description="How long the nodes stay cordoned; default: until `uncordon` or the trial's end",
    )


class Drain(HostsEvent[DrainOptions]):
    """Drain the nodes of hosts, as `kubectl drain` does: cordon them and evict all pods of the run from them.

    Evicted pods end at once, servers in them without notice. Others take their places on other nodes, or on
    the same one once it is uncordoned, with other addresses, empty volumes, and no servers: what `kill_host`
    says of pods holds here, too, for all hosts of the run on the node. The file must say `allow: drain`. A
    node on which pods of others run is refused. Requires the site `kubernetes`. **Healed** by uncordoning,
    and reaching the new pods.
    """

    Options = DrainOptions
    site_capabilities = frozenset({"drain-nodes"})
    permission = "drain"
    metrics = (time_metric("revive", "until the evicted hosts were reached again, from the end of `length`"),)
    host_protocol = Drainable
    refusal, advice = "is on no node that can be drained", "use kubernetes"
    is_disruptive = True
    examples = ({"on": "db[1]"}, {"on": "db[1]", "length": "30s"})

    def check_host(self, host: Any) -> None:
        """Whether the servers on its node end with the trial."""
        for each in host.list_node_hosts():
            check_servers(self.event_context, each, is_restarted=self.options.length is not None)

    async def happen(self) -> Mapping[str, Any]:
        """Drain; uncordon after the length."""
        nodes = [await host.drain_node() for host in self.hosts]
        facts = {"nodes": sorted({*nodes})}
        if self.options.length is None:
            return facts
        await asyncio.sleep(self.options.length)
        began = time.monotonic()
        await self.heal()
        return {**facts, "revive_time": time.monotonic() - began}

    async def heal(self) -> None:
        """Uncordon, and reach the hosts again."""
        await asyncio.gather(*(host.uncordon_node() for host in self.hosts))
