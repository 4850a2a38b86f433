"""What not every service can do: small protocols, asked for with `isinstance`.

That its servers' logs are kept is no capability: the base sees to it for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable


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

    async def meters(self) -> Mapping[str, float]:
        """Figures by name, which ends with the unit if there is one: `pending_compactions`, `used_bytes`."""
