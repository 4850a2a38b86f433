"""Calls of a scheduler's commands: in which environment, how patiently, and what an answer must be."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from steelyard.errors import HostError, ParseFailure
from steelyard.hosts.call import Answer, call
from steelyard.sites.kit.batch.scheduler import Scheduler

Understood = TypeVar("Understood")


class Caller(Protocol):
    """Runs a scheduler's command; `steelyard.hosts.call.call`, or a stand-in."""

    def __call__(
        self, argv: Sequence[str], *, stdin: str | None = None, env: Mapping[str, str] | None = None
    ) -> Awaitable[Answer]:
        """What the command said. Raises HostError when it is missing."""


class SchedulerCalls:
    """Calls the commands of one scheduler. Waits and patience are in seconds.

    `caller` runs the scheduler's commands. `retry_timeout`: for how long a scheduler may be out of reach.
    `first_pause`, `last_pause`: between two looks at a job; pauses grow while nothing changes.
    """

    def __init__(self, scheduler: Scheduler[Any]) -> None:
        self._scheduler = scheduler
        self.caller: Caller = call
        self.retry_timeout, self.first_pause, self.last_pause = 60.0, 0.2, 10.0

    async def ask(
        self, argv: tuple[str, ...], *, stdin: str | None = None, again_after_silence: bool = True
    ) -> Answer:
        """Call the scheduler, again while it cannot be reached, with growing pauses, until patience ends."""
        deadline, pause = time.monotonic() + self.retry_timeout, self.first_pause
        while True:
            answer = await self.caller(argv, stdin=stdin, env=self.make_environment())
            silent = answer.code is None
            if silent and not again_after_silence:
                return answer
            if not silent and not self._is_unreachable(answer):
                return answer
            if time.monotonic() + pause > deadline:
                hint = "queued and running jobs are not affected; try again when it is available"
                name = self._scheduler.name_command(argv)
                raise HostError(
                    f"{self._scheduler.title} cannot be reached: {name}: {answer.complaint}", hint=hint
                )
            await asyncio.sleep(pause)
            pause = min(pause * 2, self.last_pause)

    async def ask_once(self, argv: tuple[str, ...]) -> Answer:
        """Call the scheduler for what we can do without: it is not waited for. Raises HostError."""
        return await self.caller(argv, env=self.make_environment())

    def knows_no_such_job(self, answer: Answer) -> bool:
        """Whether it says that it does not know a job."""
        return bool(self._scheduler.unknown_job_pattern.search(answer.stderr + answer.stdout))

    def parse_answer(self, argv: tuple[str, ...], parse: Callable[[], Understood]) -> Understood:
        """What a parser makes of an answer. Raises HostError when it is not in the scheduler's language."""
        try:
            return parse()
        except ParseFailure as error:
            title, name = self._scheduler.title, self._scheduler.name_command(argv)
            hint = f"is another {name} first on PATH? The first one is used as {title}'s command"
            what = f"{name} printed output that cannot be parsed: {error.message}"
            raise HostError(what, hint=hint) from error

    def make_environment(self) -> dict[str, str]:
        """Ours, in the C locale, without what would filter a list or describe another job of ours."""
        prefixes = (*self._scheduler.env_filter_prefixes, "STEELYARD_TOKEN", "STEELYARD_CHILD")
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in self._scheduler.env_filter_exceptions or not name.startswith(prefixes)
        }
        return kept | {"LC_ALL": "C"}

    def _is_unreachable(self, answer: Answer) -> bool:
        said = answer.stderr + answer.stdout
        return answer.has_failed and bool(self._scheduler.unreachable_pattern.search(said))
