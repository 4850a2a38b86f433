"""A page that is alive, drawn once for all who look at it, and sent to each in parts that have changed.

A part is an element of the page. A lasting one comes with the number of the state that it shows: who returns
with the number that it saw last gets what has changed since, and nothing else, however long it was away. A
fleeting one, as the newest samples, is always sent to who comes. A slow reader makes nobody wait: when it has
read one update, the next holds all that has changed meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from steelyard.errors import SteelyardError
from steelyard.web.render import draw_part

BEAT_EVERY = 15.0
"""Seconds after which viewers hear that we are still there; proxies end what is silent."""


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
        """As a server-sent event (HTML Living Standard, section 9.2), encoded once for all.

        Where nothing has changed, a line without meaning says that we are still there.
        """
        if not self.parts and not self.over:
            return b": here\n\n"
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
        self._drawn: dict[str, tuple[tuple[Any, ...], str]] = {}
        self._viewers = 0
        self._news, self._looking = asyncio.Event(), asyncio.Lock()
        self._told = time.monotonic()
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
            self._take(view)
        return view

    async def follow(self, after: int) -> AsyncGenerator[Update, None]:
        """What has changed since a number, again and again, until it is over."""
        self._viewers += 1
        if self._task is None or self._task.done() or self._task.cancelling():  # the last viewer just left
            self._task = asyncio.create_task(self._run())
        try:
            while not self._looks:
                await self._news.wait()
            update, seen = self._collect(after), self._looks
            while True:
                yield update
                if update.over:
                    return
                while self._looks == seen:
                    await self._news.wait()
                update, seen = self._collect_since(seen), self._looks
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

    def draw(self, name: str, macro: str, *facts: Any) -> str:
        """A part by a macro of `parts.html.j2`, drawn anew only where its facts are others than before."""
        known = self._drawn.get(name)
        if known is None or known[0] != facts:
            known = self._drawn[name] = (facts, draw_part("parts.html.j2", macro, *facts))
        return known[1]

    def _collect(self, after: int) -> Update:
        """What somebody lacks who has seen a number."""
        lacking = (
            (name, part.html)
            for name, part in self._parts.items()
            if part.number is None or part.number > after
        )
        return Update(dict(lacking), self._number, self._over)

    def _collect_since(self, seen: int) -> Update:
        """What somebody lacks who has seen a look; most have seen the same, so they get the same."""
        if seen not in self._updates:
            changed = {name: part.html for name, part in self._parts.items() if part.look > seen}
            self._updates[seen] = Update(changed, self._number, self._over)
        return self._updates[seen]

    async def _run(self) -> None:
        async with AsyncExitStack() as stack:
            await self.enter(stack)
            while not self._over:
                try:
                    await self.read()
                except SteelyardError:
                    self._take(View(self._number, {}, over=True))  # the page, asked anew, says why
                if time.monotonic() - self._told > BEAT_EVERY:
                    self._tell()
                if not self._over:
                    await self.wait()

    def _take(self, view: View) -> None:
        """Keep what has changed, and wake who follows if anything has."""
        changed = [name for name, html in view.parts.items() if self._html_of(name) != html]
        if not changed and not view.over and self._looks:
            return
        self._number, self._over = max(self._number, view.number), view.over
        for name in changed:
            number = self._number if name in view.lasting else None
            self._parts[name] = _ShownPart(view.parts[name], number, self._looks + 1)
        self._tell()

    def _tell(self) -> None:
        """Wake all who follow. An event is cheaper than a condition, whose lock they would take in turn."""
        self._looks += 1
        self._told = time.monotonic()
        self._updates.clear()
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _html_of(self, name: str) -> str | None:
        part = self._parts.get(name)
        return part.html if part else None
