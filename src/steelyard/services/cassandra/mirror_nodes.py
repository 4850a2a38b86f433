"""What a ring of Cassandra with a second data centre can do with it: bring it what it lacks, prove, keep."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from steelyard.plugin import HostError
from steelyard.plugin.host import Host
from steelyard.plugin.service import NodeState
from steelyard.services.cassandra.mirror import END, NOTE, check_proof, format_facts
from steelyard.services.cassandra.nodes import CassandraNodes
from steelyard.services.kit.server import Server

_DRAIN = 60.0  # seconds to write what is in memory


class MirroredNodes(CassandraNodes):
    """The nodes of a ring that may have a mirror; see `mirror`."""

    async def list_nodes(self) -> tuple[NodeState, ...]:
        """As the first that answers sees them: those that clients use, then those of the mirror."""
        seen = (await self.watch.read_status()).nodes
        return tuple(self._state(host, seen.get(host.address)) for host in self._node_hosts())

    async def prove_mirror(self) -> Mapping[str, Any]:
        """Bring the mirror what it lacks, wait until nothing is on its way, compare; see `Mirrored`."""
        if self.mirror is None:
            return {}
        began, within = time.monotonic(), self.mirror.options.within
        await self._wait_until_settled(within)
        action = "mend" if self.mirror.options.repair else "prove"
        proof = await self._run_mirror_action(action, within - (time.monotonic() - began))
        facts = check_proof(self.context.name, proof)
        for host in self.mirror.hosts:
            await self._run_mirror_script(host, NOTE, FACTS=format_facts(facts))
        return facts

    async def _extend_mirror(self) -> None:
        """Have all keyspaces in both data centres: then those that clients use have everything."""
        if self.mirror:
            await self._run_mirror_action("extend", self.options.snapshot_within)

    async def _fill_mirror(self) -> Mapping[str, float]:
        """Bring it all that the others have; seconds by step."""
        if self.mirror is None:
            return {}
        answer = await self._run_mirror_action("fill", self.options.snapshot_within)
        return {"mirror": sum(answer["seconds"].values())}

    async def _save_mirror(self) -> None:
        """Have its nodes write what they have in memory. One that cannot has it in its commit log."""
        await asyncio.gather(*map(self._drain, self._mirror_hosts()), return_exceptions=True)

    async def _leave_mirror(self) -> None:
        """Its nodes are gone: what it has may be used."""
        ends = (self._run_mirror_script(host, END) for host in self._mirror_hosts())
        await asyncio.gather(*ends, return_exceptions=True)

    async def _drain(self, host: Host) -> None:
        (server,) = self.servers_on(host.name)
        if server.exit is None and not server.frozen:
            await self.watch.operate("drain", host.address, _DRAIN)

    async def _run_mirror_action(self, action: str, seconds: float) -> Mapping[str, Any]:
        """Raises HostError, also where a node cannot be asked now, since all take part in it."""
        lost = [f"{state.host} is {state.state}" for state in await self.list_nodes() if state.state != "up"]
        if self.mirror is None or lost:
            raise HostError(
                f"service {self.context.name}: the mirror needs every node; missing: {', '.join(lost)}"
            )
        words = self.mirror.arguments(self.options.datacenter, len(self.ring))
        try:
            return await self.watch.run_mirror_action(action, words, seconds)
        except HostError as error:
            raise HostError(f"service {self.context.name}: the mirror: {error.message}") from error

    async def _wait_until_settled(self, seconds: float) -> None:
        """One that came back a moment ago may still be on its way; one that is gone will not come."""
        until = time.monotonic() + seconds
        while not await self.is_settled():
            gone = any(_has_ended(server) or _is_frozen(server) for server in self.servers)
            if gone or time.monotonic() > until:
                return
            await asyncio.sleep(0.1)

    def _state(self, host: Host, said: Mapping[str, Any] | None) -> NodeState:
        """What a node says of itself; of one that cannot, what we know: its last words may be there still."""
        tokens = tuple(map(str, self.tokens[host.name]))
        servers = [server for server in self.servers if server.host is host]
        frozen, ended = (any(map(is_so, servers)) for is_so in (_is_frozen, _has_ended))
        if said is None or frozen or ended:
            state = "paused" if frozen and not ended else "down"
            return NodeState(host.name, host.address, state, None, tokens)
        state = "up" if said["mode"] == "NORMAL" else str(said["mode"]).lower()
        return NodeState(host.name, host.address, state, int(said["meters"].get("load_bytes", 0)), tokens)


def _is_frozen(server: Server) -> bool:
    return server.frozen


def _has_ended(server: Server) -> bool:
    return server.exit is not None
