"""A program on a far host whose output is brought here."""

from __future__ import annotations

import asyncio

from steelyard.hosts.agent.child import AgentChild
from steelyard.hosts.agent.output import OutputFollower
from steelyard.model.command import Exit


class FollowedProcess:
    """See `Process`. Its output comes here while it runs."""

    def __init__(self, child: AgentChild, output: OutputFollower) -> None:
        self._child, self._output = child, output
        self._end = asyncio.create_task(self._await_exit())
        self._end.add_done_callback(_retrieve_exception)

    @property
    def pid(self) -> int:
        """Its process id on its host."""
        return self._child.pid

    async def wait(self) -> Exit:
        """How it ended, once its output is here. Raises HostLost."""
        return await asyncio.shield(self._end)

    async def kill(self, grace: float = 2.0) -> None:
        """End it and all below it; returns when nothing is left, and its output has been brought here.

        Bringing it takes scripts on the host: who stops now shall not leave one of those behind either.
        """
        await self._child.kill(grace)
        await asyncio.wait([self._end])

    async def _await_exit(self) -> Exit:
        following = asyncio.create_task(self._output.follow())
        try:
            ended = await self._child.wait()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        await self._output.finish()
        return ended


def _retrieve_exception(task: asyncio.Task[Exit]) -> None:
    """Nobody has to ask how it ended."""
    if not task.cancelled():
        task.exception()
