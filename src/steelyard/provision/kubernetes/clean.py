"""Remove what dead controllers left in clusters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing

from steelyard.errors import SteelyardError
from steelyard.provision.kubernetes.rental import SUFFIX, PodRental, PodRentalFile
from steelyard.provision.lease_files import leases_folder


def clean_pods(is_dead: Callable[[PodRental], bool]) -> tuple[dict[str, list[str]], list[str]]:
    """Remove what every dead run of this user left: in words by run, and what could not be removed.

    Two things must both say that it is dead: its file can be locked, which its controller would hold, and
    `is_dead`. What fails is reported, never raised. Where no pods were ever asked for, no cluster is asked.
    """
    removed: dict[str, list[str]] = {}
    problems: list[str] = []
    for path in sorted(leases_folder().glob(f"*{SUFFIX}")):
        try:
            file = PodRentalFile.from_abandoned(path)
            if file:
                with closing(file):
                    if is_dead(file.rental):
                        names = asyncio.run(_remove(file))
                        removed.setdefault(file.rental.run, []).extend(names)
        except SteelyardError as error:
            problems.append(str(error))
        except ModuleNotFoundError as error:
            problems.append(
                f"{path} needs the Python package {error.name}: pip install steelyard[kubernetes]"
            )
    return removed, problems


async def _remove(file: PodRentalFile) -> list[str]:
    # aiohttp is needed only where pods were asked for.
    from steelyard.provision.kubernetes.release import release
    from steelyard.transports.kubernetes.api import ApiServer
    from steelyard.transports.kubernetes.kubeconfig import read_access

    rental = file.rental
    async with ApiServer.open(read_access(rental.kubeconfig, rental.context), rental.namespace) as server:
        names = await release(server, rental)
    file.remove()
    return names
