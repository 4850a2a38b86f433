"""Pods as hosts, for as long as a block lasts."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from steelyard.errors import HostError
from steelyard.hosts.connect import connect_all
from steelyard.hosts.tasks import run_to_end
from steelyard.hosts.token import Token
from steelyard.provision.kubernetes.access import check_capabilities, check_order, find_obstacles
from steelyard.provision.kubernetes.enforcement import NETWORK, check_enforcement
from steelyard.provision.kubernetes.order import (
    LABEL,
    PodGroup,
    PodOrder,
    PodUse,
    build_job,
    job_name,
)
from steelyard.provision.kubernetes.pod_host import PodHost
from steelyard.provision.kubernetes.release import release
from steelyard.provision.kubernetes.rental import PodRental, PodRentalFile
from steelyard.provision.kubernetes.waiting import JOBS, Wanted, await_pods
from steelyard.transports.kubernetes.api import ApiServer
from steelyard.transports.kubernetes.kubeconfig import find_kubeconfigs, read_access
from steelyard.transports.kubernetes.pods import PodState
from steelyard.transports.kubernetes.transport import PodPlace, PodTransport


@asynccontextmanager
async def lease_pods(
    order: PodOrder, use: PodUse, token: Token, log: Path
) -> AsyncIterator[tuple[PodHost, ...]]:
    """Pods, running and reached; however the block ends, they are given back. Raises HostError."""
    access = read_access(use.kubeconfig, use.context)
    namespace = use.namespace or access.namespace
    folder = str(log.absolute().parent)
    place = os.pathsep.join(str(path.absolute()) for path in find_kubeconfigs(use.kubeconfig))
    rental = PodRental(
        secrets.token_hex(4),
        token.run,
        str(token),
        folder,
        place,
        access.context,
        namespace,
        cordons="drain-nodes" in use.needs,
    )
    async with ApiServer.open(access, namespace) as server:
        await check_capabilities(server, use.needs)
        await check_order(server, order)
        async with _take_pods(server, order, rental) as wanted:
            running = await await_pods(server, f"{LABEL}={rental.id}", list(wanted), use.within)
            hosts = [
                PodHost(_make_way(server, one, running[one], use), group, order, token, log, use)
                for one, group in wanted.items()
            ]
            for host in hosts:
                host.peers = hosts
            async with connect_all(hosts) as reached:
                if use.needs & NETWORK:
                    await check_enforcement(reached)
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
    await release(server, file.lease)
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


def _make_way(server: ApiServer, one: Wanted, pod: PodState, use: PodUse) -> PodTransport:
    place = PodPlace(one.job, one.place)
    return PodTransport(one.host, server, place, connect_within=use.connect_within, known=pod)
