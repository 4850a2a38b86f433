"""Services that are ready: what is known of them, how long they took, which of them dies."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.errors import TrialFailure
from steelyard.hosts.tasks import run_tasks, wait_first
from steelyard.model.command import Endpoint
from steelyard.model.keys.reference import Known, endpoint_references, find_services
from steelyard.model.keys.uses import ServiceUse
from steelyard.model.metric import Mark

if TYPE_CHECKING:  # what only runs with services use
    from steelyard.services.base import Service
    from steelyard.services.kit.capabilities import Metered

Note = Callable[..., None]


class ReadyServices:
    """Services that are ready. `endpoints` are by the name that the experiment gives each; `fresh` are the
    names of those that live for this trial only. `known` is what `${…}` may name beside parameters.
    """

    def __init__(self, known: Known) -> None:
        self.endpoints: dict[str, Endpoint] = {}
        self.known = dict(known)
        self.services: list[Service[Any]] = []
        self.fresh: set[str] = set()

    def add(self, service: Service[Any], *, fresh: bool) -> None:
        """One more is ready."""
        name, endpoint = service.context.name, service.endpoint()
        self.services.append(service)
        self.endpoints[name] = endpoint
        addresses = tuple(host.address for host in service.context.hosts)
        self.known |= endpoint_references(name, endpoint, addresses)
        if fresh:
            self.fresh.add(name)

    def select_endpoints(
        self, options: Mapping[str, Any], services: Mapping[str, ServiceUse]
    ) -> dict[str, Endpoint]:
        """Those that options name."""
        return {
            name: self.endpoints[name]
            for name in sorted(find_services(options, services) & self.endpoints.keys())
        }

    @property
    def services_by_name(self) -> dict[str, Service[Any]]:
        """By the name that the experiment gives each."""
        return {service.context.name: service for service in self.services}

    def times(self) -> dict[str, float]:
        """Figures of the trial: how long those took that were deployed for it."""
        own = (service for service in self.services if service.context.name in self.fresh)
        return {
            f"{each.context.name}_{step}_time": took for each in own for step, took in each.durations.items()
        }

    def marks(self) -> list[Mark]:
        """Of each trial that they serve."""
        return [mark for service in self.services for mark in service.marks]

    def metered_services(self) -> dict[str, Metered]:
        """Those that tell figures of themselves, by name."""
        if not self.services:
            return {}
        from steelyard.services.kit.capabilities import Metered

        return {each.context.name: each for each in self.services if isinstance(each, Metered)}

    async def wait_for_death(self) -> str:
        """Wait until a server of any of them ends by itself, and say which."""
        async with run_tasks(*(service.wait_for_death() for service in self.services)) as watches:
            return (await wait_first(watches)).result()


@dataclass(frozen=True)
class LastingService:
    """A service that outlives a trial: for which cells (`lifetimes.deployment_key`), and what ends it."""

    key: str | None
    service: Service[Any]
    scope: AsyncExitStack

    def is_valid_for(self, wanted: str | None) -> bool:
        """Whether it is what a cell wants, and all of its servers live."""
        return self.key == wanted and not any(process.exit for process in self.service.processes())


async def run_while_alive(deployed: ReadyServices, work: Coroutine[Any, Any, None], note: Note) -> None:
    """Do the work; should a server die meanwhile that nobody asked to, end the work.

    Raises TrialFailure with its last words.
    """
    if not deployed.services:
        await work
        return
    async with run_tasks(work, deployed.wait_for_death()) as running:
        if said := (await wait_first(running)).result():
            note("service-died", text=said)
            raise TrialFailure("service-failed", said)
