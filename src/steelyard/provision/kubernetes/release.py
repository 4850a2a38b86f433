"""Give back all that bears a label. Safe to do again, and to do when only half of it was ever there."""

from __future__ import annotations

import asyncio

from steelyard.errors import HostError
from steelyard.provision.kubernetes.nodes import uncordon_all
from steelyard.provision.kubernetes.order import LABEL
from steelyard.provision.kubernetes.rental import PodRental
from steelyard.provision.kubernetes.waiting import JOBS, POLL
from steelyard.transports.kubernetes.api import ApiServer
from steelyard.transports.kubernetes.errors import ClusterError

GONE_WITHIN = 120.0
KINDS = (JOBS, "pods", "persistentvolumeclaims")


async def release(server: ApiServer, rental: PodRental, seconds: float = GONE_WITHIN) -> list[str]:
    """Uncordon nodes, delete the Jobs, and wait until all that they own is gone; what was removed, in words.

    Raises HostError that says what may still be there, and when it goes by itself.
    """
    selector = f"{LABEL}={rental.id}"
    try:
        nodes = await uncordon_all(server, rental.id) if rental.cordons else []
        names = [str(job["metadata"]["name"]) for job in await server.list(JOBS, labelSelector=selector)]
        for name in names:
            await server.delete(server.path(JOBS, name), propagationPolicy="Background")
        await _await_gone(server, selector, seconds)
    except ClusterError as error:
        raise HostError(
            f"run {rental.run} could not remove its pods in namespace {rental.namespace}: {error.message}",
            hint=f"it ends by itself after its lease; `steelyard clean` tries again. {error.hint}".strip(),
        ) from error
    return [*(f"cordon of node {node}" for node in nodes), *(f"Job {name}" for name in names)]


async def _await_gone(server: ApiServer, selector: str, seconds: float) -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    while left := [each for kind in KINDS for each in await server.list(kind, labelSelector=selector)]:
        if asyncio.get_running_loop().time() > deadline:
            names = ", ".join(str(each["metadata"]["name"]) for each in left[:8])
            hint = "a node that does not answer keeps its pods; `kubectl describe` tells more"
            raise HostError(f"still there {seconds:g} s after they were deleted: {names}", hint=hint)
        await asyncio.sleep(POLL)
