"""`use: sockperf` under `services`: servers for the workload sockperf."""

from __future__ import annotations

import asyncio

from pydantic import Field

from steelyard.model.command import Command, Endpoint
from steelyard.model.tool import Tool
from steelyard.remote.base import Host
from steelyard.services._ports import chosen_ports, listening
from steelyard.services._server import Server
from steelyard.services.base import Service, ServiceOptions


class SockperfOptions(ServiceOptions):
    """How many servers, and where."""

    servers: int = Field(
        1, ge=1, le=256, description="Servers on each host, one for each copy of the workload that uses it."
    )
    port: int | None = Field(
        None, ge=1, le=65000, description="First port; the others follow. Default: ports that are free."
    )
    protocol: str = Field("tcp", pattern=r"^(tcp|udp)$", description="tcp or udp, as the workload's.")


class Sockperf(Service[SockperfOptions]):
    """sockperf servers, which answer each message with one of the same length.

    They listen on the host's own address, without a password. Source: https://github.com/Mellanox/sockperf.
    """

    options = SockperfOptions
    needs = (Tool("sockperf", apt="sockperf", dnf="sockperf", at_least="3.6"),)
    examples = ({"servers": 2}, {"protocol": "udp"})

    async def configure(self) -> None:
        """Find ports."""
        hosts, chosen = self.context.hosts, self.chosen
        self.ports = await chosen_ports(hosts, chosen.port, chosen.servers)

    async def start(self) -> None:
        """All servers at once."""
        await asyncio.gather(*(self._start(host, port) for port in self.ports for host in self.context.hosts))

    async def _start(self, host: Host, port: int) -> None:
        argv = ("sockperf", "server", "--ip", host.address, "--port", str(port), *self._tcp())
        await self.launch(host, f"sockperf-{port}", Command(argv), address=host.address, port=port)

    async def answers(self, server: Server) -> bool:
        """Its port is open: sockperf opens it last, and its client cannot ask in less than three seconds."""
        return server.port in await listening(server.host)

    async def kill(self, host: str) -> None:
        """As a crash of the host's servers; see `Killable`."""
        await self.kill_servers(host)

    async def restart(self, host: str) -> None:
        """After a crash."""
        await self.restart_servers(host)

    async def pause(self, host: str) -> None:
        """In the middle of its work; see `Pausable`."""
        await self.freeze_servers(host)

    async def resume(self, host: str) -> None:
        """After a pause."""
        await self.thaw_servers(host)

    def endpoint(self) -> Endpoint:
        """The first server; all of them are in the fact `servers`."""
        facts = {"protocol": self.chosen.protocol, "servers": self.all_servers()}
        first = self.context.hosts[0]
        return Endpoint(first.address, self.ports[0], {**facts, "unauthenticated": "whoever reaches it"})

    def _tcp(self) -> tuple[str, ...]:
        return ("--tcp",) if self.chosen.protocol == "tcp" else ()
