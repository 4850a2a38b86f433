"""A run whose services others use: they ask for them, have snapshots taken, and say when it is to end.

Its requests are `stop`, `snapshot` and `endpoint`; `status` also tells of its nodes. Where it is to, the run
stays after its last trial.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from steelyard.controller.activity import find_activity
from steelyard.controller.context import RunContext
from steelyard.controller.control.status import describe_endpoint, query_nodes, summarise_snapshot
from steelyard.controller.deployment.deployment import Deployment
from steelyard.controller.jobs.limit import LATE, TimeLimit
from steelyard.controller.placement import Placement
from steelyard.errors import HostError, UsageError
from steelyard.hosts.tasks import run_tasks, wait_first
from steelyard.model.snapshot import Snapshot
from steelyard.services.base import Service
from steelyard.services.kit.capabilities import NodeState
from steelyard.spec.placement import service_hosts
from steelyard.store.reader import RunRecord

if TYPE_CHECKING:
    from steelyard.controller.control.server import ControlServer

LEAST_FOR_A_SNAPSHOT = 30.0
PACE = 50e6
"""Seconds kept for a planned snapshot when a job ends, and the bytes per second that it copies at least."""
A_MOMENT = 2.0
"""Seconds before everything is ended by force, in which a run that is held ends by itself."""
LOOK_EVERY = 30.0
_EARLY = ("starting", "deploying the database", "recovering a snapshot")


class HeldServices:
    """The services of a run for those who ask for them, and the wait at its end."""

    def __init__(self, context: RunContext, server: ControlServer) -> None:
        self._context, self.experiment, self._server = context, context.experiment, server
        self._placement: Placement | None = None
        self._deployment: Deployment | None = None
        self._limit = TimeLimit(None)
        self._stopped = asyncio.Event()
        self._taking = asyncio.Lock()
        self._next = 0.0  # a snapshot is named by the second, so two need two of them
        server.serve("stop", self._stop)
        server.serve("snapshot", self._take_snapshots)
        server.serve("endpoint", self._report_endpoint)
        server.report(self._report_services)

    def attach_deployment(
        self, placement: Placement, deployment: Deployment | None, limit: TimeLimit
    ) -> None:
        """From now on there are hosts, and services to come."""
        self._placement, self._deployment, self._limit = placement, deployment, limit

    # The end ------------------------------------------------------------------------------------------------

    async def wait_until_stopped(self) -> str:
        """Wait as long as the experiment holds its services; why it ends. Raises HostError when one dies."""
        living = self._deployment.live_services if self._deployment else {}
        if not (self.experiment.hold and living) or self._stopped.is_set():
            return "complete"
        self._context.note("run-held", services=list(living))
        deaths = (_raise_on_death(service) for service in living.values())
        async with run_tasks(self._wait_for_stop(), self.wait_for_deadline(), *deaths) as waiting:
            return (await wait_first(waiting)).result()

    async def wait_for_deadline(self) -> str:
        """Wait until there is just time enough for the planned snapshots."""
        while True:
            left = self._limit.seconds_left
            enough = LOOK_EVERY if left is None else left - await self._estimate_snapshot_time()
            if enough <= 0:
                return LATE
            await asyncio.sleep(min(LOOK_EVERY, max(0.05, enough)))

    async def finish(self, success: bool) -> None:
        """Have mirrors prove themselves where all went well; take the planned snapshots, where there is
        something left to take one of. Raises HostError.
        """
        if self._deployment and success:
            await self._deployment.prove_mirrors()
        plans = [use.save for use in self.experiment.services.values() if use.save]
        if not self._deployment or not any(success or plan.when == "always" for plan in plans):
            return
        if not self._deployment.live_services:
            self._context.note(
                "warning", text="the planned snapshot was not taken: the service is no longer running"
            )
            return
        await self._run_snapshot(lambda deployment: deployment.finish(success))

    async def _wait_for_stop(self) -> str:
        await self._stopped.wait()
        return "stopped"

    async def _estimate_snapshot_time(self) -> float:
        """Seconds that the planned snapshots may take."""
        if not any(use.save for use in self.experiment.services.values()):
            return A_MOMENT
        loads = [node.load or 0 for nodes in (await self._list_nodes()).values() for node in nodes]
        return LEAST_FOR_A_SNAPSHOT + sum(loads) / PACE

    # What can be asked --------------------------------------------------------------------------------------

    async def _report_services(self) -> Mapping[str, Any]:
        now = self._current_activity()
        nodes = await self._list_nodes()
        return {
            "doing": now.what,
            "since": now.since,
            "stopping": self._stopped.is_set(),
            "nodes": {name: [node._asdict() for node in states] for name, states in nodes.items()},
            "services": {
                name: describe_endpoint(service.endpoint()) for name, service in self._live_services().items()
            },
        }

    async def _stop(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        """End after the application, at once where none runs; with the snapshots that are planned."""
        self._stopped.set()
        plans = any(use.save for use in self.experiment.services.values())
        return {"doing": self._current_activity().what, "snapshot": plans}

    async def _take_snapshots(self, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take one now of each service, in the place that is named, else in the one of the experiment."""
        self._require_services()
        if self._taking.locked():
            raise HostError("another snapshot is in progress", hint="try again when it is complete")
        place = str(facts["place"]) if facts.get("place") else None

        async def take(deployment: Deployment) -> list[Snapshot]:
            return [await deployment.take_snapshot(name, place) for name in deployment.live_services]

        taken = await self._run_snapshot(take)
        return {"snapshots": [summarise_snapshot(snapshot) for snapshot in taken]}

    async def _report_endpoint(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        """Where the service is. Its password goes to `control.json`, and never over the wire."""
        endpoint = next(iter(self._require_services().values())).endpoint()
        self._server.announce(service={**describe_endpoint(endpoint), "password": endpoint.password})
        return describe_endpoint(endpoint)

    async def _run_snapshot(self, take: Callable[[Deployment], Any]) -> list[Snapshot]:
        async with self._taking:
            await asyncio.sleep(max(0.0, self._next - time.time()))
            self._next = math.floor(time.time()) + 1
            self._context.note("snapshot-begun")
            try:
                taken: list[Snapshot] = await take(self._deployment)  # type: ignore[arg-type]
            except BaseException as error:
                self._context.note("snapshot-failed", reason=str(error) or type(error).__name__)
                raise
            return taken

    def _require_services(self) -> Mapping[str, Service[Any]]:
        living, now = self._live_services(), self._current_activity()
        if not living or now.what in _EARLY:
            raise HostError(f"the database is not up: the run is {now.what}")
        return living

    def _live_services(self) -> Mapping[str, Service[Any]]:
        return self._deployment.live_services if self._deployment else {}

    def _current_activity(self) -> Any:
        recovers = any(use.recover for use in self.experiment.services.values())
        return find_activity(RunRecord(self._context.folder).journal, recovers=recovers)

    async def _list_nodes(self) -> dict[str, tuple[NodeState, ...]]:
        """By service; those of one that is being deployed are `starting`."""
        living = self._live_services()
        return {
            name: await query_nodes(living[name]) if name in living else self._list_starting_nodes(name)
            for name in self.experiment.services
        }

    def _list_starting_nodes(self, name: str) -> tuple[NodeState, ...]:
        if self._placement is None or self._current_activity().what not in _EARLY:
            return ()
        try:
            on, _ = service_hosts(self.experiment.services[name], {})
            seats = self._placement.select_slots(on)
        except UsageError:  # where it depends on the cell
            return ()
        return tuple(NodeState(slot.host.name, slot.host.address, "starting") for slot in seats)


async def _raise_on_death(service: Service[Any]) -> str:
    raise HostError(await service.wait_for_death())
