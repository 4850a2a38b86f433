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
        if not self._start_future(phase).done():
            self._start_future(phase).set_result(moment)

    def end(self, phase: str | None) -> None:
        """It has ended, however."""
        self._end_event(phase).set()

    async def wait(self, phase: str | None, after: float) -> float:
        """Wait until so long after its beginning; when it began."""
        began = await asyncio.shield(self._start_future(phase))
        await asyncio.sleep(max(0.0, began + after - time.monotonic()))
        return began

    def is_over(self, phase: str | None) -> bool:
        """Whether it has ended."""
        return self._end_event(phase).is_set()

    async def wait_for_end(self, phase: str | None) -> None:
        """Wait until it has ended."""
        await self._end_event(phase).wait()

    def _start_future(self, phase: str | None) -> asyncio.Future[float]:
        loop = asyncio.get_running_loop()
        return self._began.setdefault(phase, loop.create_future())

    def _end_event(self, phase: str | None) -> asyncio.Event:
        return self._ended.setdefault(phase, asyncio.Event())
