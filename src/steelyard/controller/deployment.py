"""The services of an experiment: deployed for the run or for a trial, watched, always torn down."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.controller.crew import Crew
from steelyard.controller.scratch import Scratches
from steelyard.errors import HostError, HostLost, TrialFailure
from steelyard.model.command import Endpoint
from steelyard.model.experiment import Experiment
from steelyard.model.lifetimes import deployment
from steelyard.model.trial import Cell
from steelyard.model.uses import ServiceUse
from steelyard.remote.base import Host
from steelyard.remote.tasks import first, tasks
from steelyard.services.base import Metered, Service, ServiceContext, Share
from steelyard.spec.bind import bound_service, service_class
from steelyard.spec.placing import placing, service_hosts
from steelyard.store.layout import RunFolder

Note = Callable[..., None]


class Deployed:
    """Services that are ready. `endpoints` are by the name that the experiment gives each."""

    def __init__(self) -> None:
        self.endpoints: dict[str, Endpoint] = {}
        self.services: list[Service[Any]] = []

    def metered(self) -> dict[str, Metered]:
        """Those that tell figures of themselves, by name."""
        return {each.context.name: each for each in self.services if isinstance(each, Metered)}

    async def first_death(self) -> str:
        """Wait until a server of any of them ends by itself, and say which."""
        async with tasks(*(service.died() for service in self.services)) as watches:
            return (await first(watches)).result()


@dataclass(frozen=True)
class Kept:
    """A service that outlives a trial: for which cells (`lifetimes.deployment`), and what ends it."""

    wanted: str | None
    service: Service[Any]
    scope: AsyncExitStack

    def serves(self, wanted: str | None) -> bool:
        """Whether it is what a cell wants, and all of its servers live."""
        return self.wanted == wanted and not any(server.exit for server in self.service.servers)


class Deployment:
    """Deploys what an experiment asks for. `note` writes a line of the journal."""

    def __init__(
        self, experiment: Experiment, crew: Crew, scratches: Scratches, folder: RunFolder, note: Note
    ) -> None:
        self._experiment, self._crew, self._scratches = experiment, crew, scratches
        self._folder, self._note = folder, note
        self._password = secrets.token_urlsafe(24)
        self._kept: dict[str, Kept] = {}

    @property
    def any(self) -> bool:
        """Whether there is anything to deploy at all."""
        return bool(self._experiment.services)

    async def close(self) -> None:
        """Tear down what outlives a trial, the last first."""
        for name in reversed(list(self._kept)):
            await self._kept.pop(name).scope.aclose()

    @asynccontextmanager
    async def for_trial(self, cell: Cell, number: int) -> AsyncIterator[Deployed]:
        """All services, ready, for as long as the block lasts. Raises TrialFailure, HostLost.

        One that outlives its trial is deployed again when one of its servers has died.
        """
        found = Deployed()
        async with AsyncExitStack() as scope:
            await self._end_stale(cell)
            for name, use in self._experiment.services.items():
                service = await self._service(name, use, cell, number, scope)
                found.endpoints[name] = service.endpoint()
                found.services.append(service)
            yield found

    async def _end_stale(self, cell: Cell) -> None:
        """Those that serve this cell no more go first, so that their hosts are free for what comes."""
        for name, kept in reversed(list(self._kept.items())):
            if not kept.serves(deployment(self._experiment.services[name], cell)):
                del self._kept[name]
                if any(server.exit for server in kept.service.servers):
                    self._note("service-lost", service=name)
                await kept.scope.aclose()

    async def _service(
        self, name: str, use: ServiceUse, cell: Cell, number: int, scope: AsyncExitStack
    ) -> Service[Any]:
        if name in self._kept:
            return self._kept[name].service
        if use.keep == "trial":
            return await self._deploy(name, use, cell, self._folder.trial(number) / "services" / name, scope)
        own = AsyncExitStack()
        try:
            service = await self._deploy(name, use, cell, self._folder.service(name, number), own)
        except BaseException:
            await own.aclose()
            raise
        self._kept[name] = Kept(deployment(use, cell), service, own)
        return service

    async def _deploy(
        self, name: str, use: ServiceUse, cell: Cell, logs: Path, scope: AsyncExitStack
    ) -> Service[Any]:
        context = await self._context(name, use, cell, logs, scope)
        service = bound_service(use, cell, context)
        began = time.monotonic()
        try:
            endpoint = await scope.enter_async_context(service.deployed())
        except HostLost:
            raise
        except HostError as error:
            raise TrialFailure("service-failed", error.message) from error
        self._note(
            "service-ready",
            service=name,
            use=use.use,
            hosts=[host.name for host in context.hosts],
            seconds=round(time.monotonic() - began, 3),
            **{"address": endpoint.address, "port": endpoint.port, **endpoint.facts},
        )
        return service

    async def _context(
        self, name: str, use: ServiceUse, cell: Cell, logs: Path, scope: AsyncExitStack
    ) -> ServiceContext:
        on, spare = service_hosts(use, cell.parameters)
        hosts = tuple(seat.host for seat in self._crew.seats(on))
        more = tuple(seat.host for seat in self._crew.seats(spare)) if spare else ()
        scratch = {
            host.name: await scope.enter_async_context(self._scratches.of(host).directory(f"service-{name}"))
            for host in (*hosts, *more)
        }
        return ServiceContext(
            name,
            hosts,
            scratch,
            logs,
            tuple(dict.fromkeys(host.address for host in self._crew.hosts)),
            self._password,
            service_class(use.use).within,
            more,
            shares((*hosts, *more), parties(self._experiment, self._crew, cell)),
        )


def parties(experiment: Experiment, crew: Crew, cell: Cell) -> list[Host]:
    """A host for each service and each workload on it: as many share its cores and memory."""
    found: list[Host] = []
    for use in experiment.services.values():
        for chosen in filter(None, service_hosts(use, cell.parameters)):
            found += [seat.host for seat in crew.seats(chosen)]
    workers = [crew.seats(placing(use, cell.parameters, experiment).on) for use in experiment.workload]
    return [*found, *{seat.host.name: seat.host for seats in workers for seat in seats}.values()]


def shares(hosts: Iterable[Host], parties: Iterable[Host]) -> dict[str, Share]:
    """What each host has for one service: its machine in equal parts, since hosts may share a machine."""
    count = Counter(host.machine for host in parties)
    return {
        host.name: Share(max(1, host.cores // parts), host.memory // parts)
        for host in hosts
        if (parts := max(1, count[host.machine]))
    }


async def unless_one_dies(deployed: Deployed, work: Coroutine[Any, Any, None], note: Note) -> None:
    """Do the work; should a server die meanwhile that nobody asked to, end the work.

    Raises TrialFailure with its last words.
    """
    if not deployed.services:
        await work
        return
    async with tasks(work, deployed.first_death()) as running:
        if said := (await first(running)).result():
            note("service-died", text=said)
            raise TrialFailure("service-failed", said)
