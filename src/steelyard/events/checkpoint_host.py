"""`do: checkpoint_host`: whole hosts are saved to files, ended, and go on from there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.plugin import Duration, Metric
from steelyard.plugin.event import HostsEvent, HostsEventOptions, time_metric
from steelyard.plugin.host import HostCheckpointable


class CheckpointHostOptions(HostsEventOptions):
    """Which hosts, and for how long they are gone."""

    length: Duration = Field(
        Duration(0.0), ge=0, description="How long they are gone between the save and the restore"
    )


class CheckpointHost(HostsEvent[CheckpointHostOptions]):
    """Save whole hosts to files, end them, and have them go on where they were, kernel and all.

    A hypervisor does this before it maintains or moves a machine. Nothing is lost: programs notice only that
    the clock jumps, and open connections go on, unless a peer's patience ends first. The state file is synced
    before the host ends, and read from a cold cache; a file that was altered in between is refused, and the
    host is lost. Keep the whole below the time after which a host counts as lost (`lost_after` of the site),
    and run no copy of the workload there. Requires a site that supports it (`guests` with `kind: qemu`).
    **Healed** by restoring hosts that are still gone. **Source**: XtreemOS D4.2.7 (2010), 4.3.
    """

    Options = CheckpointHostOptions
    site_capabilities = frozenset({"checkpoint-hosts"})
    metrics = (
        Metric("size", "B", "none", "state files of all hosts"),
        time_metric(
            "save", "from the stop of the hosts until their files were synced and digested, and they ended"
        ),
        time_metric("restore", "checking the state files, and from a cold cache until all hosts went on"),
    )
    host_protocol = HostCheckpointable
    refusal, advice = "cannot be saved", "use the site guests with `kind: qemu`"
    is_disruptive = True
    silences_hosts = True
    examples = ({"on": "db[0]"}, {"on": "db[:2]", "length": "5s"})

    async def happen(self) -> Mapping[str, Any]:
        """Save and end them; after the length, have them go on."""
        began = time.monotonic()
        sizes = await asyncio.gather(*(host.checkpoint_host() for host in self.hosts))
        saved = time.monotonic()
        await asyncio.sleep(self.options.length)
        asked = time.monotonic()
        await self.heal()
        restored = time.monotonic()
        times = {"save_time": saved - began, "restore_time": restored - asked}
        return {"hosts": self.names, "size": sum(sizes), **times}

    async def heal(self) -> None:
        """Have those go on that are still gone."""
        await asyncio.gather(*(host.restore_host() for host in self.hosts))
