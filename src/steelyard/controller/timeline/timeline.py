"""Fire the events of a trial, at their time or when their condition holds; and heal what they harmed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from steelyard.controller.attempt import Attempt
from steelyard.controller.context import RunContext
from steelyard.controller.timeline.script import EntryOutcome, TimelineScript
from steelyard.controller.timeline.stages import Stages
from steelyard.controller.timeline.states import read_all_states, read_states
from steelyard.errors import HostError, HostLost, TrialFailure, UsageError
from steelyard.events.base import Event, EventContext
from steelyard.hosts.tasks import run_tasks, wait_first
from steelyard.model.expression import Expression, ExpressionError
from steelyard.model.keys.condition import parse_condition
from steelyard.model.keys.timeline import SCRIPT, Entry, event_prefix
from steelyard.model.keys.uses import WorkloadUse
from steelyard.model.metric import Mark
from steelyard.spec.bind import bind_event
from steelyard.spec.checks.timeline import find_phase

GLANCE = 0.5  # seconds between looks at a condition
COMPLETE_WITHIN = 600.0  # seconds for an event without `within`


class Timeline:
    """The events of one trial.

    `figures` are metrics of the trial: how long each event took, and what it tells of itself.
    """

    def __init__(
        self, context: RunContext, attempt: Attempt, event_context: EventContext, stages: Stages
    ) -> None:
        self._experiment = context.experiment
        self._note: Callable[..., None] = context.note
        self._attempt, self._cell = attempt, attempt.cell
        self._event_context, self._stages = event_context, stages
        self.figures: dict[str, float] = {}
        self._events: list[Event[Any]] = []
        self._begun: list[int] = []
        self._done: set[int] = set()

    def check(self) -> None:
        """Whether all events could happen here. Raises TrialFailure that names the entry."""
        for index, entry in enumerate(self._experiment.timeline):
            self._check(index, entry)

    def _check(self, index: int, entry: Entry) -> None:
        try:
            bind_event(entry, self._cell, self._event_context).check()
        except UsageError as error:
            hint = f" ({error.hint})" if error.hint else ""
            raise TrialFailure(
                "event-failed", f"{_format_entry(index, entry)}: {error.message}{hint}"
            ) from error

    @asynccontextmanager
    async def heal_at_exit(self) -> AsyncIterator[None]:
        """Whatever happens in the block, all harm is healed after it, the last first."""
        try:
            yield
        finally:
            await asyncio.shield(self._heal())

    async def run_with_events(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work, and fire the events meanwhile; an event that has begun is waited for.

        Raises what the work raises, and TrialFailure when an event fails.
        """
        async with run_tasks(work, self._play()) as running:
            await asyncio.gather(*running)

    def marks(self) -> list[Mark]:
        """Entries that did not happen, or were not complete when their phase ended."""
        return [
            Mark(
                "incomplete",
                f"{_format_entry(index, entry)}"
                f" {'was not complete' if index in self._begun else 'did not start'} before its phase ended",
            )
            for index, entry in enumerate(self._experiment.timeline)
            if index not in self._done
        ]

    async def _play(self) -> None:
        entries = list(enumerate(self._experiment.timeline))
        once = [(index, entry) for index, entry in entries if entry.every is None]
        again = [self._fire_repeatedly(index, entry) for index, entry in entries if entry.every is not None]
        async with run_tasks(self._fire_in_order(once), *again) as running:
            await asyncio.gather(*running)

    async def _fire_in_order(self, entries: Iterable[tuple[int, Entry]]) -> None:
        for index, entry in entries:
            play = self._run_script if entry.do == SCRIPT else self._fire_when_due
            if await play(index, entry) is None:
                return

    async def _fire_when_due(self, index: int, entry: Entry) -> EntryOutcome | None:
        """Fire an entry when it is due; None when its phase ended before."""
        use = self._phase(entry)
        began = await self._wait_until_due(index, entry, use)
        if began is None:
            return None
        asked = (entry.at or 0.0) if entry.when is None else None
        return await self._fire(index, entry, use, began, asked)

    async def _run_script(self, index: int, entry: Entry) -> int | None:
        """Fire what a function yields, one after the other; how many, or None when a phase ended before.

        What it still waits for when its phase ends is not missed; what it has begun must be complete.
        """
        began = await self._wait_until_due(index, entry, self._phase(entry))
        if began is None:
            return None
        script, outcome, steps = (
            TimelineScript(entry, self._experiment, self._cell, self._attempt.seed),
            None,
            0,
        )
        try:
            while (
                step := script.next_entry(
                    time.monotonic() - began, await read_all_states(self._event_context.services), outcome
                )
            ) is not None:
                self._check(index, step)
                outcome, steps = await self._fire_when_due(index, step), steps + 1
                if outcome is None:
                    return None
        finally:
            script.close()
        if not steps:
            self._done.add(index)
        return steps

    async def _fire_repeatedly(self, index: int, entry: Entry) -> None:
        use, due = self._phase(entry), float(entry.at if entry.at is not None else entry.every or 0.0)
        while True:
            began = await self._wait_within_phase(use, self._stages.wait(use.phase, due))
            if began is None:
                return
            await self._fire(index, entry, use, began, due)
            due += entry.every or 0.0

    async def _wait_until_due(self, index: int, entry: Entry, use: WorkloadUse) -> float | None:
        """Wait for an entry's moment: when its phase began, or None when the phase ended before."""
        began = await self._wait_within_phase(use, self._stages.wait(use.phase, entry.at or 0.0))
        if began is None or entry.when is None:
            return began
        condition = parse_condition(entry.when)
        held = await self._wait_within_phase(use, self._wait_for_condition(index, entry, condition))
        return None if held is None else began

    async def _wait_within_phase(self, use: WorkloadUse, waiting: Coroutine[Any, Any, float]) -> float | None:
        """What comes of the waiting; None when the phase is over first."""
        async with run_tasks(waiting, self._stages.wait_for_end(use.phase)) as running:
            done = await wait_first(running)
            return None if self._stages.is_over(use.phase) else done.result()

    async def _wait_for_condition(self, index: int, entry: Entry, condition: Expression) -> float:
        """Wait until a condition has held as long as asked. Raises TrialFailure when that takes too long."""
        began = since = time.monotonic()
        trouble = ""
        while True:
            try:
                holds = bool(
                    condition.value(await read_states(self._event_context.services, condition.names))
                )
            except HostError as error:
                holds, trouble = False, f"; last error: {error.message}"
            except ExpressionError as error:
                reason = f"'{entry.when}' cannot be evaluated: {error.message}"
                raise TrialFailure("event-failed", f"{_format_entry(index, entry)}: {reason}") from error
            now = time.monotonic()
            since = since if holds else now
            if holds and now - since >= entry.hold:
                return now
            if entry.within is not None and now - began > entry.within:
                reason = f"'{entry.when}' did not become true within {entry.within:g} s{trouble}"
                raise TrialFailure("event-failed", f"{_format_entry(index, entry)}: {reason}")
            await asyncio.sleep(GLANCE)

    async def _fire(
        self, index: int, entry: Entry, use: WorkloadUse, began: float, asked: float | None
    ) -> EntryOutcome:
        """`began` is when its phase did; `asked`, seconds after that, is None for a condition."""
        self._begun.append(index)
        if entry.every is None:
            self._done.discard(index)  # a function's earlier entry may have been complete
        logs = self._event_context.logs / f"{index + 1}-{len(self._begun)}"
        event = bind_event(entry, self._cell, replace(self._event_context, logs=logs))
        self._events.append(event)
        now = time.monotonic()
        about = {
            "trial": self._attempt.number,
            "entry": index,
            "event": entry.do,
            "phase": use.phase,
            "asked": asked,
            "began": now - began,
        }
        self._note("event-began", **about, options=dict(entry.options))
        try:
            async with asyncio.timeout(entry.within or COMPLETE_WITHIN):
                facts = await event.happen()
        except HostLost:
            raise
        except TimeoutError:
            limit = entry.within or COMPLETE_WITHIN
            reason = f"was not complete within {limit:g} s"
            raise TrialFailure("event-failed", f"{_format_entry(index, entry)} {reason}") from None
        except (HostError, UsageError) as error:
            raise TrialFailure("event-failed", f"{_format_entry(index, entry)}: {error.message}") from error
        took = time.monotonic() - now
        self._add_figures(index, event, took, facts)
        self._note("event-ended", **about, took=took, facts=dict(facts))
        if not self._stages.is_over(use.phase):
            self._done.add(index)
        return EntryOutcome(asked, now - began, took, facts)

    def _add_figures(self, index: int, event: Event[Any], took: float, facts: Mapping[str, Any]) -> None:
        if prefix := event_prefix(self._experiment.timeline, index):
            names = [metric.name for metric in event.metrics if metric.name in facts]
            self.figures |= {prefix + name: float(facts[name]) for name in names}
            self.figures[f"{prefix}time"] = took

    async def _heal(self) -> None:
        for event in reversed(self._events):
            try:
                await event.heal()
            except HostError as error:
                self._note(
                    "warning", text=f"trial {self._attempt.number}: cannot heal an event: {error.message}"
                )
        self._events.clear()

    def _phase(self, entry: Entry) -> WorkloadUse:
        use = find_phase(entry, self._experiment)
        if use is None:
            raise TrialFailure("event-failed", f"there is no phase '{entry.during}'")
        return use


def _format_entry(index: int, entry: Entry) -> str:
    return f"entry {index + 1} of the timeline, {entry.do}"
