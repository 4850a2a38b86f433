"""Calls of a scheduler's commands: in which environment, how patiently, and what an answer must be."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from steelyard.errors import HostError, ParseFailure
from steelyard.remote.call import Answer, call
from steelyard.sites.kit.batch.options import BatchOptionsT
from steelyard.sites.kit.batch.scheduler import Scheduler

Understood = TypeVar("Understood")


class Caller(Protocol):
    """Runs a scheduler's command; `steelyard.remote.call.call`, or a stand-in."""

    def __call__(
        self, argv: Sequence[str], *, stdin: str | None = None, env: Mapping[str, str] | None = None
    ) -> Awaitable[Answer]:
        """What the command said. Raises HostError when it is missing."""


class SchedulerCalls(Scheduler[BatchOptionsT]):
    """A scheduler whose commands can be called. Waits and patience are in seconds.

    `caller` runs the scheduler's commands. `retry_timeout`: for how long a scheduler may be out of reach.
    `first_pause`, `last_pause`: between two looks at a job; pauses grow while nothing changes.
    """

    caller: Caller = staticmethod(call)
    retry_timeout: float = 60.0
    first_pause: float = 0.2
    last_pause: float = 10.0

    async def _ask(
        self, argv: tuple[str, ...], *, stdin: str | None = None, again_after_silence: bool = True
    ) -> Answer:
        """Call the scheduler, again while it cannot be reached, with growing pauses, until patience ends."""
        deadline, pause = time.monotonic() + self.retry_timeout, self.first_pause
        while True:
            answer = await self.caller(argv, stdin=stdin, env=self._environment())
            silent = answer.code is None
            if silent and not again_after_silence:
                return answer
            if not silent and not (
                answer.has_failed and self.unreachable_pattern.search(answer.stderr + answer.stdout)
            ):
                return answer
            if time.monotonic() + pause > deadline:
                hint = "queued and running jobs are not affected; try again when it is available"
                raise HostError(f"{self.title} cannot be reached: {argv[0]}: {answer.complaint}", hint=hint)
            await asyncio.sleep(pause)
            pause = min(pause * 2, self.last_pause)

    async def _ask_once(self, argv: tuple[str, ...]) -> Answer:
        """Call the scheduler for what we can do without: it is not waited for. Raises HostError."""
        return await self.caller(argv, env=self._environment())

    def _parse_answer(self, argv: tuple[str, ...], parse: Callable[[], Understood]) -> Understood:
        """What a parser makes of an answer. Raises HostError when it is not in the scheduler's language."""
        try:
            return parse()
        except ParseFailure as error:
            hint = f"is another {argv[0]} first on PATH? The first one is used as {self.title}'s command"
            raise HostError(
                f"{argv[0]} printed output that cannot be parsed: {error.message}", hint=hint
            ) from error

    def _environment(self) -> dict[str, str]:
        """Ours, in the C locale, without what would filter a list or describe another job of ours."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in self.env_filter_exceptions
            or not name.startswith((*self.env_filter_prefixes, "STEELYARD_TOKEN", "STEELYARD_CHILD"))
        }
        return kept | {"LC_ALL": "C"}
