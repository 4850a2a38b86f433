"""The services of an experiment: deployed for the run or for a trial, watched, always torn down."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from steelyard.controller.crew import Crew
from steelyard.controller.scratch import Scratches
from steelyard.errors import HostError, HostLost, TrialFailure
from steelyard.model.command import Endpoint
from steelyard.model.experiment import Experiment, ServiceUse
from steelyard.model.roles import Selection
from steelyard.model.trial import Cell
from steelyard.services.base import Service, ServiceContext
from steelyard.spec.bind import bound_service
from steelyard.store.layout import RunFolder

Note = Callable[..., None]


class Deployed:
    """Services that are ready. `endpoints` are by the name that the experiment gives each."""

    def __init__(self) -> None:
        self.endpoints: dict[str, Endpoint] = {}
        self.services: list[Service[Any]] = []

    async def first_death(self) -> str:
        """Wait until a server of any of them ends by itself, and say which; for ever when there is none."""
        watches = [asyncio.ensure_future(service.died()) for service in self.services]
        if not watches:
            await asyncio.Event().wait()
        try:
            done, _ = await asyncio.wait(watches, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            for watch in watches:
                watch.cancel()


class Deployment:
    """Deploys what an experiment asks for. `note` writes a line of the journal."""

    def __init__(
        self, experiment: Experiment, crew: Crew, scratches: Scratches, folder: RunFolder, note: Note
    ) -> None:
        self._uses, self._crew, self._scratches = experiment.services, crew, scratches
        self._folder, self._note = folder, note
        self._password = secrets.token_urlsafe(24)
        self._of_run: tuple[Deployed, AsyncExitStack] | None = None

    @property
    def any(self) -> bool:
        """Whether there is anything to deploy at all."""
        return bool(self._uses)

    async def close(self) -> None:
        """Tear down what lives for the run."""
        if self._of_run:
            _, scope = self._of_run
            self._of_run = None
            await scope.aclose()

    @asynccontextmanager
    async def for_trial(self, cell: Cell, number: int) -> AsyncIterator[Deployed]:
        """All services, ready, for as long as the block lasts. Raises TrialFailure, HostLost.

        Those kept for the run are deployed before its first trial, and again when one of them has died.
        """
        found = Deployed()
        async with AsyncExitStack() as scope:
            kept = await self._kept(cell)
            found.endpoints |= kept.endpoints
            found.services += kept.services
            logs = self._folder.trial(number) / "services"
            await self._deploy(self._with("trial"), cell, logs, scope, found)
            yield found

    async def _kept(self, cell: Cell) -> Deployed:
        if self._of_run and any(server.exit for s in self._of_run[0].services for server in s.servers):
            self._note("services-lost")
            await self.close()
        if self._of_run is None:
            found, scope = Deployed(), AsyncExitStack()
            try:
                await self._deploy(self._with("run"), cell, self._folder.services, scope, found)
            except BaseException:
                await scope.aclose()
                raise
            self._of_run = (found, scope)
        return self._of_run[0]

    def _with(self, keep: str) -> dict[str, ServiceUse]:
        return {name: use for name, use in self._uses.items() if use.keep == keep}

    async def _deploy(
        self, uses: Mapping[str, ServiceUse], cell: Cell, logs: Path, scope: AsyncExitStack, to: Deployed
    ) -> None:
        for name, use in uses.items():
            context = await self._context(name, use, logs / name, scope)
            service = bound_service(use, cell, context)
            try:
                endpoint = await scope.enter_async_context(service.deployed())
            except HostLost:
                raise
            except HostError as error:
                raise TrialFailure("service-failed", error.message) from error
            to.endpoints[name] = endpoint
            to.services.append(service)
            hosts = [host.name for host in context.hosts]
            facts = {"address": endpoint.address, "port": endpoint.port, **endpoint.facts}
            self._note("service-ready", service=name, use=use.use, hosts=hosts, **facts)

    async def _context(self, name: str, use: ServiceUse, logs: Path, scope: AsyncExitStack) -> ServiceContext:
        hosts = tuple(seat.host for seat in self._crew.seats(Selection.parse(use.on)))
        scratch = {
            host.name: await scope.enter_async_context(self._scratches.of(host).directory(f"service-{name}"))
            for host in hosts
        }
        clients = tuple(dict.fromkeys(host.address for host in self._crew.hosts))
        return ServiceContext(name, hosts, scratch, logs, clients, self._password)


async def unless_one_dies(deployed: Deployed, work: Coroutine[Any, Any, None]) -> None:
    """Do the work; should a server die meanwhile, end the work. Raises TrialFailure with its last words."""
    if not deployed.services:
        await work
        return
    working, death = asyncio.ensure_future(work), asyncio.ensure_future(deployed.first_death())
    try:
        await asyncio.wait([working, death], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        else:
            raise TrialFailure("service-failed", death.result())
    finally:
        for task in (working, death):
            task.cancel()
        await asyncio.wait([working, death])
