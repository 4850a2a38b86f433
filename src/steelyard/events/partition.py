"""`do: partition`: two groups of hosts do not reach each other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from steelyard.plugin import Duration, UsageError
from steelyard.plugin.event import Event, EventOptions
from steelyard.plugin.host import Cuttable, Host


class PartitionOptions(EventOptions):
    """Between which hosts, and for how long."""

    between: tuple[str, str] = Field(description="Two groups of hosts, such as [db[:2], db[2:]]")
    length: Duration | None = Field(
        None, gt=0, description="How long they stay separated; default: until the end of the trial"
    )


class Partition(Event[PartitionOptions]):
    """Partition the network: two groups of hosts cannot reach each other, but both reach all others.

    Requires a site that supports it: `netns`, `guests`, or `kubernetes` where the cluster enforces policies.
    **Healed** by reconnecting the groups.
    """

    Options = PartitionOptions
    site_capabilities = frozenset({"part-network"})
    is_disruptive = True
    examples = ({"between": ["db[:2]", "db[2:]"]},)

    def check(self) -> None:
        """Whether the groups are there, are apart, and can be parted."""
        one, other = self._groups()
        if both := {host.name for host in one} & {host.name for host in other}:
            raise UsageError(f"host {min(both)} is in both groups of the partition")
        for host in (*one, *other):
            if not isinstance(host, Cuttable):
                raise UsageError(f"host {host.name} cannot be separated from others; use the site netns")

    async def happen(self) -> Mapping[str, Any]:
        """Part them, and join them again after the length."""
        one, other = self._groups()
        await asyncio.gather(*(a.block_addresses(_addresses(b)) for a, b in self._sides()))
        await self.heal_after(self.options.length)
        return {"hosts": [[host.name for host in one], [host.name for host in other]]}

    async def heal(self) -> None:
        """Let them reach each other."""
        await asyncio.gather(*(a.unblock_addresses(_addresses(b)) for a, b in self._sides()))

    def _groups(self) -> tuple[tuple[Host, ...], tuple[Host, ...]]:
        one, other = self.options.between
        return self.event_context.hosts(one), self.event_context.hosts(other)

    def _sides(self) -> list[tuple[Cuttable, tuple[Host, ...]]]:
        one, other = self._groups()
        both = [(host, other) for host in one] + [(host, one) for host in other]
        return [(host, others) for host, others in both if isinstance(host, Cuttable)]


def _addresses(hosts: tuple[Host, ...]) -> tuple[str, ...]:
    return tuple(host.address for host in hosts)
