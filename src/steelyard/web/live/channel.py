"""A page that is alive, drawn once for all who look at it, and sent to each in parts that have changed.

A part is an element of the page. A lasting one comes with the number of the state that it shows: who returns
with the number that it saw last gets what has changed since, and nothing else, however long it was away. A
fleeting one, as the newest samples, is always sent to who comes. A slow reader makes nobody wait: when it has
read one update, the next holds all that has changed meanwhile.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from steelyard.errors import SteelyardError


@dataclass
class View:
    """What is there to see: the number of this state, parts by the ids of their elements."""

    number: int
    lasting: dict[str, str]
    fleeting: dict[str, str] = field(default_factory=dict)
    over: bool = False

    @property
    def parts(self) -> dict[str, str]:
        """All of them."""
        return self.lasting | self.fleeting


@dataclass(frozen=True)
class Update:
    """What has changed: parts by id. `number`: what to come back with; `over`: it was the last change."""

    parts: Mapping[str, str]
    number: int
    over: bool

    @cached_property
    def event(self) -> bytes:
        """As a server-sent event (HTML Living Standard, section 9.2), encoded once for all."""
        data = json.dumps(self.parts, separators=(",", ":"))
        return f"id: {self.number}\nevent: {'over' if self.over else 'parts'}\ndata: {data}\n\n".encode()


class _ShownPart(NamedTuple):
    """`number`: of the state that it shows, None for a fleeting one; `look`: which look saw it."""

    html: str
    number: int | None
    look: int


class LiveChannel(ABC):
    """Looks for as long as anybody follows."""

    def __init__(self) -> None:
        self._parts: dict[str, _ShownPart] = {}
        self._number, self._over = 0, False
        self._looks = 0  # that brought something
        self._updates: dict[int, Update] = {}  # by the look that a viewer has seen
        self._viewers = 0
        self._moved, self._looking = asyncio.Condition(), asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def enter(self, stack: AsyncExitStack) -> None:
        """Acquire what is needed for as long as anybody follows."""

    @abstractmethod
    async def look(self) -> View:
        """What is there to see now. Raises SteelyardError, which ends the channel."""

    @abstractmethod
    async def wait(self) -> None:
        """Until it may be worth while to look again."""

    @property
    def is_followed(self) -> bool:
        """Whether anybody looks."""
        return self._viewers > 0

    async def read(self) -> View:
        """Everything as it is now, for a page that begins."""
        async with self._looking:
            view = await self.look()
            await self._take(view)
        return view

    async def follow(self, after: int) -> AsyncIterator[Update]:
        """What has changed since a number, again and again, until it is over."""
        self._viewers += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        try:
            update, seen = await self._wait_for_first(after)
            while True:
                if update.parts or update.over:
                    yield update
                if update.over:
                    return
                update, seen = await self._wait_for_next(seen)
        finally:
            self._viewers -= 1
            if not self._viewers and self._task:
                self._task.cancel()

    async def close(self) -> None:
        """Stop looking."""
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _wait_for_first(self, after: int) -> tuple[Update, int]:
        async with self._moved:
            await self._moved.wait_for(lambda: self._looks > 0)
            lacking = (
                (name, part.html)
                for name, part in self._parts.items()
                if part.number is None or part.number > after
            )
            return Update(dict(lacking), self._number, self._over), self._looks

    async def _wait_for_next(self, seen: int) -> tuple[Update, int]:
        """Most viewers have seen the same, so they get the same."""
        async with self._moved:
            await self._moved.wait_for(lambda: self._looks > seen)
            if seen not in self._updates:
                changed = {name: part.html for name, part in self._parts.items() if part.look > seen}
                self._updates[seen] = Update(changed, self._number, self._over)
            return self._updates[seen], self._looks

    async def _run(self) -> None:
        async with AsyncExitStack() as stack:
            await self.enter(stack)
            while not self._over:
                try:
                    await self.read()
                except SteelyardError:
                    await self._take(View(self._number, {}, over=True))  # the page, asked anew, says why
                if not self._over:
                    await self.wait()

    async def _take(self, view: View) -> None:
        """Keep what has changed, and wake who follows if anything has."""
        changed = [name for name, html in view.parts.items() if self._html_of(name) != html]
        if not changed and not view.over and self._looks:
            return
        async with self._moved:
            self._looks += 1
            self._updates.clear()
            self._number, self._over = max(self._number, view.number), view.over
            for name in changed:
                number = self._number if name in view.lasting else None
                self._parts[name] = _ShownPart(view.parts[name], number, self._looks)
            self._moved.notify_all()

    def _html_of(self, name: str) -> str | None:
        part = self._parts.get(name)
        return part.html if part else None
