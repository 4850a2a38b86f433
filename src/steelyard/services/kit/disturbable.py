"""What can be done to the servers of most services: they are processes that take it as processes do."""

from __future__ import annotations

import asyncio

from steelyard.services.base import OptionsT, Service


class Disturbable(Service[OptionsT]):
    """A `Killable` and `Pausable` service whose servers need no help with either."""

    async def kill(self, host: str) -> None:
        """As a crash. Their end is asked for, so no watch complains of it."""
        await asyncio.gather(*(server.kill() for server in self.servers_on(host)))

    async def restart(self, host: str) -> None:
        """Those that ended begin again, with the same words and the files that they left."""
        for old in self.servers_on(host):
            if old.exit is not None:
                await self.restart_server(old)

    async def pause(self, host: str) -> None:
        """In the middle of their work."""
        await asyncio.gather(*(server.freeze() for server in self.servers_on(host)))

    async def resume(self, host: str) -> None:
        """After a pause."""
        await asyncio.gather(*(server.thaw() for server in self.servers_on(host)))
