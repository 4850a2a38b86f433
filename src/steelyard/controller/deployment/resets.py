"""`reset: snapshot`: every repetition of a cell begins with the same data in its services.

The entries of `workload` that stand before the first measured one prepare the data. They run once for all
trials that prepare the same in the same way; then the data are kept. Each trial, that one too, begins with
what was kept, brought back: so all repetitions begin alike, and none waits for a load that was done before.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping

from steelyard.controller.deployment.ready_services import ReadyServices
from steelyard.controller.deployment.snapshots import Snapshots, fail_trial
from steelyard.errors import TrialFailure
from steelyard.model.experiment import Experiment
from steelyard.model.expression import substitute
from steelyard.model.lifetimes import list_preparations, resolve_settings
from steelyard.model.snapshot import Snapshot
from steelyard.model.trial import Cell
from steelyard.services.kit.capabilities import Snapshottable
from steelyard.spec.bind import bind_options, workload_class


class Resets:
    """What the trials of a run begin with."""

    def __init__(self, experiment: Experiment, snapshots: Snapshots) -> None:
        self._experiment, self._snapshots = experiment, snapshots
        self._known: dict[str, dict[str, Snapshot]] = {}
        self._first: dict[str, Snapshot] | None = None

    async def prepare_data(
        self, cell: Cell, deployed: ReadyServices, prepare: Callable[[], Awaitable[None]]
    ) -> None:
        """Have the services of a trial hold what it begins with; `prepare` makes that where it is not kept.

        Raises TrialFailure, HostLost, and what `prepare` raises.
        """
        key = self._key(cell)
        try:
            with fail_trial():
                if key not in self._known:
                    await self._reset_lasting(deployed)
                    await prepare()
                    self._known[key] = await self._save_services(deployed)
                await self._recover_services(deployed, self._known[key])
        except TrialFailure:
            self._known.pop(key, None)  # whatever is wrong with it, the next trial makes it anew
            raise

    async def _reset_lasting(self, deployed: ReadyServices) -> None:
        """What outlives its trial may have the data of other cells: it becomes what it was at first."""
        lasting = [name for name, use in self._experiment.services.items() if use.keep != "trial"]
        if not lasting or not self._experiment.parameters:
            return
        if self._first is None:
            self._first = await self._save_services(deployed)
        else:
            first = self._first
            await self._recover_services(deployed, {name: first[name] for name in lasting if name in first})

    async def _save_services(self, deployed: ReadyServices) -> dict[str, Snapshot]:
        able = [service for service in deployed.services if isinstance(service, Snapshottable)]
        return {service.context.name: await self._snapshots.save_local(service) for service in able}

    async def _recover_services(self, deployed: ReadyServices, snapshots: Mapping[str, Snapshot]) -> None:
        for service in deployed.services:
            if snapshot := snapshots.get(service.context.name):
                await self._snapshots.recover_local(service, snapshot)

    def _key(self, cell: Cell) -> str:
        """What the data depend on: the services as they are deployed, and all that prepares them."""
        services = {name: resolve_settings(use, cell) for name, use in self._experiment.services.items()}
        uses = list_preparations(self._experiment)
        levels = cell.parameters
        by = [(use.use, substitute(use.settings(), levels), bind_options(use, levels)) for use in uses]
        # A script sees all parameters.
        verbatim = any(workload_class(use.plugin).verbatim & use.options.keys() for use in uses)
        return json.dumps([cell.key if verbatim else "", services, by], sort_keys=True, default=str)
