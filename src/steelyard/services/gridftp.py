"""`use: gridftp` under `services`: a GridFTP server on each host."""

from __future__ import annotations

import asyncio

from pydantic import Field

from steelyard.model.command import Endpoint
from steelyard.model.tool import Tool
from steelyard.remote.base import Host
from steelyard.services._data import Data, allowed, make_data
from steelyard.services._disturbable import Disturbable
from steelyard.services._ports import chosen_ports, listening
from steelyard.services._server import Server
from steelyard.services.base import ServiceOptions


class GridftpOptions(ServiceOptions):
    """Where it listens."""

    port: int | None = Field(
        None, ge=1, le=65000, description="Port, the same on all hosts. Default: one that is free."
    )


class Gridftp(Disturbable[GridftpOptions]):
    """GridFTP servers, one on each host, that serve an empty directory in the scratch and nothing else.

    **Who may use it**: whoever connects from the addresses of the experiment's hosts; access is anonymous
    (`-aa`), because grid certificates are not made for a test. Control and data connections are bound to the
    host's own address. Where root starts it, it runs as `nobody`.

    **Source**: the Grid Community Toolkit, https://gridcf.org, `globus-gridftp-server -help`. Ready is a
    server that lists its directory.
    """

    options = GridftpOptions
    needs = (
        Tool("globus-gridftp-server", apt="globus-gridftp-server-progs", dnf="globus-gridftp-server-progs"),
        Tool("globus-url-copy", apt="globus-gass-copy-progs", dnf="globus-gass-copy-progs"),
    )
    examples = ({},)

    async def configure(self) -> None:
        """Find a port and make the directories."""
        hosts = self.context.hosts
        (self.port,) = await chosen_ports(hosts, self.chosen.port, 1)
        self.data = {host.name: await make_data(self, host) for host in hosts}

    async def start(self) -> None:
        """All servers at once."""
        await asyncio.gather(*(self._start(host, self.data[host.name]) for host in self.context.hosts))

    async def answers(self, server: Server) -> bool:
        """It lists its directory; asked only when the port is open."""
        if server.port not in await listening(server.host):
            return False
        url = f"ftp://{server.address}:{server.port}{self.data[server.host.name].path}/"
        return await server.host.capture(("globus-url-copy", "-list", url), seconds=5.0) is not None

    def endpoint(self) -> Endpoint:
        """The first server, and the directory it serves."""
        first = self.context.hosts[0]
        facts = {
            "protocol": "gridftp",
            "path": str(self.data[first.name].path),
            "paths": ",".join(str(self.data[host.name].path) for host in self.context.hosts),
            "servers": self.all_servers(),
            "unauthenticated": "whoever connects from the experiment's hosts",
        }
        return Endpoint(first.address, self.port, facts)

    async def _start(self, host: Host, data: Data) -> None:
        address = ("-control-interface", host.address, "-data-interface", host.address)
        who = ("-aa", "-allow-from", ",".join(allowed(self.context.clients, host)))
        log = self.scratch(host) / "gridftp.log"
        place = ("-restrict-paths", str(data.path), "-l", str(log), "-log-level", "ERROR,WARN,INFO")
        command = data.as_its_user("globus-gridftp-server", "-p", str(self.port), *address, *who, *place)
        server = await self.launch(host, "gridftp", command, address=host.address, port=self.port)
        server.fetch = (log,)
