"""Servers of a small program: as many on each host as there are copies that talk to them."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, TypeVar

from pydantic import Field

from steelyard.hosts.base import Host
from steelyard.model.command import Endpoint
from steelyard.services.base import Service, ServiceOptions
from steelyard.services.kit.access import Listener
from steelyard.services.kit.data import DataDirectory, choose_accounts
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.ports import choose_ports, list_listening_ports


class PerCopyOptions(ServiceOptions):
    """How many servers, and where."""

    servers: int = Field(
        1, ge=1, le=256, description="Servers on each host, one for each copy of the workload."
    )
    port: int | None = Field(
        None, ge=1, le=65000, description="First port; the others follow. Default: free ports."
    )


PerCopyT = TypeVar("PerCopyT", bound=PerCopyOptions)


class PerCopy(Disturbable, Service[PerCopyT]):
    """Base of services that start one program several times, each on a port of the host's own address.

    The subclass says how it is started (`program`), what clients are told (`facts`), and `is_answering`.
    """

    access = (Listener("clients", authentication=""),)
    label: ClassVar[str]
    """What a server's log is named after."""

    async def configure(self) -> None:
        """Find ports, and whom the servers are to be."""
        self.ports = await choose_ports(
            self.context.hosts, self.options.port, self.options.servers, self.context.claims
        )
        self.data = await self.make_data()

    async def start(self) -> None:
        """All servers at once."""
        await asyncio.gather(*(self._start(host, port) for port in self.ports for host in self.context.hosts))

    async def make_data(self) -> dict[str, DataDirectory]:
        """Whom the servers are to be on each host, and where their data lie, if they have any."""
        return await choose_accounts(self, self.context.hosts)

    @abstractmethod
    def program(self, host: Host, port: int) -> tuple[str, ...]:
        """The command line of one server."""

    async def is_settled(self) -> bool:
        """Whether its servers wait for clients, or have one: a server with a client turns others away."""
        if any(server.exit is not None or server.frozen for server in self.servers):
            return False
        hosts = self.context.hosts
        there = dict(zip(hosts, await asyncio.gather(*map(list_listening_ports, hosts)), strict=True))
        return all(server.port in there[server.host] for server in self.servers)

    @abstractmethod
    def facts(self) -> Mapping[str, str]:
        """What a client must know beside the addresses; `protocol` is among it."""

    def endpoint(self) -> Endpoint:
        """The first server; all of them are in the fact `servers`."""
        facts = {**self.facts(), "servers": self.list_servers()}
        return Endpoint(self.context.hosts[0].address, self.ports[0], facts)

    async def _start(self, host: Host, port: int) -> None:
        label = f"{self.label}-{port}"
        command = self.data[host.name].account_command(*self.program(host, port))
        await self.launch(host, label, command, address=host.address, port=port)
