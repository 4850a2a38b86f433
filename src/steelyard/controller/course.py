"""The entries of `workload` in one trial, in their order, on their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

from steelyard.controller.account import Account
from steelyard.controller.crew import Berth
from steelyard.controller.deployed import Deployed
from steelyard.controller.ended import PhaseEnded
from steelyard.controller.phases import PhaseRunner
from steelyard.controller.stages import Stages
from steelyard.model.experiment import Experiment
from steelyard.model.lifetimes import preparing
from steelyard.model.reference import Known
from steelyard.model.trial import Cell
from steelyard.model.uses import WorkloadUse
from steelyard.model.wrap import Conditions
from steelyard.spec.bind import bound
from steelyard.workloads.base import Workload


class Leg(NamedTuple):
    """One entry: what it is, and where its copies are."""

    use: WorkloadUse
    workload: Workload[Any]
    berths: Sequence[Berth]

    def knowing(self, cell: Cell, known: Known) -> Self:
        """The same with what is known once services are there. Raises SpecError when that does not fit."""
        return self._replace(workload=bound(self.use, cell, known))


@dataclass(frozen=True)
class Course:
    """Runs them. `account` hears what is measured, `stages` when they begin and end; warming up neither."""

    experiment: Experiment
    cell: Cell
    legs: Sequence[Leg]
    runner: PhaseRunner
    deployed: Deployed
    account: Account
    stages: Stages

    async def prepare(self) -> None:
        """With `reset: snapshot`, those that make the data with which a trial begins. Raises TrialFailure."""
        await self._run(self.legs[: self._first], "")

    async def measure(self, prefix: str = "") -> None:
        """All others; with a prefix they only warm up. Raises TrialFailure."""
        await self._run(self._measured, prefix)

    def berths(self) -> list[Berth]:
        """All places."""
        return [berth for leg in self.legs for berth in leg.berths]

    def seconds(self) -> float | None:
        """How long it will take, where all of them can tell."""
        told = [leg.workload.seconds() for leg in self._measured]
        return None if None in told else sum(seconds or 0.0 for seconds in told)

    @property
    def _first(self) -> int:
        return len(preparing(self.experiment)) if self.experiment.reset == "snapshot" else 0

    @property
    def _measured(self) -> Sequence[Leg]:
        return self.legs[self._first :]

    async def _run(self, legs: Sequence[Leg], prefix: str) -> None:
        for use, workload, berths in legs:
            await self.runner.run(
                use,
                workload,
                berths,
                prefix=prefix + (f"{use.phase}-" if use.phase else ""),
                limit=self.experiment.timeout,
                tell=_no_account if prefix else self._taker(use),
                to=self.deployed.endpoints.get(use.to or ""),
                named=self.deployed.named(use.options, self.experiment.services),
                wrap=Conditions.of(use.wrap, self.cell.parameters),
                began=None if prefix else partial(self.stages.begin, use.phase),
            )
            if not prefix:
                self.stages.end(use.phase)

    def _taker(self, use: WorkloadUse) -> Callable[[PhaseEnded], None]:
        metrics = self.experiment.metric_prefix(use)
        return lambda ended: self.account.take(ended, metrics, self.experiment.start)


def _no_account(_: PhaseEnded) -> None:
    """What warms up is not measured."""
