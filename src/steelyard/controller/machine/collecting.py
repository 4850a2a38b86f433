"""The collectors of an experiment: what each looks at in a trial, and where its samples go."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from steelyard.collectors.base import Collector
from steelyard.controller.deployment.ready_services import ReadyServices
from steelyard.controller.machine.sampler import CollectorSource, Sampler, ServiceSource
from steelyard.controller.placement import Placement, group_by_machine
from steelyard.errors import HostError
from steelyard.hosts.base import Host
from steelyard.model.command import Endpoint
from steelyard.model.experiment import Experiment
from steelyard.model.keys.collect import CollectorUse, list_collectors
from steelyard.model.keys.roles import Selection
from steelyard.model.tool import Tool
from steelyard.spec.bind import bind_collector
from steelyard.store.layout import RunFolder

if TYPE_CHECKING:  # what only runs with services use
    from steelyard.services.base import Service


@dataclass(frozen=True, slots=True)
class CollectorTarget:
    """What one table is made of: a host, or a server of a service on it. `label` names the table's file."""

    host: Host
    label: str
    endpoint: Endpoint | None = None


class Collecting:
    """Makes the samplers of a trial."""

    def __init__(self, experiment: Experiment, placement: Placement, folder: RunFolder) -> None:
        self._experiment, self._placement, self._folder = experiment, placement, folder
        uses = list_collectors(experiment)
        self._entries = [(use, bind_collector(use.plugin, use.options)) for use in uses]

    async def check_tools(self) -> None:
        """Raises HostError for a tool that a collector lacks on a host, before anything is measured."""
        checks = (
            self._check_tool(use, host, tool)
            for use, collector in self._entries
            for tool in collector.needs
            for host in self._list_hosts(use)
        )
        await asyncio.gather(*checks)

    def make_samplers(self, number: int, deployed: ReadyServices | None = None) -> Iterator[Sampler]:
        """Those of a trial: of each collector, and of services that tell figures of themselves."""
        services = {each.context.name: each for each in deployed.services} if deployed else {}
        for use, collector in self._entries:
            for target in self._list_targets(use, services):
                yield self._make_sampler(number, use, collector, target)
        every = self._experiment.telemetry.every
        for name, service in deployed.metered_services().items() if deployed and every else ():
            path = self._folder.meters(number, name, "ndjson")
            yield Sampler(ServiceSource(service), path, every or 0.0)

    def _make_sampler(
        self, number: int, use: CollectorUse, collector: Collector[Any], target: CollectorTarget
    ) -> Sampler:
        path = self._folder.collector_table(number, use.table, target.label, "ndjson")
        source = CollectorSource(collector, target.host, target.endpoint)
        meaning = None if self._folder.is_telemetry(use.table) else path.with_suffix(".json")
        hint = f"`steelyard schema {use.use}` lists its options"
        asked = use in self._experiment.collect
        silent = f"collector {use.use} read nothing on {target.label}; {hint}" if asked else ""
        return Sampler(source, path, float(collector.options.every), use.table, meaning, silent)

    async def _check_tool(self, use: CollectorUse, host: Host, tool: Tool) -> None:
        if tool.has_own_directory or tool.places or await host.which(tool.name):
            return
        hint = f"`steelyard install {tool.name}` installs it" if tool.is_obtainable else "install it there"
        raise HostError(
            f"collector {use.use} needs {tool.name}, which {host.name} does not have",
            hint=f"{hint}, or take {use.table} out of `collect`",
        )

    def _list_hosts(self, use: CollectorUse) -> list[Host]:
        """One host for each machine that the entry looks at."""
        on = self._experiment.services[use.service].on if use.service else use.on
        hosts = self._placement.hosts if on is None else self._select_hosts(on, whole=bool(use.service))
        return [group[0] for group in group_by_machine(hosts).values()]

    def _select_hosts(self, on: str, *, whole: bool) -> tuple[Host, ...]:
        """Those of a selection that this session has; with `whole` all of its role: levels may be in it."""
        picked = Selection(on.partition("[")[0].strip()) if whole else Selection.parse(on)
        slots = self._placement.groups.get(picked.role, ())[picked.first : picked.last]
        return tuple(slot.host for slot in slots) if slots or not whole else self._placement.hosts

    def _list_targets(self, use: CollectorUse, services: dict[str, Service[Any]]) -> list[CollectorTarget]:
        if use.service is None:
            return [CollectorTarget(host, host.name) for host in self._list_hosts(use)]
        return _list_servers(services[use.service]) if use.service in services else []


def _list_servers(service: Service[Any]) -> list[CollectorTarget]:
    """Its servers, each seen from its own host; those of a service that runs nothing, from its first host."""
    whole, first = service.endpoint(), service.context.hosts[0]
    servers = [(server.host, server.address, server.port) for server in service.servers]
    if not servers:
        servers = [(first, whole.address, whole.port)]
    several = len({host.name for host, _, _ in servers}) < len(servers)
    return [
        CollectorTarget(
            host, f"{host.name}-{port}" if several else host.name, replace(whole, address=address, port=port)
        )
        for host, address, port in servers
    ]
