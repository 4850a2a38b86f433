"""`use: iperf3` under `services`: servers for the workload iperf3."""

from __future__ import annotations

import asyncio
import json

from pydantic import Field

from steelyard.model.command import Command, Endpoint
from steelyard.model.tool import Tool
from steelyard.remote.base import Host
from steelyard.services._ports import chosen_ports, listening
from steelyard.services._server import Server
from steelyard.services.base import Service, ServiceOptions


class Iperf3Options(ServiceOptions):
    """How many servers, and where."""

    servers: int = Field(
        1, ge=1, le=256, description="Servers on each host, one for each copy of the workload that uses it."
    )
    port: int | None = Field(
        None, ge=1, le=65000, description="First port; the others follow. Default: ports that are free."
    )


class Iperf3(Service[Iperf3Options]):
    """iperf3 servers: each takes one client at a time, so there are as many as copies.

    They listen on the host's own address. iperf3 asks for no password here, and moves only what clients send;
    its servers end with the run. Source: https://github.com/esnet/iperf.
    """

    options = Iperf3Options
    needs = (Tool("iperf3", apt="iperf3", dnf="iperf3", at_least="3.7"),)
    examples = ({"servers": 2},)

    async def configure(self) -> None:
        """Find ports."""
        hosts, chosen = self.context.hosts, self.chosen
        self.ports = await chosen_ports(hosts, chosen.port, chosen.servers)

    async def start(self) -> None:
        """All servers at once."""
        await asyncio.gather(*(self._start(host, port) for port in self.ports for host in self.context.hosts))

    async def _start(self, host: Host, port: int) -> None:
        argv = ("iperf3", "--server", "--bind", host.address, "--port", str(port), "--forceflush")
        await self.launch(host, f"iperf3-{port}", Command(argv), address=host.address, port=port)

    async def answers(self, server: Server) -> bool:
        """A block of one byte gets through; asked only when the port is open, to keep the log short."""
        if server.port not in await listening(server.host):
            return False
        to = ("--client", server.address, "--port", str(server.port))
        text = await server.host.capture(("iperf3", "--json", *to, "--blockcount", "1", "--length", "1"))
        return bool(text) and "error" not in json.loads(text or "{}")

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
        first = self.context.hosts[0]
        facts = {"protocol": "iperf3", "servers": self.all_servers(), "unauthenticated": "whoever reaches it"}
        return Endpoint(first.address, self.ports[0], facts)
