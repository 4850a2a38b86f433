"""`do: kill_host`: whole hosts die without notice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.plugin import Duration
from steelyard.plugin.event import (
    HostsEvent,
    HostsEventOptions,
    check_servers,
    find_services_on,
    time_metric,
)
from steelyard.plugin.host import HostKillable


class KillHostOptions(HostsEventOptions):
    """Which hosts, and for how long."""

    length: Duration | None = Field(
        None, gt=0, description="How long they stay dead; default: until the end of the trial"
    )


class KillHost(HostsEvent[KillHostOptions]):
    """Kill whole hosts, as a power cut does: kernel, programs and memory are gone at once, nobody is told.

    Peers get no word either: an open connection to a dead host stays silent until the host is back, or until
    a timeout ends it. A copy of the workload that runs there fails the trial. Requires a site that supports
    it (`guests`, `kubernetes`). **Healed** by bringing the hosts back and restarting the servers that ran
    there with the data they left; at the end of the trial, only servers that outlive it are restarted.

    A pod is deleted without grace, and Kubernetes makes another within seconds, whatever the `length`: with
    another address, an empty volume, and no servers. So a service that has a server there must end with its
    trial, and the event has no `length`; the pod is reached again before the next trial.
    """

    Options = KillHostOptions
    site_capabilities = frozenset({"kill-hosts"})
    metrics = (time_metric("revive", "until the killed hosts were reached again, from the end of `length`"),)
    host_protocol = HostKillable
    refusal, advice = "cannot be killed", "use the site guests or kubernetes"
    is_disruptive = True
    examples = ({"on": "db[2]"}, {"on": "db[:2]", "length": "5s"})

    def check_host(self, host: Any) -> None:
        """Whether its servers can be restarted."""
        check_servers(self.event_context, host, is_restarted=self.options.length is not None)

    async def happen(self) -> Mapping[str, Any]:
        """Kill; after the length, bring the hosts and their servers back."""
        await asyncio.gather(*(host.kill_host() for host in self.hosts))
        facts = {"hosts": self.names}
        if self.options.length is None:
            return facts
        await asyncio.sleep(self.options.length)
        began = time.monotonic()
        await self._revive()
        took = time.monotonic() - began
        await self._restart(frozenset(self.event_context.services))
        return {**facts, "revive_time": took}

    async def heal(self) -> None:
        """Bring back what is still dead; servers that end with their trial stay dead."""
        await self._revive()
        await self._restart(self.event_context.lasting_services)

    async def _revive(self) -> None:
        """All hosts, whatever becomes of the others. Raises what went wrong first."""
        revivals = (host.revive() for host in self.hosts)
        if wrong := [each for each in await asyncio.gather(*revivals, return_exceptions=True) if each]:
            raise wrong[0]

    async def _restart(self, names: frozenset[str]) -> None:
        """The servers of these services on the hosts; those that run are left alone."""
        for host in self.hosts:
            for name, service in find_services_on(self.event_context, host).items():
                if name in names:
                    await service.restart(host.name)
