"""Wakes whoever waits for a file to grow: by inotify, which sees what this machine writes, as it is written.

It is blind to what other machines write to a shared file system. So whoever waits looks again after a while
all the same; inotify only makes it sooner.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from asyncinotify import Inotify, Mask, Watch


class Changes:
    """All files that anybody waits for, by one inotify instance: an account has few of them."""

    def __init__(self) -> None:
        self._inotify: Inotify | None = None
        self._reader: asyncio.Task[None] | None = None
        self._watches: dict[Path, Watch] = {}
        self._users: Counter[Path] = Counter()
        self._events: dict[Path, asyncio.Event] = {}

    @asynccontextmanager
    async def watch(self, path: Path) -> AsyncIterator[asyncio.Event]:
        """An event that is set when the file has changed; never where it cannot be watched."""
        event = self._events.setdefault(path, asyncio.Event())
        self._users[path] += 1
        if path not in self._watches:
            with suppress(OSError):
                self._watches[path] = self._start().add_watch(path, Mask.MODIFY)
        try:
            yield event
        finally:
            self._users[path] -= 1
            if not self._users[path]:
                self._forget(path)

    async def close(self) -> None:
        """Nobody waits any more."""
        if self._reader:
            self._reader.cancel()
            with suppress(asyncio.CancelledError):
                await self._reader
        if self._inotify:
            self._inotify.close()

    def _start(self) -> Inotify:
        if self._inotify is None:
            self._inotify = Inotify()
            self._reader = asyncio.ensure_future(self._read(self._inotify))
        return self._inotify

    async def _read(self, inotify: Inotify) -> None:
        async for change in inotify:
            if change.watch and (event := self._events.get(Path(change.watch.path))):
                event.set()

    def _forget(self, path: Path) -> None:
        del self._users[path], self._events[path]
        watch = self._watches.pop(path, None)
        if watch and self._inotify:
            with suppress(OSError):  # the file is gone, and its watch with it
                self._inotify.rm_watch(watch)


async def wait_for_change(event: asyncio.Event, most: float) -> None:
    """Until the event, or so many seconds; the event is ready to be set again."""
    with suppress(TimeoutError):
        async with asyncio.timeout(most):
            await event.wait()
    event.clear()
