"""What can be done to the servers of most services: they are processes that take it as processes do."""

from __future__ import annotations

import asyncio
from typing import Protocol

from steelyard.services.kit.server import Server


class HasServers(Protocol):
    """What is asked of the service: its servers on a host, and to have one of them begin once more."""

    def servers_on(self, host: str) -> list[Server]:
        """See `Service`."""

    async def restart_server(self, old: Server) -> None:
        """See `Service`."""


class Disturbable:
    """Beside `Service` it makes one `Killable` and `Pausable` whose servers need no help with either."""

    async def kill(self: HasServers, host: str) -> None:
        """As a crash. Their end is asked for, so no watch complains of it."""
        await asyncio.gather(*(server.kill() for server in self.servers_on(host)))

    async def restart(self: HasServers, host: str) -> None:
        """Those that ended begin again, with the same words and the files that they left."""
        for old in self.servers_on(host):
            if old.exit is not None:
                await self.restart_server(old)

    async def pause(self: HasServers, host: str) -> None:
        """In the middle of their work."""
        await asyncio.gather(*(server.freeze() for server in self.servers_on(host)))

    async def resume(self: HasServers, host: str) -> None:
        """After a pause."""
        await asyncio.gather(*(server.thaw() for server in self.servers_on(host)))
