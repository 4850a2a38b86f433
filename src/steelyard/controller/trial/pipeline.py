"""The entries of `workload` in one trial, in their order, on their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from steelyard.controller.placement import Workdir
from steelyard.controller.timeline.stages import Stages
from steelyard.controller.trial.data import TrialData
from steelyard.controller.trial.phase_result import PhaseResult
from steelyard.controller.trial.phases import PhaseRunner
from steelyard.controller.trial.step import PipelineStep
from steelyard.model.experiment import Experiment
from steelyard.model.lifetimes import list_preparations


@dataclass(frozen=True)
class Pipeline:
    """Runs them. `data` hears what is measured, `stages` when they begin and end; warming up neither."""

    experiment: Experiment
    steps: Sequence[PipelineStep]
    runner: PhaseRunner
    data: TrialData
    stages: Stages

    async def prepare(self) -> None:
        """Those that make what a trial begins with, where that is made once. Raises TrialFailure."""
        await self._run(self.steps[: self._preparation_count])

    async def measure(self) -> None:
        """All others. Raises TrialFailure."""
        await self._run(self._measured_steps)

    async def warm_up(self, times: int) -> None:
        """Run what is measured so many times, and forget what it says. Raises TrialFailure."""
        for turn in range(1, times + 1):
            for step in self._measured_steps:
                await self.runner.run(step, f"warm-up-{turn}-{_prefix(step)}", _discard)

    def workdirs(self) -> list[Workdir]:
        """All places."""
        return [workdir for step in self.steps for workdir in step.workdirs]

    def seconds(self) -> float | None:
        """How long it will take, where all of them can tell."""
        told = [step.workload.seconds() for step in self._measured_steps]
        return None if None in told else sum(seconds or 0.0 for seconds in told)

    @property
    def _preparation_count(self) -> int:
        return len(list_preparations(self.experiment)) if self.experiment.prepares_once else 0

    @property
    def _measured_steps(self) -> Sequence[PipelineStep]:
        return self.steps[self._preparation_count :]

    async def _run(self, steps: Sequence[PipelineStep]) -> None:
        for step in steps:
            metrics = self.experiment.metric_prefix(step.use)
            tell = partial(self.data.add_phase, prefix=metrics, start=self.experiment.start)
            began = partial(self.stages.begin, step.use.phase)
            await self.runner.run(step, _prefix(step), tell, began)
            self.stages.end(step.use.phase)


def _prefix(step: PipelineStep) -> str:
    return f"{step.use.phase}-" if step.use.phase else ""


def _discard(_: PhaseResult) -> None:
    """What warms up is not measured."""
