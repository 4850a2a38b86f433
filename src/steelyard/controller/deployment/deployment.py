"""The services of an experiment: deployed for the run or for a trial, watched, always torn down."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from steelyard.controller.context import RunContext
from steelyard.controller.deployment.mounting import find_mounting_hosts
from steelyard.controller.deployment.other_users import find_shared_hosts
from steelyard.controller.deployment.ready_services import LastingService, Note, ReadyServices
from steelyard.controller.deployment.shares import list_occupants, share_machines
from steelyard.controller.deployment.snapshots import Snapshots, fail_trial
from steelyard.controller.placement import Placement
from steelyard.controller.scratch import Scratches
from steelyard.errors import HostError
from steelyard.model.keys.reference import find_services, order_services
from steelyard.model.keys.uses import ServiceUse
from steelyard.model.lifetimes import deployment_key, resolve_recover
from steelyard.model.snapshot import Snapshot
from steelyard.model.trial import Cell
from steelyard.services.base import Service
from steelyard.services.kit.capabilities import HasMirror
from steelyard.services.kit.context import ServiceContext
from steelyard.services.kit.mounting import MountedService
from steelyard.spec.bind import bind_service, service_class
from steelyard.spec.conditions import read_conditions
from steelyard.spec.placement import service_hosts
from steelyard.spec.service_kinds import resolve_service


class Deployment:
    """Deploys what an experiment asks for."""

    def __init__(self, context: RunContext, placement: Placement, scratches: Scratches) -> None:
        self._experiment, self._folder = context.experiment, context.folder
        self._note: Note = context.note
        self._placement, self._scratches = placement, scratches
        self.snapshots = Snapshots(context, scratches)
        self._kept: dict[str, LastingService] = {}
        self._sound = True
        self._find_mounting_hosts = cache(partial(find_mounting_hosts, context=context, placement=placement))

    @property
    def live_services(self) -> dict[str, Service[Any]]:
        """Services that outlive a trial and are there now, by name."""
        return {name: kept.service for name, kept in self._kept.items()}

    async def close(self) -> None:
        """Tear down what outlives a trial, the last first."""
        for name in reversed(list(self._kept)):
            await self._kept.pop(name).scope.aclose()
        await self.snapshots.close()

    async def take_snapshot(self, name: str, place: str | None = None) -> Snapshot:
        """Keep the data of a service that outlives its trial now, where its `save` says unless told.

        Raises HostError.
        """
        save = self._experiment.services[name].save
        if name not in self._kept:
            raise HostError(f"service {name} is no longer running, so it has no data to save")
        return await self.snapshots.save(self._kept[name].service, place or (save.into if save else None))

    async def prove_mirrors(self) -> None:
        """Have services that mirror their data prove that the mirror has everything. Raises HostError."""
        for name, service in self.live_services.items():
            if isinstance(service, HasMirror) and (facts := await service.prove_mirror()):
                self._note("mirror-proven", service=name, **facts)

    async def finish(self, success: bool = True) -> list[Snapshot]:
        """Take the snapshots that `save` plans: of all services, or of those that want it after a failure,
        too. Raises HostError.
        """
        sound = success and self._sound
        plans = {name: use.save for name, use in self._experiment.services.items() if use.save}
        return [
            await self.take_snapshot(name) for name, save in plans.items() if sound or save.when == "always"
        ]

    @asynccontextmanager
    async def deploy_for_trial(self, cell: Cell, number: int) -> AsyncIterator[ReadyServices]:
        """All services, ready, for as long as the block lasts. Raises TrialFailure, HostLost.

        One that outlives its trial is deployed again when one of its servers has died.
        """
        ready = ReadyServices(self._placement.known_values(self._experiment))
        try:
            async with AsyncExitStack() as scope:
                await self._end_stale(cell)
                for name in order_services(self._experiment.services):
                    use = resolve_service(self._experiment.services[name], cell.parameters)
                    service = await self._ensure_service(name, use, cell, number, scope, ready)
                    ready.add(service, fresh=use.keep == "trial")
                yield ready
        except BaseException:
            self._sound = False
            raise

    async def _end_stale(self, cell: Cell) -> None:
        """Those that serve this cell no more go first, so that their hosts are free for what comes."""
        stale = self._find_stale(cell)
        for name, kept in reversed(list(self._kept.items())):
            if name in stale:
                del self._kept[name]
                if any(process.exit for process in kept.service.processes()):
                    self._note("service-lost", service=name)
                await kept.scope.aclose()

    def _find_stale(self, cell: Cell) -> set[str]:
        """With those that were told the port or address of one that goes."""
        services = self._experiment.services
        stale: set[str] = set()
        for name in order_services(services):
            kept = self._kept.get(name)
            fits = kept is not None and kept.is_valid_for(deployment_key(services[name], cell))
            if not fits or find_services(services[name].options, services) & stale:
                stale.add(name)
        return stale

    async def _ensure_service(
        self, name: str, use: ServiceUse, cell: Cell, number: int, scope: AsyncExitStack, there: ReadyServices
    ) -> Service[Any]:
        if name in self._kept:
            return self._kept[name].service
        if use.keep == "trial":
            logs = self._folder.trial(number) / "services" / name
            return await self._deploy(name, use, cell, logs, scope, there)
        own = AsyncExitStack()
        try:
            service = await self._deploy(name, use, cell, self._folder.service(name, number), own, there)
        except BaseException:
            await own.aclose()
            raise
        self._kept[name] = LastingService(deployment_key(self._experiment.services[name], cell), service, own)
        return service

    async def _deploy(
        self, name: str, use: ServiceUse, cell: Cell, logs: Path, scope: AsyncExitStack, there: ReadyServices
    ) -> Service[Any]:
        began = time.monotonic()
        with fail_trial():
            context = replace(
                await self._make_context(name, use, cell, logs, scope),
                levels=dict(cell.parameters),
                known=there.known,
                named_endpoints=there.select_endpoints(use.options, self._experiment.services),
                wrap=read_conditions(use, cell.parameters),
            )
            service = bind_service(use, cell, context, there.known)
            shared = await find_shared_hosts(service, use)
            scope.callback(self._note_complaints, service)
            endpoint = await scope.enter_async_context(service.deploy())
            under = await service.check_conditions()
        self._note(
            "service-ready",
            service=name,
            use=use.use,
            hosts=[host.name for host in context.hosts],
            seconds=round(time.monotonic() - began, 3),
            **{"address": endpoint.address, "port": endpoint.port, **endpoint.facts},
            **({"unauthenticated": "whoever reaches it", "shared": shared} if service.is_open() else {}),
            **({"wrap": {one.who: one.record() for one in under}} if under else {}),
        )
        service.marks += [mark for one in under for mark in one.marks()]
        await self._recover(service, use, cell)
        return service

    def _note_complaints(self, service: Service[Any]) -> None:
        for text in service.complaints:
            self._note("warning", text=text)

    async def _recover(self, service: Service[Any], use: ServiceUse, cell: Cell) -> None:
        """Give a service that has just begun the data with which it is to begin."""
        snapshot, wanted = service.context.snapshot, resolve_recover(use, cell)
        if snapshot and wanted:
            with fail_trial():
                await self.snapshots.recover(service, snapshot, wanted.place)

    async def _make_context(
        self, name: str, use: ServiceUse, cell: Cell, logs: Path, scope: AsyncExitStack
    ) -> ServiceContext:
        on, spare = service_hosts(use, cell.parameters)
        hosts = tuple(slot.host for slot in self._placement.select_slots(on))
        more = tuple(slot.host for slot in self._placement.select_slots(spare)) if spare else ()
        kind = service_class(use.plugin)
        mounting = self._find_mounting_hosts(name) if issubclass(kind, MountedService) else ()
        scratch = {
            host.name: await scope.enter_async_context(
                self._scratches.get_scratch(host).make_directory(f"service-{name}")
            )
            for host in dict.fromkeys((*hosts, *more, *mounting))
        }
        wanted = resolve_recover(use, cell)
        first = hosts[0]
        return ServiceContext(
            name,
            hosts,
            scratch,
            logs,
            tuple(dict.fromkeys(host.address for host in self._placement.hosts)),
            secrets.token_urlsafe(24),
            kind.default_ready_timeout,
            more,
            share_machines((*hosts, *more), list_occupants(self._experiment, self._placement, cell)),
            await self.snapshots.find(wanted, first, scratch[first.name], logs) if wanted else None,
            mount_on=mounting,
        )
