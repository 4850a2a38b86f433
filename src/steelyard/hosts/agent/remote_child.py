"""A program that an agent started, as far as the controller knows of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from steelyard.errors import HostError
from steelyard.hosts.agent import wire

if TYPE_CHECKING:
    from steelyard.hosts.agent.agent import Agent


class NotStarted(HostError):
    """A program could not be started: `what` was at fault, `errno` names the reason (`ENOENT`)."""

    def __init__(self, name: str, what: str, errno: str) -> None:
        self.what, self.errno = what, errno
        super().__init__(f"host {name}: cannot start: {what}: {errno}")


class RemoteChild:
    """A program that an agent started."""

    def __init__(self, agent: Agent, name: str) -> None:
        self.name, self.pid, self._agent = name, 0, agent
        loop = asyncio.get_running_loop()
        self.begun: asyncio.Future[int] = loop.create_future()
        self._exited: asyncio.Future[wire.Exited] = loop.create_future()

    async def wait(self) -> wire.Exited:
        """How it ended, once nothing is left of it. Raises HostLost."""
        return await asyncio.shield(self._exited)

    async def kill(self, grace: float) -> None:
        """End it and all below it; returns when nothing is left. Raises HostLost."""
        if not self._exited.done():
            await self._agent.ask("kill", self.name, f"{grace:.3f}")
        await self.wait()

    def handle_event(self, event: wire.Event) -> None:
        """Take in what the agent says of it."""
        match event:
            case wire.Started(_, pid) if not self.begun.done():
                self.pid = pid
                self.begun.set_result(pid)
            case wire.Failed(_, what, errno) if not self.begun.done():
                self.fail(NotStarted(self._agent.name, what, errno))
            case wire.Exited() if not self._exited.done():
                self._exited.set_result(event)
                if not self.begun.done():  # it was ended before it could wait for its instant
                    self.begun.set_result(self.pid)

    def fail(self, error: HostError) -> None:
        """Tell everybody who waits for it."""
        for future in (self.begun, self._exited):
            if not future.done():
                future.set_exception(error)
                future.exception()  # nobody has to ask for it
