"""What can be done with a ring's mirror: bring it what it lacks, prove that it has everything, keep it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.plugin import HostError
from steelyard.plugin.host import Host
from steelyard.plugin.service import NodeState
from steelyard.services.cassandra.mirror import (
    BEGIN,
    END,
    NOTE,
    PREPARE,
    Mirror,
    check_proof,
    format_facts,
)
from steelyard.services.cassandra.plan import RingPlan
from steelyard.services.cassandra.watch import RingWatch

_DRAIN = 60.0  # seconds to write what is in memory


@dataclass
class MirrorControl:
    """Acts on the mirror of a ring.

    `run_script` runs a script on a host, `list_nodes` says how all nodes of the ring are. All that is done
    raises HostError, also where a node cannot be asked now, since all take part in it.
    """

    layout: Mirror
    plan: RingPlan
    watch: RingWatch
    run_script: Callable[..., Awaitable[str]]
    list_nodes: Callable[[], Awaitable[tuple[NodeState, ...]]]

    async def prepare(self) -> None:
        """Places for its data, which a former ring may have used; nothing of that is lost."""
        await asyncio.gather(*map(self._prepare, self.layout.hosts))

    async def begin(self, host: Host) -> None:
        """Before a node of it starts, for the first time."""
        await self._run(host, BEGIN)

    async def prove(self, seconds: float) -> Mapping[str, Any]:
        """Bring it what it lacks, wait until nothing is on its way, compare; see `HasMirror`."""
        proof = await self._act("mend" if self.layout.options.repair else "prove", seconds)
        facts = check_proof(self.plan.name, proof)
        for host in self.layout.hosts:
            await self._run(host, NOTE, FACTS=format_facts(facts))
        return facts

    async def extend(self, seconds: float) -> None:
        """Have all keyspaces in both data centres: then those that clients use have everything."""
        await self._act("extend", seconds)

    async def fill(self, seconds: float) -> Mapping[str, float]:
        """Bring it all that the others have; seconds by step."""
        answer = await self._act("fill", seconds)
        return {"mirror": sum(answer["seconds"].values())}

    async def save(self, live: Iterable[Host]) -> None:
        """Have its nodes on these hosts write what they have in memory.

        One that cannot has it in its commit log.
        """
        drains = (self.watch.operate("drain", h.address, _DRAIN) for h in live if h in self.layout.hosts)
        await asyncio.gather(*drains, return_exceptions=True)

    async def leave(self) -> None:
        """Its nodes are gone: what it has may be used."""
        await asyncio.gather(*(self._run(host, END) for host in self.layout.hosts), return_exceptions=True)

    async def _prepare(self, host: Host) -> None:
        facts = {
            "service": self.plan.name,
            "cluster": self.plan.cluster,
            "host": host.name,
            "version": self.plan.homes[host.name].version,
            "datacenter": self.layout.options.datacenter,
            "tokens": self.plan.members.token_words(host),
        }
        await self._run(host, PREPARE, FACTS=format_facts(facts))

    async def _run(self, host: Host, script: str, **env: str) -> None:
        known = {"PLACE": str(self.layout.host_directory(host)), "ACCOUNT": self.plan.data[host.name].account}
        await self.run_script(host, "mirror", script, **known, **env)

    async def _act(self, action: str, seconds: float) -> Mapping[str, Any]:
        lost = [f"{state.host} is {state.state}" for state in await self.list_nodes() if state.state != "up"]
        if lost:
            missing = ", ".join(lost)
            raise HostError(f"service {self.plan.name}: the mirror needs every node; missing: {missing}")
        words = self.layout.arguments(self.plan.options.datacenter, len(self.plan.members.ring))
        try:
            return await self.watch.run_mirror_action(action, words, seconds)
        except HostError as error:
            raise HostError(f"service {self.plan.name}: the mirror: {error.message}") from error
