"""The snapshots of one place, asked from this machine."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from steelyard.model.snapshot import Snapshot
from steelyard.report.columns import align
from steelyard.units import show, show_span

T = TypeVar("T")
DAY = 86400.0


class SnapshotCatalog:
    """Where snapshots lie. All methods raise HostError or StoreError that names the place."""

    def __init__(self, place: str) -> None:
        import os

        from steelyard.snapshots.store import SnapshotStore, make_local_runner

        self.place, self._vault, self._run = (
            place,
            SnapshotStore.from_place(place, os.environ),
            make_local_runner(),
        )

    def list_names(self) -> list[str]:
        """Of all complete ones, oldest first."""
        return _complete(self._vault.list_names(self._run))

    def read_all(self) -> list[Snapshot]:
        """All of them, oldest first."""

        async def read() -> list[Snapshot]:
            return [
                await self._vault.read(self._run, name) for name in await self._vault.list_names(self._run)
            ]

        return _complete(read())

    def read(self, name: str) -> Snapshot:
        """One of them. Raises UnknownName."""
        return _complete(self._vault.read(self._run, name))

    def remove(self, names: Sequence[str]) -> int:
        """Remove some, and the files that no other one has; how many bytes are free now."""
        return _complete(self._vault.remove(self._run, names))


def format_table(snapshots: Sequence[Snapshot], now: float | None = None) -> list[str]:
    """A line for each, newest first, below a heading."""
    moment = time.time() if now is None else now
    rows = [("name", "size", "nodes", "rows", "age", "job", "from")]
    for one in sorted(snapshots, key=lambda one: one.taken, reverse=True):
        about = show(one.size, "B"), str(len(one.nodes)), f"~{one.rows}", _format_age(moment - one.taken)
        rows.append((one.name, *about, one.job or "-", one.site))
    return align(rows)


def describe_snapshot(one: Snapshot) -> dict[str, Any]:
    """For machines."""
    about = one.model_dump(
        mode="json", include={"name", "service", "version", "taken", "origin", "job", "site"}
    )
    return {**about, "bytes": one.size, "nodes": len(one.nodes), "rows": one.rows, "spread": one.spread}


def _format_age(seconds: float) -> str:
    return show_span(seconds) if seconds < DAY else f"{seconds / DAY:.0f} d"


def _complete(work: Coroutine[Any, Any, T]) -> T:
    from steelyard.controller.loop import complete

    return complete(work)
