"""Have services save their state, keep the files of it, and have services go on from them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from steelyard.controller.deployment.ready_services import Note
from steelyard.controller.deployment.snapshots import Snapshots
from steelyard.controller.scratch import Scratches
from steelyard.hosts.base import Host
from steelyard.model.command import Command
from steelyard.model.snapshot import StoredFile
from steelyard.services.base import Service
from steelyard.services.kit.capabilities import Checkpointable, Vaults

SavedStates = Mapping[str, tuple[StoredFile, ...]]
"""What is kept of a service, by the names of its hosts."""
_COPY = 'cp -- "$1" "$2"'
_FOLDER, _STATE = "checkpoint", "state"


class Checkpoints:
    """Keeps them in the run's scratch on each host, by their SHA-256: what was harmed meanwhile is refused.

    A service has one state file, which its next checkpoint replaces; that of a trial ends with it.
    """

    def __init__(self, snapshots: Snapshots, scratches: Scratches, note: Note) -> None:
        self._snapshots, self._scratches, self._note = snapshots, scratches, note

    def can_save(self, service: Service[Any]) -> bool:
        """Whether it was told how to save its state."""
        return isinstance(service, Checkpointable) and service.is_checkpointable(service.options.model_dump())

    async def save(self, service: Any) -> SavedStates:
        """Have it save its state while it runs, and keep that. Raises HostError."""
        began = time.monotonic()
        size = await service.checkpoint()
        stores = await self._snapshots.open_local_stores(service.context.hosts)
        files = [self._keep(service, host, path, stores) for host, path in service.state_files()]
        saved = dict(await asyncio.gather(*files))
        self._note_done("checkpoint-taken", service, size, began)
        return saved

    async def recover(self, service: Any, saved: SavedStates) -> None:
        """Kill it, and have it go on from what was kept. Raises HostError that names what is harmed."""
        began = time.monotonic()
        stores = await self._snapshots.open_local_stores(service.context.hosts)
        # First, or they might save once more.
        await asyncio.gather(*(server.kill() for server in service.processes()))
        files = [
            self._bring_back(service, host, path, stores, saved[host.name])
            for host, path in service.state_files()
        ]
        await asyncio.gather(*files)
        self._note_done("checkpoint-restored", service, await service.restore(), began)

    async def _keep(
        self, service: Service[Any], host: Host, path: PurePosixPath, stores: Vaults
    ) -> tuple[str, tuple[StoredFile, ...]]:
        """A copy, as the file itself may change."""
        run = service.make_runner(host, "keep-state")
        async with self._scratches.get_scratch(host).make_directory(_FOLDER) as folder:
            await run(_make_copy(path, folder / _STATE))
            return host.name, (await stores(host).keep(run, folder)).files

    async def _bring_back(
        self,
        service: Service[Any],
        host: Host,
        path: PurePosixPath,
        stores: Vaults,
        files: tuple[StoredFile, ...],
    ) -> None:
        run = service.make_runner(host, "bring-back-state")
        async with self._scratches.get_scratch(host).make_directory(_FOLDER) as folder:
            await stores(host).fetch(run, files, folder)
            await run(_make_copy(folder / _STATE, path))

    def _note_done(self, kind: str, service: Service[Any], size: int, began: float) -> None:
        self._note(kind, service=service.context.name, bytes=size, seconds=time.monotonic() - began)


def _make_copy(source: PurePosixPath, target: PurePosixPath) -> Command:
    return Command(("sh", "-eu", "-c", _COPY, "sh", str(source), str(target)))
