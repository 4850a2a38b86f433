"""Watch the conditions of `alert` while a trial runs, and tell when one begins to hold, or holds no more."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Mapping, Set
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from steelyard.controller.attempt import Attempt
from steelyard.controller.context import RunContext
from steelyard.controller.timeline.states import read_states
from steelyard.errors import HostError
from steelyard.hosts.tasks import run_tasks
from steelyard.model.expression import ExpressionError
from steelyard.model.keys.alert import Alert
from steelyard.model.keys.condition import parse_condition
from steelyard.services.base import Service
from steelyard.spec.checks.timeline import ONLY
from steelyard.spec.metrics import declared_metrics
from steelyard.store.journal import parse_object
from steelyard.store.tail import Tail

LOOK_EVERY = 1.0


class AlertRule:
    """One rule and how it stands, from one trial to the next: only what changes is told."""

    def __init__(self, rule: Alert) -> None:
        self.rule, self.condition = rule, parse_condition(rule.when)
        self.holds = False
        self._since: float | None = None

    def take_in(self, value: bool, now: float) -> bool:
        """The condition at a moment; whether that changes how the rule stands."""
        self._since = (self._since if self._since is not None else now) if value else None
        holds = self._since is not None and (self.holds or now - self._since >= self.rule.hold)
        changed, self.holds = holds != self.holds, holds
        return changed


class AlertMonitor:
    """The rules of an experiment, over all trials of a session."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._rules = [AlertRule(rule) for rule in context.experiment.alert]
        metrics = declared_metrics(context.experiment, context.design.cells).values()
        self._sums = {metric.name for metric in metrics if metric.over_copies == "sum"}

    @asynccontextmanager
    async def watch_trial(
        self, attempt: Attempt, services: Mapping[str, Service[Any]]
    ) -> AsyncIterator[None]:
        """Look every second, for as long as the block lasts."""
        figures = LiveFigures(self._context, attempt.number, self._sums)
        async with run_tasks(self._follow(attempt, figures, services)):
            yield

    async def _follow(
        self, attempt: Attempt, figures: LiveFigures, services: Mapping[str, Service[Any]]
    ) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            values = figures.read()
            for index, rule in enumerate(self._rules):
                holds = await _evaluate(rule, values, services)
                if holds is not None and rule.take_in(holds, time.monotonic()):
                    self._tell(rule, index, attempt)

    def _tell(self, rule: AlertRule, index: int, attempt: Attempt) -> None:
        facts = {"trial": attempt.number, "rule": index, "when": rule.rule.when}
        self._context.note("alert", sync=False, **facts, holds=rule.holds)
        told = attempt.trial.describe()
        self._context.observer.on_alert(self._context.folder, rule.rule, told, holds=rule.holds)


async def _evaluate(
    rule: AlertRule, figures: Mapping[str, float], services: Mapping[str, Service[Any]]
) -> bool | None:
    """Whether a condition holds; None where nothing can be said just now."""
    try:
        states = await read_states(services, [name for name in rule.condition.names if "." in name])
        return bool(rule.condition.value({**figures, **states}))
    except (HostError, ExpressionError, LookupError):
        return None


class LiveFigures:
    """The newest figures that the copies of a trial's workload have told, taken together."""

    def __init__(self, context: RunContext, number: int, sums: Set[str]) -> None:
        self._folder, self._number, self._sums = context.folder, number, sums
        uses = context.experiment.workload
        self._prefixes = {use.phase or ONLY: context.experiment.metric_prefix(use) for use in uses}
        self._tails: dict[Path, Tail] = {}
        self._newest: dict[Path, dict[str, float]] = {}

    def read(self) -> dict[str, float]:
        """By metric: the sum of all copies, or the largest where a sum says nothing."""
        for path in self._folder.list_samples(self._number):
            tail = self._tails.setdefault(path, Tail(path, parse_object))
            prefix = self._prefixes.get(path.parent.name.partition(".")[0], "")
            with suppress(OSError):
                for line in tail.read_new_lines():
                    told = {prefix + name: value for name, value in (line.get("values") or {}).items()}
                    self._newest.setdefault(path, {}).update(told)
        names = {name for values in self._newest.values() for name in values}
        return {name: self._take_together(name) for name in names}

    def _take_together(self, name: str) -> float:
        values = [float(copy[name]) for copy in self._newest.values() if name in copy]
        return math.fsum(values) if name in self._sums else max(values)
