"""Remove what dead controllers left in clusters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from steelyard.errors import HostError
from steelyard.provision.kubernetes.rental import PodRental, PodRentalFile


def clean_pods(is_dead: Callable[[PodRental], bool]) -> tuple[dict[str, list[str]], list[str]]:
    """Remove what every dead run of this user left: in words by run, and what could not be removed.

    What fails is reported, never raised. Where no pods were ever asked for, no cluster is asked.
    """
    removed: dict[str, list[str]] = {}

    def remove(file: PodRentalFile) -> None:
        try:
            names = asyncio.run(_remove(file))
        except ModuleNotFoundError as error:
            message = f"{file.path} needs the Python package {error.name}"
            raise HostError(message, hint="pip install steelyard[kubernetes]") from error
        removed.setdefault(file.lease.run, []).extend(names)

    return removed, PodRentalFile.give_back(is_dead, remove)


async def _remove(file: PodRentalFile) -> list[str]:
    # aiohttp is needed only where pods were asked for.
    from steelyard.provision.kubernetes.release import release
    from steelyard.transports.kubernetes.api import ApiServer
    from steelyard.transports.kubernetes.kubeconfig import read_access

    rental = file.lease
    async with ApiServer.open(read_access(rental.kubeconfig, rental.context), rental.namespace) as server:
        names = await release(server, rental)
    file.remove()
    return names
