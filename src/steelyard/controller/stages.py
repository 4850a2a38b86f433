"""When the phases of a trial begin and end."""

from __future__ import annotations

import asyncio
import time


class Stages:
    """When the phases of a trial begin and end; on the monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._began: dict[str | None, asyncio.Future[float]] = {}
        self._ended: dict[str | None, asyncio.Event] = {}

    def begin(self, phase: str | None, moment: float) -> None:
        """A phase begins at this moment, which may lie a little ahead."""
        if not self._start(phase).done():
            self._start(phase).set_result(moment)

    def end(self, phase: str | None) -> None:
        """It has ended, however."""
        self._end(phase).set()

    async def wait(self, phase: str | None, after: float) -> float:
        """Wait until so long after its beginning; when it began."""
        began = await asyncio.shield(self._start(phase))
        await asyncio.sleep(max(0.0, began + after - time.monotonic()))
        return began

    def over(self, phase: str | None) -> bool:
        """Whether it has ended."""
        return self._end(phase).is_set()

    async def ended(self, phase: str | None) -> None:
        """Wait until it has ended."""
        await self._end(phase).wait()

    def _start(self, phase: str | None) -> asyncio.Future[float]:
        loop = asyncio.get_running_loop()
        return self._began.setdefault(phase, loop.create_future())

    def _end(self, phase: str | None) -> asyncio.Event:
        return self._ended.setdefault(phase, asyncio.Event())
