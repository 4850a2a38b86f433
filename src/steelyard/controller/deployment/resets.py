"""`reset: snapshot` and `checkpoint`: every repetition of a cell begins with the same in its services.

The entries of `workload` that stand before the first measured one prepare the data. They run once for all
trials that prepare the same in the same way; then the data are kept, or with `checkpoint` the state of the
running servers. Each trial, that one too, begins with what was kept, brought back: so all repetitions begin
alike, and none waits for a load that was done before.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from steelyard.controller.deployment.ready_services import ReadyServices
from steelyard.controller.deployment.snapshots import Snapshots, fail_trial
from steelyard.errors import TrialFailure
from steelyard.model.experiment import Experiment
from steelyard.model.expression import substitute
from steelyard.model.lifetimes import list_preparations, resolve_settings
from steelyard.model.snapshot import Snapshot
from steelyard.model.trial import Cell
from steelyard.services.base import Service
from steelyard.services.kit.capabilities import Snapshottable
from steelyard.spec.bind import bind_options, workload_class


class Keeper(Protocol):
    """Keeps what services begin with, for the run. Methods raise HostError."""

    def can_save(self, service: Service[Any]) -> bool:
        """Whether there is anything of it that can be kept."""

    async def save(self, service: Service[Any]) -> Any:
        """Keep it as it is now."""

    async def recover(self, service: Service[Any], saved: Any) -> None:
        """Have it again as it was then."""


class SnapshotKeeper:
    """Keeps data."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    def can_save(self, service: Service[Any]) -> bool:
        """Whether it has data of its own."""
        return isinstance(service, Snapshottable)

    async def save(self, service: Service[Any]) -> Snapshot:
        """On its hosts."""
        return await self._snapshots.save_local(service)

    async def recover(self, service: Service[Any], saved: Snapshot) -> None:
        """From there."""
        await self._snapshots.recover_local(service, saved)


class Resets:
    """What the trials of a run begin with."""

    def __init__(self, experiment: Experiment, keeper: Keeper) -> None:
        self._experiment, self._keeper = experiment, keeper
        self._known: dict[str, dict[str, Any]] = {}
        self._first: dict[str, dict[str, Any]] = {}

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
                    await self._reset_lasting(cell, deployed)
                    await prepare()
                    self._known[key] = await self._save_services(deployed)
                await self._recover_services(deployed, self._known[key])
        except TrialFailure:
            self._known.pop(key, None)  # whatever is wrong with it, the next trial makes it anew
            raise

    async def _reset_lasting(self, cell: Cell, deployed: ReadyServices) -> None:
        """What outlives its trial may have the data of other cells: it becomes what it was at first.

        A server with other settings was another one from the beginning.
        """
        lasting = [name for name, use in self._experiment.services.items() if use.keep != "trial"]
        if not lasting or not self._experiment.parameters:
            return
        key = json.dumps(self._resolve_services(cell), sort_keys=True, default=str)
        if key not in self._first:
            self._first[key] = await self._save_services(deployed)
        else:
            first = self._first[key]
            await self._recover_services(deployed, {name: first[name] for name in lasting if name in first})

    async def _save_services(self, deployed: ReadyServices) -> dict[str, Any]:
        able = [service for service in deployed.services if self._keeper.can_save(service)]
        return {service.context.name: await self._keeper.save(service) for service in able}

    async def _recover_services(self, deployed: ReadyServices, saved: Mapping[str, Any]) -> None:
        for service in deployed.services:
            if service.context.name in saved:
                await self._keeper.recover(service, saved[service.context.name])

    def _resolve_services(self, cell: Cell) -> dict[str, Any]:
        """As they are deployed."""
        return {name: resolve_settings(use, cell) for name, use in self._experiment.services.items()}

    def _key(self, cell: Cell) -> str:
        """What the data depend on: the services as they are deployed, and all that prepares them."""
        services = self._resolve_services(cell)
        uses = list_preparations(self._experiment)
        levels = cell.parameters
        by = [(use.use, substitute(use.settings(), levels), bind_options(use, levels)) for use in uses]
        # A script sees all parameters.
        verbatim = any(workload_class(use.plugin).verbatim & use.options.keys() for use in uses)
        return json.dumps([cell.key if verbatim else "", services, by], sort_keys=True, default=str)
