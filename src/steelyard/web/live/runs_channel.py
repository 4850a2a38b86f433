"""The list of runs while it is looked at: rows that change, and runs that come and go."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

from steelyard.web.live.channel import LiveChannel, View
from steelyard.web.runs_index import RunsIndex, RunsPage, RunsQuery

LOOK_EVERY = 1.0


class RunsChannel(LiveChannel):
    """The runs that a query finds. Its numbers are times in milliseconds, which a new server goes on with."""

    def __init__(self, index: RunsIndex, query: RunsQuery) -> None:
        super().__init__()
        self._index, self._query = index, query
        self._order: tuple[tuple[str, ...], str] = ((), "")
        self.page = RunsPage([], 0, more=False)

    async def enter(self, stack: AsyncExitStack) -> None:
        """Nothing is needed: to look at what is known takes a millisecond."""

    async def look(self) -> View:
        """What is known at once; a filter may have to read many journals."""
        select = self._index.select
        self.page = (
            await asyncio.to_thread(select, self._query) if self._query.is_filter else select(self._query)
        )
        rows = {name: self.draw(name, "run_row", run) for run in self.page.runs if (name := f"run-{run.run}")}
        return View(int(time.time() * 1000), {"runs": self._draw_body(rows), **rows})

    async def wait(self) -> None:
        """A moment."""
        await asyncio.sleep(LOOK_EVERY)

    def _draw_body(self, rows: dict[str, str]) -> str:
        """All rows, anew only where other runs are shown than before: else each changes by itself."""
        ids = tuple(rows)
        if self._order[0] != ids:
            self._order = (ids, f'<tbody id="runs">{"".join(rows.values())}</tbody>')
        return self._order[1]
