"""A pod as a host: reached by exec streams, renewed while it is used, deleted and cut off by events."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.errors import HostDown, HostError, HostLost
from steelyard.hosts.agent.agent import Agent, AgentTimeouts
from steelyard.hosts.shell import ShellHost
from steelyard.hosts.token import Token
from steelyard.provision.kubernetes.facts import gather_facts
from steelyard.provision.kubernetes.network import PodNetwork, find_places
from steelyard.provision.kubernetes.nodes import cordon, evict, lease_of, uncordon
from steelyard.provision.kubernetes.order import PodGroup, PodOrder, PodUse, parse_quantity
from steelyard.provision.kubernetes.waiting import JOBS
from steelyard.transports.kubernetes.transport import PodPlace, PodTransport

RENEWALS = 4
"""So many fall into a lease: one that is late, or lost with its stream, does no harm."""
ENDED_WITHIN = 60.0
"""Seconds for a node to end a pod that was deleted."""
TOLD_WITHIN = 5.0
"""Seconds for a kubelet to tell of a container that runs; it does so once a second."""
GLANCE = 0.1
_KERNEL = "/proc/sys/kernel/osrelease"
_RENEW = 'read -r pid <"$HOME/.steelyard-watcher" && kill -USR1 "$pid"'


class PodHost(ShellHost):
    """A pod. Its facts tell pod, node, scratch volume and role."""

    comes_back_empty = True
    lost_when_cut = False  # an exec stream goes through its node, and not over the network of pods

    def __init__(
        self, transport: PodTransport, group: PodGroup, order: PodOrder, token: Token, log: Path, use: PodUse
    ) -> None:
        pace = AgentTimeouts.for_silence(use.lost_after)
        scratch = PurePosixPath(order.scratch.mount)
        super().__init__(transport, token, log, pace=pace, scratch=scratch)
        self._way, self._group, self._order = transport, group, order
        self._renewing: asyncio.Task[None] | None = None
        self.network = PodNetwork(transport.server, transport.place)
        self.peers: Sequence[PodHost] = ()
        self._down: HostDown | None = None
        self._drained: str | None = None
        self._evicted: list[PodHost] = []

    async def connect(self) -> None:
        """Reach it, and renew its lease from now on; see `ShellHost`."""
        await super().connect()
        self._down = None
        self._heed_limits()
        self.facts = {
            "pod": self._way.pod,
            "node": self._way.node,
            "scratch": str(self._order.scratch),
            "role": self._group.role,
        }
        self._renewing = self._renewing or asyncio.create_task(self._keep_renewing())

    async def gather_facts(self) -> Mapping[str, Any]:
        """Also its image, its class of service, how long it took to be there, its kernel; see `Host`."""
        told = await gather_facts(self._way.server, self._way.pod, seconds=TOLD_WITHIN)
        kernel = (await self.read([_KERNEL])).get(_KERNEL, "").strip()
        return {**told, **self.facts, "kernel": kernel}

    async def leave(self) -> None:
        """End everything there; see `ShellHost`."""
        if self._renewing:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
            self._renewing = None
        await super().leave()

    async def kill_host(self) -> None:
        """Delete the pod without notice; see `HostKillable`. Another takes its place."""
        if not self._is_down:
            with self._expect_loss("deleted"):
                await self._way.delete_pod()
                await self._await_end()

    @property
    def _is_down(self) -> bool:
        return self._agent is not None and isinstance(self._agent.lost, HostDown)

    def _expect_loss(self, how: str) -> AbstractContextManager[None]:
        self._down = HostDown(f"host {self.name} is down: an event {how} its pod {self._way.pod}")
        return self._require_agent().expect_loss(self._down)

    def _require_agent(self) -> Agent:
        """It is down until the next pod is reached, also while that is being done."""
        if self._agent is None and self._down:
            raise HostDown(self._down.message)
        return super()._require_agent()

    async def _await_end(self) -> None:
        try:
            async with asyncio.timeout(ENDED_WITHIN):
                await self._wait_until_lost()
        except TimeoutError:
            hint = "the kubelet of its node does not end it; `kubectl get node` tells more"
            message = f"host {self.name}: its pod still runs {ENDED_WITHIN:g} s after it was deleted"
            raise HostError(message, hint=hint) from None

    async def _wait_until_lost(self) -> None:
        """Until the stream to the agent ends, as it does when the kubelet has ended what was in the pod."""
        with suppress(HostLost):
            while True:
                await self._ask("clock")
                await asyncio.sleep(GLANCE)

    async def revive(self) -> None:
        """Reach the pod that has its place now; see `HostKillable`. Address and facts are of that one."""
        await self.check()

    def list_node_hosts(self) -> tuple[PodHost, ...]:
        """The pods of the run on its node; see `Drainable`."""
        return tuple(peer for peer in self.peers if peer.facts.get("node") == self.facts.get("node"))

    async def drain_node(self) -> str:
        """Cordon its node and evict the run's pods from it; see `Drainable`."""
        if self._drained is None:
            server, node = self._way.server, str(self.facts["node"])
            job = await server.get(server.path(JOBS, self._way.place.job))
            await cordon(server, node, str(lease_of(job)), self._token.run)
            self._drained = node
            self._evicted = [host for host in self.list_node_hosts() if not host._is_down]
            await asyncio.gather(*(host._evict() for host in self._evicted))
        return self._drained

    async def _evict(self) -> None:
        with self._expect_loss("evicted"):
            await self._way.forget_pod()
            await evict(self._way.server, self._way.pod)
            await self._await_end()

    async def uncordon_node(self) -> None:
        """Uncordon the node and reach the pods that were evicted from it; see `Drainable`."""
        if self._drained is not None:
            await uncordon(self._way.server, self._drained)
            self._drained, evicted, self._evicted = None, self._evicted, []
            await asyncio.gather(*(host.revive() for host in evicted))

    async def cut(self) -> None:
        """Close its network; see `Cuttable`."""
        await self.network.cut()

    async def heal(self) -> None:
        """Open its network again; see `Cuttable`."""
        await self.network.join()

    async def block_addresses(self, addresses: Sequence[str]) -> None:
        """Close its network to other pods of the run; see `Cuttable`."""
        await self.network.close_to(find_places(self._known_places(), addresses))

    async def unblock_addresses(self, addresses: Sequence[str]) -> None:
        """Open its network to them again; see `Cuttable`."""
        known = self._known_places()
        await self.network.open_to(known[each] for each in addresses if each in known)

    def _known_places(self) -> dict[str, PodPlace]:
        """The places of the run's pods, by their addresses now."""
        return {peer.address: peer.network.place for peer in self.peers}

    def _heed_limits(self) -> None:
        """A shell in a pod sees the cores and the memory of the whole node."""
        requests = self._group.requests
        if "cpu" in requests:
            self.cores = min(self.cores, max(1, int(parse_quantity(requests["cpu"]))))
        if "memory" in requests:
            self.memory = min(self.memory, int(parse_quantity(requests["memory"])))

    async def renew(self) -> None:
        """Renew the lease of the pod. Raises HostError."""
        await self._run_script(_RENEW)

    async def _keep_renewing(self) -> None:
        """As long as we live; a host that is lost is reached for again by `check`."""
        while True:
            try:
                await self.renew()
            except HostError as error:
                self._write_log(f"the lease was not renewed: {error.message}")
            await asyncio.sleep(self._order.lease / RENEWALS)
