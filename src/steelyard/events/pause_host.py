"""`do: pause_host`: whole hosts stand still."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.plugin import Duration
from steelyard.plugin.event import HostsEvent, HostsEventOptions
from steelyard.plugin.host import HostPausable


class PauseHostOptions(HostsEventOptions):
    """Which hosts, and for how long."""

    length: Duration | None = Field(
        None, gt=0, description="How long they stand still; default: until the end of the trial"
    )


class PauseHost(HostsEvent[PauseHostOptions]):
    """Pause whole hosts, their kernels too, as a hypervisor does while it migrates a machine.

    Their programs notice only that the clock jumps. The pause must be shorter than the time after which a
    host counts as lost (`lost_after` of the site). Run no copy of the workload there. Requires a site that
    supports it (`guests`). **Healed** by letting them go on.
    """

    Options = PauseHostOptions
    site_capabilities = frozenset({"pause-hosts"})
    host_protocol = HostPausable
    refusal, advice = "cannot be paused", "use the site guests"
    is_disruptive = True
    silences_hosts = True
    examples = ({"on": "db[2]"}, {"on": "db[:2]", "length": "5s"})

    async def happen(self) -> Mapping[str, Any]:
        """Pause, and go on after the length."""
        await asyncio.gather(*(host.pause_host() for host in self.hosts))
        await self.heal_after(self.options.length)
        return {"hosts": self.names}

    async def heal(self) -> None:
        """Let them go on."""
        await asyncio.gather(*(host.continue_host() for host in self.hosts))
