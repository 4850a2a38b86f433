"""A run that others may ask and steer while it lives, and that stays after its last trial where it is to.

Commands reach it through the control socket (`remote.control`): `status`, `stop`, `snapshot`, `endpoint`.
What it is doing is read from its own journal, which also tells who cannot reach it.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from steelyard.controller.activity import describe_line, find_activity
from steelyard.controller.deployment import Deployment
from steelyard.controller.limit import LATE, TimeLimit
from steelyard.controller.observer import Observer
from steelyard.controller.placement import Placement
from steelyard.controller.status import describe_endpoint, query_nodes, summarise_snapshot
from steelyard.errors import HostError, StoreError, UsageError
from steelyard.model.cluster import TAG
from steelyard.model.experiment import Experiment
from steelyard.model.snapshot import Snapshot
from steelyard.remote.control import listen
from steelyard.remote.tasks import run_tasks, wait_first
from steelyard.services._capabilities import NodeState
from steelyard.services.base import Service
from steelyard.spec.placement import service_hosts
from steelyard.store.reader import RunRecord
from steelyard.store.writer import RunWriter

LEAST_FOR_A_SNAPSHOT = 30.0
PACE = 50e6
"""Seconds kept for a planned snapshot when a job ends, and the bytes per second that it copies at least."""
A_MOMENT = 2.0
"""Seconds before everything is ended by force, in which a run that is held ends by itself."""
LOOK_EVERY = 30.0
_EARLY = ("starting", "deploying the database", "recovering a snapshot")


class ControlServer:
    """What may be asked of a run, and the wait at its end."""

    def __init__(self, experiment: Experiment, writer: RunWriter, observer: Observer) -> None:
        self.experiment, self._writer, self._observer = experiment, writer, observer
        self._placement: Placement | None = None
        self._deployment: Deployment | None = None
        self._limit = TimeLimit(None)
        self._stopped = asyncio.Event()
        self._taking = asyncio.Lock()
        self._next = 0.0  # a snapshot is named by the second, so two need two of them
        self._facts: dict[str, Any] = {}

    @property
    def wanted(self) -> bool:
        """Whether somebody may want to ask: it is a cluster, or stays after its last trial."""
        return self.experiment.hold or TAG in self.experiment.tags

    @asynccontextmanager
    async def listening(self, address: str, warn: Callable[[str], None], **facts: Any) -> AsyncIterator[None]:
        """Be asked, for as long as the block lasts. `facts` stand in `control.json` beside ours.

        Where nobody can listen, that is a warning: the run goes on, and ends by signal or time limit.
        """
        self._facts = facts
        async with AsyncExitStack() as stack:
            try:
                announced = await stack.enter_async_context(listen(address, self._asked))
            except HostError as error:
                warn(f"{error.message}; only its scheduler, or a signal, can end this run before its time")
            else:
                self._announce(socket=announced._asdict())
            yield

    def serve(self, placement: Placement, deployment: Deployment, limit: TimeLimit) -> None:
        """From now on there are hosts, and services to come."""
        self._placement, self._deployment, self._limit = placement, deployment, limit

    def note(self, kind: str, **facts: Any) -> None:
        """Write a line of the journal, and tell who waits what it means."""
        self._writer.journal.write(kind, **facts)
        if TAG in self.experiment.tags and (text := describe_line({"kind": kind, **facts})):
            self._observer.waiting(text)

    # The end ------------------------------------------------------------------------------------------------

    async def until_stopped(self) -> str:
        """Wait as long as the experiment holds its services; why it ends. Raises HostError when one dies."""
        living = self._deployment.living if self._deployment else {}
        if not (self.experiment.hold and living) or self._stopped.is_set():
            return "complete"
        self.note("run-held", services=list(living))
        deaths = (_raise_on_death(service) for service in living.values())
        async with run_tasks(self._stop_asked(), self.late(), *deaths) as waiting:
            return (await wait_first(waiting)).result()

    async def late(self) -> str:
        """Wait until there is just time enough for the planned snapshots."""
        while True:
            left = self._limit.left
            enough = LOOK_EVERY if left is None else left - await self._spare()
            if enough <= 0:
                return LATE
            await asyncio.sleep(min(LOOK_EVERY, max(0.05, enough)))

    async def finish(self, success: bool) -> None:
        """Have mirrors prove themselves where all went well; take the planned snapshots, where there is
        something left to take one of. Raises HostError.
        """
        if self._deployment and success:
            await self._deployment.prove()
        plans = [use.save for use in self.experiment.services.values() if use.save]
        if not self._deployment or not any(success or plan.when == "always" for plan in plans):
            return
        if not self._deployment.living:
            self.note(
                "warning", text="the planned snapshot was not taken: the service does not live any more"
            )
            return
        await self._take(lambda deployment: deployment.finish(success))

    async def _stop_asked(self) -> str:
        await self._stopped.wait()
        return "stopped"

    async def _spare(self) -> float:
        """Seconds that the planned snapshots may take."""
        if not any(use.save for use in self.experiment.services.values()):
            return A_MOMENT
        loads = [node.load or 0 for nodes in (await self._nodes()).values() for node in nodes]
        return LEAST_FOR_A_SNAPSHOT + sum(loads) / PACE

    # What can be asked --------------------------------------------------------------------------------------

    async def _asked(self, verb: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        verbs = {
            "status": self._status,
            "stop": self._stop,
            "snapshot": self._snapshot,
            "endpoint": self._endpoint,
        }
        if verb not in verbs:
            raise HostError(f"a run cannot be asked for '{verb[:40]}'; it knows {', '.join(verbs)}")
        return await verbs[verb](facts)

    async def _status(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        now = self._doing()
        nodes = {name: [node._asdict() for node in states] for name, states in (await self._nodes()).items()}
        return {
            "doing": now.what,
            "since": now.since,
            "stopping": self._stopped.is_set(),
            "left": self._limit.left,
            "nodes": nodes,
            "services": {
                name: describe_endpoint(service.endpoint()) for name, service in self._living().items()
            },
        }

    async def _stop(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        """End after the application, at once where none runs; with the snapshots that are planned."""
        self._stopped.set()
        plans = any(use.save for use in self.experiment.services.values())
        return {"doing": self._doing().what, "snapshot": plans}

    async def _snapshot(self, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take one now of each service, in the place that is named, else in the one of the experiment."""
        self._ready()
        if self._taking.locked():
            raise HostError("a snapshot is being taken already", hint="try again when it is complete")
        place = str(facts["place"]) if facts.get("place") else None

        async def take(deployment: Deployment) -> list[Snapshot]:
            return [await deployment.snapshot(name, place) for name in deployment.living]

        taken = await self._take(take)
        return {"snapshots": [summarise_snapshot(snapshot) for snapshot in taken]}

    async def _endpoint(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        """Where the service is. Its password goes to `control.json`, and never over the wire."""
        endpoint = next(iter(self._ready().values())).endpoint()
        self._announce(service={**describe_endpoint(endpoint), "password": endpoint.password})
        return describe_endpoint(endpoint)

    async def _take(self, take: Callable[[Deployment], Any]) -> list[Snapshot]:
        async with self._taking:
            await asyncio.sleep(max(0.0, self._next - time.time()))
            self._next = math.floor(time.time()) + 1
            self._writer.journal.write("snapshot-begun")
            try:
                taken: list[Snapshot] = await take(self._deployment)  # type: ignore[arg-type]
            except BaseException as error:
                self._writer.journal.write("snapshot-failed", reason=str(error) or type(error).__name__)
                raise
            return taken

    def _ready(self) -> Mapping[str, Service[Any]]:
        living, now = self._living(), self._doing()
        if not living or now.what in _EARLY:
            raise HostError(f"the database is not up yet, or not any more: the run is {now.what}")
        return living

    def _living(self) -> Mapping[str, Service[Any]]:
        return self._deployment.living if self._deployment else {}

    def _doing(self) -> Any:
        recovers = any(use.recover for use in self.experiment.services.values())
        return find_activity(RunRecord(self._writer.folder).journal, recovers=recovers)

    async def _nodes(self) -> dict[str, tuple[NodeState, ...]]:
        """By service; those of one that is being deployed are `starting`."""
        living = self._living()
        return {
            name: await query_nodes(living[name]) if name in living else self._to_come(name)
            for name in self.experiment.services
        }

    def _to_come(self, name: str) -> tuple[NodeState, ...]:
        if self._placement is None or self._doing().what not in _EARLY:
            return ()
        try:
            on, _ = service_hosts(self.experiment.services[name], {})
            seats = self._placement.seats(on)
        except UsageError:  # where it depends on the cell
            return ()
        return tuple(NodeState(slot.host.name, slot.host.address, "starting") for slot in seats)

    def _announce(self, **more: Any) -> None:
        """On the disk when this returns, since others may read it through a file server."""
        self._facts |= more
        self._writer.announce(**self._facts)
        file = os.open(self._writer.folder.control, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        except OSError as error:
            raise StoreError(f"cannot write {self._writer.folder.control}: {error.strerror}") from error
        finally:
            os.close(file)


async def _raise_on_death(service: Service[Any]) -> str:
    raise HostError(await service.died())
