"""The entries of `workload` in one trial, in their order, on their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

from steelyard.controller.deployment.ready_services import ReadyServices
from steelyard.controller.placement import Workdir
from steelyard.controller.timeline.stages import Stages
from steelyard.controller.trial.data import TrialData
from steelyard.controller.trial.phase_result import PhaseResult
from steelyard.controller.trial.phases import PhaseRunner
from steelyard.model.experiment import Experiment
from steelyard.model.keys.reference import Known
from steelyard.model.keys.uses import WorkloadUse
from steelyard.model.keys.wrap import Conditions
from steelyard.model.lifetimes import list_preparations
from steelyard.model.trial import Cell
from steelyard.spec.bind import bind_workload
from steelyard.workloads.base import Workload


class PipelineStep(NamedTuple):
    """One entry: what it is, and where its copies are."""

    use: WorkloadUse
    workload: Workload[Any]
    workdirs: Sequence[Workdir]

    def bind(self, cell: Cell, known: Known) -> Self:
        """The same with what is known once services are there. Raises SpecError when that does not fit."""
        return self._replace(workload=bind_workload(self.use, cell, known))


@dataclass(frozen=True)
class Pipeline:
    """Runs them. `account` hears what is measured, `stages` when they begin and end; warming up neither."""

    experiment: Experiment
    cell: Cell
    steps: Sequence[PipelineStep]
    runner: PhaseRunner
    deployed: ReadyServices
    account: TrialData
    stages: Stages

    async def prepare(self) -> None:
        """With `reset: snapshot`, those that make the data with which a trial begins. Raises TrialFailure."""
        await self._run(self.steps[: self._preparation_count], "")

    async def measure(self, prefix: str = "") -> None:
        """All others; with a prefix they only warm up. Raises TrialFailure."""
        await self._run(self._measured_steps, prefix)

    def workdirs(self) -> list[Workdir]:
        """All places."""
        return [workdir for leg in self.steps for workdir in leg.workdirs]

    def seconds(self) -> float | None:
        """How long it will take, where all of them can tell."""
        told = [leg.workload.seconds() for leg in self._measured_steps]
        return None if None in told else sum(seconds or 0.0 for seconds in told)

    @property
    def _preparation_count(self) -> int:
        return len(list_preparations(self.experiment)) if self.experiment.reset == "snapshot" else 0

    @property
    def _measured_steps(self) -> Sequence[PipelineStep]:
        return self.steps[self._preparation_count :]

    async def _run(self, legs: Sequence[PipelineStep], prefix: str) -> None:
        for use, workload, workdirs in legs:
            await self.runner.run(
                use,
                workload,
                workdirs,
                prefix=prefix + (f"{use.phase}-" if use.phase else ""),
                limit=self.experiment.timeout,
                tell=_discard if prefix else self._make_recorder(use),
                to=self.deployed.endpoints.get(use.to or ""),
                named=self.deployed.select_endpoints(use.options, self.experiment.services),
                wrap=Conditions.of(use.wrap, self.cell.parameters),
                began=None if prefix else partial(self.stages.begin, use.phase),
            )
            if not prefix:
                self.stages.end(use.phase)

    def _make_recorder(self, use: WorkloadUse) -> Callable[[PhaseResult], None]:
        metrics = self.experiment.metric_prefix(use)
        return lambda ended: self.account.add_phase(ended, metrics, self.experiment.start)


def _discard(_: PhaseResult) -> None:
    """What warms up is not measured."""
