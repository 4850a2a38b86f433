"""What not every service can do: small protocols, asked for with `isinstance`.

That its servers' logs are kept is no capability: the base sees to it for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple, Protocol, runtime_checkable

from steelyard.hosts.base import Host
from steelyard.model.snapshot import Snapshot
from steelyard.snapshots.store import SnapshotStore

Vaults = Callable[[Host], SnapshotStore]
"""Where the files of a snapshot lie, for each host: one place for all, or one of its own."""


@runtime_checkable
class Killable(Protocol):
    """A service whose servers on one host can be ended without notice, and started again."""

    async def kill(self, host: str) -> None:
        """End all servers on the host of this name by SIGKILL. Raises HostError when it has none."""

    async def restart(self, host: str) -> None:
        """Start its ended servers again, with the data that is there; returns when they answer."""


@runtime_checkable
class Pausable(Protocol):
    """A service whose servers on one host can be stopped in the middle of their work."""

    async def pause(self, host: str) -> None:
        """Freeze all servers on the host of this name (SIGSTOP). Raises HostError when it has none."""

    async def resume(self, host: str) -> None:
        """Let them go on (SIGCONT)."""


@runtime_checkable
class Checkpointable(Protocol):
    """A service whose servers can save their state while they run, and be ended and go on from it.

    A snapshot has data, for any servers; a checkpoint is of these processes. Its files stay on their hosts.
    """

    @classmethod
    def is_checkpointable(cls, options: Mapping[str, Any]) -> bool:
        """Whether one can with these options, as they stand in the file."""

    def check_checkpointable(self) -> None:
        """Whether it can with its options. Raises UsageError that says what to give."""

    async def checkpoint(self) -> int:
        """Have all servers save their state; the bytes of their files, once these are synced. Raises
        HostError.
        """

    async def restore(self) -> int:
        """End all servers by SIGKILL, and have new ones that go on from their files; the bytes of these, when
        the servers answer. Raises HostError, also where there is no checkpoint, before anything is ended.
        """

    def state_files(self) -> Sequence[tuple[Host, PurePosixPath]]:
        """Where the last checkpoint lies, on each of its hosts: what lies there is restored."""

    async def restart_ended(self) -> None:
        """Start servers that ended again, as from the beginning."""


@runtime_checkable
class Growable(Protocol):
    """A service that can take in the hosts of `context.spare`, in their order, while it is in use."""

    async def grow(self, to: int) -> None:
        """Have so many hosts; returns when every node sees every node. Raises HostError."""


@runtime_checkable
class Shrinkable(Protocol):
    """A service that can give hosts back, the last first, without losing data."""

    async def shrink(self, to: int) -> None:
        """Have so many hosts; returns when the others hold all data. Raises HostError."""


@runtime_checkable
class Metered(Protocol):
    """A service that tells figures of itself."""

    async def read_meters(self) -> Mapping[str, float]:
        """Figures by name, which ends with the unit if there is one: `pending_compactions`, `used_bytes`."""


@runtime_checkable
class HasMirror(Protocol):
    """A service that may keep a second copy of its data, where it outlives the service."""

    async def prove_mirror(self) -> Mapping[str, Any]:
        """Wait until the mirror has everything, and prove it; call it when nobody writes any more.

        Found: `seconds` by step, `waited` (seconds until nothing was on its way), `keyspaces`, `in_sync`.
        Empty where there is no mirror. Raises HostError that names what differs, or which node has what left
        to hand on.
        """


class NodeState(NamedTuple):
    """A node as the others see it: `up`, `joining`, `leaving`, `paused` or `down`. `load`: bytes of data."""

    host: str
    address: str
    state: str
    load: int | None = None
    tokens: tuple[str, ...] = ()


@runtime_checkable
class HasNodes(Protocol):
    """A service that tells how its nodes are."""

    async def list_nodes(self) -> tuple[NodeState, ...]:
        """All that should be there, in their order. Raises HostError when nobody can tell."""


@runtime_checkable
class Snapshottable(Protocol):
    """A service whose data can be kept and brought back.

    Where it is to be brought back, `ServiceContext.recovering` says so before the servers start.
    """

    async def snapshot(self, vaults: Vaults, name: str) -> Snapshot:
        """Keep the data of all nodes as they are at one moment: the files are in the vaults, its manifest is
        for the caller to publish. The service goes on meanwhile. Raises HostError.
        """

    async def recover(self, vaults: Vaults, snapshot: Snapshot) -> Mapping[str, float]:
        """Have the data of a snapshot and no other; seconds by step, when clients may use it.

        All files are there and checked before anything is changed. Raises HostError that names what is
        wrong.
        """
