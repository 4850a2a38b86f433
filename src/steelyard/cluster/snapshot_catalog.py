"""The snapshots of one place, asked from this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence

from steelyard.controller.loop import complete
from steelyard.model.snapshot import Snapshot
from steelyard.snapshots.store import SnapshotStore, make_local_runner


class SnapshotCatalog:
    """Where snapshots lie. All methods raise HostError or StoreError that names the place."""

    def __init__(self, place: str) -> None:
        self.place, self._run = place, make_local_runner()
        self._vault = SnapshotStore.from_place(place, os.environ)

    def list_names(self) -> list[str]:
        """Of all complete ones, oldest first."""
        return complete(self._vault.list_names(self._run))

    def read_all(self) -> list[Snapshot]:
        """All of them, oldest first."""

        async def read() -> list[Snapshot]:
            return [
                await self._vault.read(self._run, name) for name in await self._vault.list_names(self._run)
            ]

        return complete(read())

    def read(self, name: str) -> Snapshot:
        """One of them. Raises UnknownName."""
        return complete(self._vault.read(self._run, name))

    def remove(self, names: Sequence[str]) -> int:
        """Remove some, and the files that no other one has; how many bytes are free now."""
        return complete(self._vault.remove(self._run, names))
