"""The kind `event`: what happens at a moment of a trial.

An event acts only through the event_context that it is handed: the services and hosts of the trial. It says
before the trial whether it could happen at all (`check`), and undoes afterwards what harm it did (`heal`),
which the timeline always asks for.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from steelyard.errors import HostError, UsageError
from steelyard.hosts.base import Host
from steelyard.model.keys.reference import Known
from steelyard.model.metric import Metric
from steelyard.model.snapshot import Snapshot
from steelyard.services.base import Service
from steelyard.services.kit.capabilities import Killable


def time_metric(name: str, about: str) -> Metric:
    """How long a step of an event took: its fact `<name>_time`."""
    return Metric(f"{name}_time", "s", "lower", about)


async def refuse_snapshots(service: Service[Any], place: str | None = None) -> Any:  # noqa: ARG001
    """What keeps snapshots, and brings them back, where nobody does."""
    raise HostError(f"service {service.context.name}: snapshots are not available here")


@dataclass(frozen=True, slots=True)
class EventContext:
    """What an event may act on.

    `services` by the names of the file; `hosts` finds those of a selection such as `db[2]` (raises
    UsageError); `scratch` is a directory on each host, by its name; `logs` is where its output belongs.
    `lasting_services` names the services that outlive the trial. `known` is what there is to know of services
    and roles. `take_snapshot` takes a snapshot of a service into a place, or with None into the run's scratch
    on its hosts; `recover_snapshot` has a service hold again what `take_snapshot` took last.
    """

    services: Mapping[str, Service[Any]]
    hosts: Callable[[str], tuple[Host, ...]]
    scratch: Mapping[str, PurePosixPath]
    logs: Path
    lasting_services: frozenset[str] = frozenset()
    known: Known = field(default_factory=dict)
    take_snapshot: Callable[[Service[Any], str | None], Awaitable[Snapshot]] = refuse_snapshots
    recover_snapshot: Callable[[Service[Any]], Awaitable[Mapping[str, float]]] = refuse_snapshots


class EventOptions(BaseModel):
    """Typed options of an event. Unknown keys are errors. Every field has a description with its unit."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


OptionsT = TypeVar("OptionsT", bound=EventOptions)


class Event(ABC, Generic[OptionsT]):
    """Base of all events. The subclass's docstring says what happens, and what heals it.

    It sets `Options`, its `EventOptions` class; `capability`, the protocol that its service must have;
    `site_capabilities`, what its site must be capable of (`sites.base.Capability`); `metrics`, those of its
    facts that are figures of the trial, beside the time it took; `permission`, what the file must `allow`;
    `is_disruptive`, whether something answers nobody for a while; `silences_hosts`, whether that is a whole
    host, from which Steelyard hears nothing either for the `length` of its options; `changes_hosts`, whether
    its service has other hosts afterwards; `needs_spare_hosts`, whether it takes them from `grow_into`;
    `covers`, ids of published requirements (`MIK.1`); `examples`, option mappings for the catalogue and the
    contract tests. Methods raise HostError.
    """

    Options: ClassVar[type[EventOptions]] = EventOptions
    capability: ClassVar[type[Any] | None] = None
    site_capabilities: ClassVar[frozenset[str]] = frozenset()
    metrics: ClassVar[tuple[Metric, ...]] = ()
    permission: ClassVar[str | None] = None
    is_disruptive: ClassVar[bool] = False
    silences_hosts: ClassVar[bool] = False
    changes_hosts: ClassVar[bool] = False
    needs_spare_hosts: ClassVar[bool] = False
    covers: ClassVar[tuple[str, ...]] = ()
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ()

    def __init__(self, options: OptionsT, event_context: EventContext) -> None:
        self.options, self.event_context = options, event_context

    def check(self) -> None:
        """Whether it could happen on this event_context. Raises UsageError with the reason."""
        return

    @abstractmethod
    async def happen(self) -> Mapping[str, Any]:
        """Do it; returns once it is complete, with facts for the record."""

    async def heal_after(self, length: float | None) -> None:
        """What ends an event by itself: so many seconds, then its healing; with None it goes on."""
        if length is not None:
            await asyncio.sleep(length)
            await self.heal()

    async def heal(self) -> None:
        """Undo what harm it did; also after a `happen` that failed half-way, and more than once."""
        return


class ServiceEventOptions(EventOptions):
    """Options of an event that acts on a service."""

    service: str = Field(description="The service, by its name under `services`")


class NodeEventOptions(ServiceEventOptions):
    """Options of an event that acts on one node of a service."""

    node: int = Field(ge=0, description="The index of the host in the service, counted from 0")


class HostsEventOptions(EventOptions):
    """Options of an event that acts on whole hosts."""

    on: str = Field(description="The hosts, such as db[2] or db[:2]")


NodeOptionsT = TypeVar("NodeOptionsT", bound=NodeEventOptions)
HostsOptionsT = TypeVar("HostsOptionsT", bound=HostsEventOptions)


class OnService:
    """What an event has whose options name a service."""

    options: Any
    event_context: EventContext

    @property
    def service(self) -> Any:
        """The service; it has the event's capability, the file was checked for it."""
        return self.event_context.services[self.options.service]


class ServiceEvent(Event[OptionsT], OnService):
    """An event that acts on a service with its `capability`."""


class NodeEvent(Event[NodeOptionsT], OnService):
    """An event that acts on one node of a service with its `capability`."""

    @property
    def host(self) -> Host:
        """The node's host. Raises UsageError when the service has none of this number."""
        hosts: tuple[Host, ...] = self.service.context.hosts + self.service.context.spare
        number = self.options.node
        if number >= len(hosts):
            raise UsageError(f"node {number}: the service has {len(hosts)} hosts, counted from 0")
        return hosts[number]

    def check(self) -> None:
        """Whether there is such a node."""
        _ = self.host


class HostsEvent(Event[HostsOptionsT]):
    """An event that acts on the hosts that its option `on` names.

    It sets `host_protocol`, the protocol that each of them must have, and how a host without it is refused:
    `refusal` is what the host cannot do, `advice` what to do about it.
    """

    host_protocol: ClassVar[type[Any]]
    refusal: ClassVar[str]
    advice: ClassVar[str]

    @property
    def hosts(self) -> tuple[Any, ...]:
        """Its hosts; each has the protocol, `check` was asked before."""
        return self.event_context.hosts(self.options.on)

    @property
    def names(self) -> list[str]:
        """The names of its hosts, for the record."""
        return [host.name for host in self.hosts]

    def check(self) -> None:
        """Whether the hosts are there, and the event can happen to each. Raises UsageError that names one."""
        for host in self.hosts:
            if not isinstance(host, self.host_protocol):
                raise UsageError(f"host {host.name} {self.refusal}", hint=self.advice)
            self.check_host(host)

    def check_host(self, host: Any) -> None:
        """What else must be true of a host with the protocol. Raises UsageError."""
        return


def find_services_on(context: EventContext, host: Host) -> dict[str, Any]:
    """Those that have a server on a host, by name, in the order in which they were deployed."""
    services = context.services.items()
    return {
        name: service
        for name, service in services
        if any(server.host is host for server in service.processes())
    }


def check_servers(context: EventContext, host: Host, *, is_restarted: bool) -> None:
    """Whether the servers on a host may die with it. Raises UsageError.

    `is_restarted` says that the event brings host and servers back before the end of the trial.
    """
    for name, service in find_services_on(context, host).items():
        what = f"service {name} has a server on host {host.name}"
        if not host.comes_back_empty:
            if not isinstance(service, Killable):
                raise UsageError(f"{what}, and cannot restart it", hint="choose another host")
        elif is_restarted or name in context.lasting_services:
            hint = "give the service `keep: trial` and the event no `length`: then it ends with its trial"
            message = f"{what}, which comes back without its files and with another address"
            raise UsageError(message, hint=hint)
