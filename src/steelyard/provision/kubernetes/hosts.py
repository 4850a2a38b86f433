"""Pods as hosts, for as long as a block lasts."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path, PurePosixPath

from steelyard.errors import HostDown, HostError, HostLost
from steelyard.hosts.agent.agent import AgentTimeouts
from steelyard.hosts.connect import connect_all
from steelyard.hosts.shell import ShellHost
from steelyard.hosts.tasks import run_to_end
from steelyard.hosts.token import Token
from steelyard.provision.kubernetes.access import check_capabilities, check_order, find_obstacles
from steelyard.provision.kubernetes.facts import gather_facts
from steelyard.provision.kubernetes.order import (
    LABEL,
    PodGroup,
    PodOrder,
    PodUse,
    build_job,
    job_name,
    parse_quantity,
)
from steelyard.provision.kubernetes.release import release
from steelyard.provision.kubernetes.rental import PodRental, PodRentalFile
from steelyard.provision.kubernetes.waiting import JOBS, Wanted, await_pods
from steelyard.transports.kubernetes.api import ApiServer
from steelyard.transports.kubernetes.kubeconfig import read_access
from steelyard.transports.kubernetes.transport import PodPlace, PodTransport

RENEWALS = 4
"""So many fall into a lease: one that is late, or lost with its stream, does no harm."""
ENDED_WITHIN = 60.0
"""Seconds for a node to end a pod that was deleted."""
GLANCE = 0.1
_KERNEL = "/proc/sys/kernel/osrelease"
_RENEW = 'read -r pid <"$HOME/.steelyard-watcher" && kill -USR1 "$pid"'


class PodHost(ShellHost):
    """A pod. Its facts tell node, image, class of service, and how long it took to be there."""

    comes_back_empty = True

    def __init__(
        self, transport: PodTransport, group: PodGroup, order: PodOrder, token: Token, log: Path, use: PodUse
    ) -> None:
        pace = AgentTimeouts.for_silence(use.lost_after)
        scratch = PurePosixPath(order.scratch.mount)
        super().__init__(transport, token, log, pace=pace, scratch=scratch)
        self._way, self._group, self._order = transport, group, order
        self._renewing: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Reach it, and renew its lease from now on; see `ShellHost`."""
        await super().connect()
        self._heed_limits()
        facts = await gather_facts(self._way.server, self._way.pod)
        kernel = (await self.read([_KERNEL])).get(_KERNEL, "").strip()
        self.facts = {
            **facts,
            "kernel": kernel,
            "scratch": str(self._order.scratch),
            "role": self._group.role,
        }
        self._renewing = self._renewing or asyncio.create_task(self._keep_renewing())

    async def leave(self) -> None:
        """End everything there; see `ShellHost`."""
        if self._renewing:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
            self._renewing = None
        await super().leave()

    async def kill_host(self) -> None:
        """Delete the pod without notice; see `HostKillable`. Another takes its place."""
        if self._agent and isinstance(self._agent.lost, HostDown):
            return
        down = HostDown(f"host {self.name} is down: an event deleted its pod {self._way.pod}")
        self._require_agent().expect_loss(down)
        await self._way.delete_pod()
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


@asynccontextmanager
async def lease_pods(
    order: PodOrder, use: PodUse, token: Token, log: Path
) -> AsyncIterator[tuple[PodHost, ...]]:
    """Pods, running and reached; however the block ends, they are given back. Raises HostError."""
    access = read_access(use.kubeconfig, use.context)
    namespace = use.namespace or access.namespace
    folder = str(log.absolute().parent)
    place = str(Path(use.kubeconfig).expanduser().absolute()) if use.kubeconfig else None
    rental = PodRental(secrets.token_hex(4), token.run, str(token), folder, place, access.context, namespace)
    async with ApiServer.open(access, namespace) as server:
        await check_capabilities(server, use.needs)
        await check_order(server, order)
        async with _take_pods(server, order, rental) as wanted:
            await await_pods(server, f"{LABEL}={rental.id}", list(wanted), use.within)
            hosts = [_make_host(server, one, group, order, token, log, use) for one, group in wanted.items()]
            async with connect_all(hosts) as reached:
                yield reached


async def check_access(order: PodOrder, use: PodUse) -> list[str]:
    """What speaks against such a lease, in sentences. Raises SteelyardError."""
    async with ApiServer.open(read_access(use.kubeconfig, use.context), use.namespace) as server:
        return await find_obstacles(server, order)


@asynccontextmanager
async def _take_pods(
    server: ApiServer, order: PodOrder, rental: PodRental
) -> AsyncIterator[Mapping[Wanted, PodGroup]]:
    """Ask for the Jobs, and have them removed however the block ends."""
    file = PodRentalFile.create(rental)
    try:
        for group in order.groups:
            await server.create(server.path(JOBS), build_job(order, group, rental.id, rental.run))
        yield _list_wanted(order, rental.id)
    finally:
        failed = sys.exception()
        try:
            await run_to_end(_give_back(server, file))
        except HostError as left:
            raise _combine_errors(failed, left) from failed
        finally:
            file.close()


async def _give_back(server: ApiServer, file: PodRentalFile) -> None:
    await release(server, file.rental)
    file.remove()


def _combine_errors(failed: BaseException | None, left: HostError) -> HostError:
    """What went wrong first, and what is left of it."""
    before = f"{failed.message}\n" if isinstance(failed, HostError) else ""
    return HostError(before + left.message, hint=left.hint)


def _list_wanted(order: PodOrder, lease: str) -> dict[Wanted, PodGroup]:
    return {
        Wanted(f"{group.role}-{place}", job_name(lease, group.role), place): group
        for group in order.groups
        for place in range(group.count)
    }


def _make_host(
    server: ApiServer, one: Wanted, group: PodGroup, order: PodOrder, token: Token, log: Path, use: PodUse
) -> PodHost:
    place = PodPlace(one.job, one.place)
    way = PodTransport(one.host, server, place, connect_within=use.connect_within)
    return PodHost(way, group, order, token, log, use)
