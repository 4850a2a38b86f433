"""`use: xrootd` under `services`: a data server of XRootD on each host."""

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


class XrootdOptions(ServiceOptions):
    """Where it listens."""

    port: int | None = Field(
        None, ge=1, le=65000, description="Port of the first host, the others' follow. Default: free ones."
    )


class Xrootd(Disturbable[XrootdOptions]):
    """XRootD data servers, one on each host, with an empty directory in the scratch as their root.

    **Who may use it**: whoever connects from the addresses of the experiment's hosts (`xrd.allow`); it asks
    for no password. XRootD 5.5 cannot be bound to one address, so it listens on all of its host's, and every
    server has a port of its own. Where root starts it, it runs as `nobody`, since it refuses to be root.

    **Source**: https://xrootd.slac.stanford.edu, "XRootD configuration reference". Ready is a server that
    tells its version to `xrdfs`.
    """

    options = XrootdOptions
    needs = (
        Tool("xrootd", apt="xrootd-server", dnf="xrootd-server", version=("-v",)),
        Tool("xrdfs", apt="xrootd-client", dnf="xrootd-client"),
    )
    examples = ({},)

    async def configure(self) -> None:
        """Find ports and write each server's configuration."""
        hosts = self.context.hosts
        ports = await chosen_ports(hosts, self.chosen.port, len(hosts))
        self.ports = {host.name: port for host, port in zip(hosts, ports, strict=True)}
        self.data = {host.name: await make_data(self, host) for host in hosts}
        await asyncio.gather(*(self._write(host) for host in hosts))

    async def start(self) -> None:
        """All servers at once."""
        await asyncio.gather(*(self._start(host, self.data[host.name]) for host in self.context.hosts))

    async def answers(self, server: Server) -> bool:
        """It tells its version; asked only when the port is open, for xrdfs tries again for long."""
        if server.port not in await listening(server.host):
            return False
        query = ("xrdfs", f"{server.address}:{server.port}", "query", "config", "version")
        return bool(await server.host.capture(query, seconds=5.0))

    def endpoint(self) -> Endpoint:
        """The first server; the paths of its files begin at its root."""
        first = self.context.hosts[0]
        facts = {"protocol": "xrootd", "path": "/", "servers": self.all_servers()}
        return Endpoint(
            first.address,
            self.ports[first.name],
            {**facts, "unauthenticated": "whoever connects from the experiment's hosts"},
        )

    async def _start(self, host: Host, data: Data) -> None:
        config, pid = (str(self.scratch(host) / name) for name in ("xrootd.cfg", "server.pid"))
        # Beside the file of `-s` goes one of facts, which would go to /tmp without it.
        command = data.as_its_user("xrootd", "-c", config, "-n", self.context.name, "-s", pid)
        await self.launch(host, "xrootd", command, address=host.address, port=self.ports[host.name])

    async def _write(self, host: Host) -> None:
        scratch = self.scratch(host)
        lines = [
            "all.export /",
            f"oss.localroot {self.data[host.name].path}",
            f"all.adminpath {scratch}",
            f"all.pidpath {scratch}",
            f"xrd.port {self.ports[host.name]}",
            "xrd.network nodnr",
            *(f"xrd.allow host {address}" for address in allowed(self.context.clients, host)),
        ]
        await self.small(
            host, "configuration", 'printf "%s" "$CONTENT" > xrootd.cfg', CONTENT="\n".join(lines) + "\n"
        )
