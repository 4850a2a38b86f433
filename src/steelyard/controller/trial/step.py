"""One entry of `workload` in a trial: what runs, where its copies are, and what they are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from steelyard.controller.deployment.ready_services import ReadyServices
from steelyard.controller.placement import Workdir
from steelyard.model.command import Endpoint
from steelyard.model.experiment import Experiment
from steelyard.model.keys.uses import WorkloadUse
from steelyard.model.keys.wrap import Conditions
from steelyard.model.trial import Cell
from steelyard.spec.bind import bind_workload
from steelyard.spec.conditions import read_conditions
from steelyard.workloads.base import Workload


@dataclass(frozen=True)
class PipelineStep:
    """`to` is the service that the entry talks to, `named` are those that its options name."""

    use: WorkloadUse
    workload: Workload[Any]
    workdirs: Sequence[Workdir]
    to: Endpoint | None = None
    named: Mapping[str, Endpoint] = field(default_factory=dict)
    wrap: Conditions = field(default_factory=Conditions)

    def bind(self, experiment: Experiment, cell: Cell, deployed: ReadyServices) -> Self:
        """The same with what is known once services are there. Raises SpecError when that does not fit."""
        return replace(
            self,
            workload=bind_workload(self.use, cell, deployed.known),
            to=deployed.endpoints.get(self.use.to or ""),
            named=deployed.select_endpoints(self.use.options, experiment.services),
            wrap=read_conditions(self.use, cell.parameters),
        )
