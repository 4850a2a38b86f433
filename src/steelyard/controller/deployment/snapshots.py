"""Take snapshots of services and bring them back; both are told in the journal."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.controller.context import RunContext
from steelyard.controller.deployment.ready_services import Note
from steelyard.controller.scratch import Scratches
from steelyard.errors import HostError, HostLost, TrialFailure, UnknownName
from steelyard.hosts.base import Host
from steelyard.hosts.short_programs import make_runner
from steelyard.model.keys.uses import Recover
from steelyard.model.snapshot import Snapshot, snapshot_name
from steelyard.services.base import Service
from steelyard.services.kit.capabilities import Snapshottable, Vaults
from steelyard.snapshots.store import SnapshotStore

LATEST = "latest"


@contextmanager
def fail_trial() -> Iterator[None]:
    """What a service cannot do fails the trial; that its host is lost ends more than that."""
    try:
        yield
    except HostLost:
        raise
    except HostError as error:
        raise TrialFailure("service-failed", error.message) from error


class Snapshots:
    """Keeps data of services in places that hosts see, or in the run's scratch on each host."""

    def __init__(self, context: RunContext, scratches: Scratches) -> None:
        self._context, self._scratches = context, scratches
        self._note: Note = context.note
        self._job = context.site.site.current_job() or ""
        self._near: dict[str, PurePosixPath] = {}
        self._names: Counter[str] = Counter()
        self._last: dict[str, tuple[Snapshot, str | None]] = {}
        self._scope = AsyncExitStack()

    async def close(self) -> None:
        """Remove what was kept for the run only."""
        await self._scope.aclose()
        self._near.clear()

    async def save(self, service: Service[Any], place: str | None) -> Snapshot:
        """A snapshot in a place, by default the store's; complete there, or absent. Raises HostError."""
        vault = self._snapshot_store(place)
        began = time.monotonic()
        snapshot = await self._take_snapshot(service, lambda _: vault)
        publishing = time.monotonic()
        first = service.context.hosts[0]
        await vault.publish(service.make_runner(first, "publish"), snapshot)
        steps = {**snapshot.steps, "publish": time.monotonic() - publishing}
        snapshot = snapshot.model_copy(update={"steps": steps})
        self._note_snapshot(service, snapshot, time.monotonic() - began, place=vault.place)
        return snapshot

    async def save_as_last(self, service: Service[Any], place: str | None) -> Snapshot:
        """A snapshot in a place; with None for this run. Raises HostError."""
        snapshot = await (self.save_local(service) if place is None else self.save(service, place))
        self._last[service.context.name] = snapshot, place
        return snapshot

    async def recover_last(self, service: Service[Any]) -> Mapping[str, float]:
        """What `save_as_last` took last of a service is brought back; seconds by step. Raises HostError."""
        if service.context.name not in self._last:
            raise HostError(f"there is no snapshot of {service.context.name} to restore: none was taken")
        snapshot, place = self._last[service.context.name]
        return await (
            self.recover_local(service, snapshot) if place is None else self.recover(service, snapshot, place)
        )

    async def save_local(self, service: Service[Any]) -> Snapshot:
        """A snapshot for this run: each host keeps its own files. Raises HostError."""
        began = time.monotonic()
        snapshot = await self._take_snapshot(service, await self.open_local_stores(service.context.hosts))
        self._note_snapshot(service, snapshot, time.monotonic() - began)
        return snapshot

    async def find(self, recover: Recover, host: Host, cwd: PurePosixPath, logs: Path) -> Snapshot:
        """The snapshot that is asked for. Raises HostError, also when there is none."""
        vault = self._snapshot_store(recover.place)
        run = make_runner(host, cwd, logs, "find")
        name = recover.snapshot
        if name == LATEST:
            names = await vault.list_names(run)
            if not names:
                raise HostError(f"there is no snapshot in {vault.place}, so there is no latest one")
            name = names[-1]
        try:
            return await vault.read(run, name)
        except UnknownName as error:
            raise HostError(error.message, hint=error.hint) from error

    async def recover(
        self, service: Service[Any], snapshot: Snapshot, place: str | None
    ) -> Mapping[str, float]:
        """Have a service hold the data of a snapshot in a place; seconds by step. Raises HostError."""
        vault = self._snapshot_store(place)
        return await self._recover_service(service, snapshot, lambda _: vault, place=vault.place)

    async def recover_local(self, service: Service[Any], snapshot: Snapshot) -> Mapping[str, float]:
        """The same with one that the hosts keep for this run."""
        return await self._recover_service(
            service, snapshot, await self.open_local_stores(service.context.hosts)
        )

    async def _take_snapshot(self, service: Service[Any], vaults: Vaults) -> Snapshot:
        if not isinstance(service, Snapshottable):
            raise HostError(f"service {service.context.name} cannot take snapshots")
        snapshot = await service.snapshot(vaults, self._make_name())
        about = {"origin": self._context.folder.id, "job": self._job, "site": self._context.site.name}
        return snapshot.model_copy(update=about)

    def _make_name(self) -> str:
        """Several services are kept within a second, so names that are alike are numbered."""
        name = snapshot_name(time.time(), self._job or self._context.folder.id[-4:])
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}.{self._names[name]}"

    async def _recover_service(
        self, service: Service[Any], snapshot: Snapshot, vaults: Vaults, **more: Any
    ) -> Mapping[str, float]:
        if not isinstance(service, Snapshottable):
            raise HostError(f"service {service.context.name} cannot recover snapshots")
        began = time.monotonic()
        steps = await service.recover(vaults, snapshot)
        took = {"seconds": time.monotonic() - began, "steps": dict(steps)}
        about = {"nodes": len(snapshot.nodes), "hosts": len(service.context.hosts), "rows": snapshot.rows}
        name = service.context.name
        self._note("snapshot-recovered", service=name, snapshot=snapshot.name, **about, **took, **more)
        return steps

    def _note_snapshot(self, service: Service[Any], found: Snapshot, seconds: float, **place: str) -> None:
        self._note(
            "snapshot-taken",
            service=service.context.name,
            snapshot=found.name,
            nodes=len(found.nodes),
            rows=found.rows,
            bytes=found.size,
            copied=found.copied,
            spread=found.spread,
            seconds=seconds,
            steps=found.steps,
            waiting=list(found.waiting),
            left_out=list(found.left_out),
            **place,
        )
        for text in _warnings(service.context.name, found):
            self._note("warning", text=text)

    def _snapshot_store(self, place: str | None) -> SnapshotStore:
        return SnapshotStore.from_place(place or str(self._context.store.snapshots.absolute()), os.environ)

    async def open_local_stores(self, hosts: Sequence[Host]) -> Vaults:
        """Where each host keeps its own files, for this run."""
        for host in hosts:
            if host.name not in self._near:
                made = self._scratches.get_scratch(host).make_directory("snapshots")
                self._near[host.name] = await self._scope.enter_async_context(made)
        return lambda host: SnapshotStore.from_place(str(self._near[host.name]))


def _warnings(service: str, found: Snapshot) -> Iterator[str]:
    what = f"snapshot {found.name} of {service}"
    if found.waiting:
        yield (
            f"{what}: {', '.join(found.waiting)} still held writes for other nodes, so these are "
            "on fewer nodes than they should be. After recovery, read at QUORUM or run a repair; a later "
            "snapshot may be complete"
        )
    if found.left_out:
        yield (
            f"{what} leaves out {', '.join(found.left_out)}: code is not restored with data. Create them "
            "again after recovery"
        )
