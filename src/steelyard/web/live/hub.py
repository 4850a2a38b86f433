"""The channels of a server: one for each run and each list that somebody looks at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

from steelyard.store.layout import RunFolder
from steelyard.web.live.changes import Changes
from steelyard.web.live.channel import LiveChannel
from steelyard.web.live.run_channel import RunChannel
from steelyard.web.live.runs_channel import RunsChannel
from steelyard.web.runs_index import RunsIndex, RunsQuery

MOST_IDLE = 20
"""Channels that nobody follows and that are kept all the same, as somebody may come back."""
Kind = TypeVar("Kind", bound=LiveChannel)


class Hub:
    """Finds or opens channels."""

    def __init__(self, index: RunsIndex) -> None:
        self._index, self._changes = index, Changes()
        self._channels: dict[Hashable, LiveChannel] = {}

    def follow_run(self, folder: RunFolder) -> RunChannel:
        """That of a run."""
        return self._find(folder.path, lambda: RunChannel(folder, self._changes))

    def follow_runs(self, query: RunsQuery) -> RunsChannel:
        """That of a list."""
        return self._find(query, lambda: RunsChannel(self._index, query))

    async def close(self) -> None:
        """Stop looking at anything."""
        await asyncio.gather(*(channel.close() for channel in self._channels.values()))
        await self._changes.close()

    def _find(self, key: Hashable, make: Callable[[], Kind]) -> Kind:
        channel = self._channels.pop(key, None) or make()
        self._channels[key] = channel  # the newest last
        idle = [each for each, one in self._channels.items() if not one.is_followed]
        for each in idle[:-MOST_IDLE]:
            del self._channels[each]
        return cast(Kind, channel)
