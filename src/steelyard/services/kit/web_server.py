"""Servers that speak HTTP, one on each host, with files in the scratch; curl asks how they are."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from pydantic import Field

from steelyard.hosts.base import Host
from steelyard.model.command import Endpoint
from steelyard.model.keys.reference import join_host_port
from steelyard.services.base import Service
from steelyard.services.kit.address import resolve_address
from steelyard.services.kit.certificates import AUTHORITY, Authority, is_encrypted
from steelyard.services.kit.data import make_data
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.ports import choose_ports
from steelyard.services.kit.private_files import write_private
from steelyard.services.kit.tls_option import TlsOption

LOGIN = "login.conf"
"""What curl reads, with whose name and password it asks."""


class WebServerOptions(TlsOption):
    """Where it listens."""

    port: int | None = Field(
        None, ge=1, le=65000, description="Port, the same on all hosts. Default: a free one."
    )


OptionsT = TypeVar("OptionsT", bound=WebServerOptions)


class WebServer(Disturbable, Service[OptionsT]):
    """Such servers. An entry starts that of a host, and says what curl must know and which folders it has."""

    async def configure(self) -> None:
        """Find a port, make directories, and write what a server and our questions read."""
        hosts = self.context.hosts
        self.address = {host.name: await resolve_address(host) for host in hosts}
        (self.port,) = await choose_ports(hosts, self.options.port, 1, self.context.claims)
        self.authority = Authority() if self.has_tls else None
        self.data = await make_data(self, hosts)
        await asyncio.gather(*map(self._write, hosts))

    async def start(self) -> None:
        """All servers at once."""
        await asyncio.gather(*map(self.start_server, self.context.hosts))

    @abstractmethod
    async def start_server(self, host: Host) -> None:
        """Start the one of a host."""

    @abstractmethod
    def curl_lines(self) -> Sequence[str]:
        """Lines of curl's configuration beside those that each has; the first says who asks."""

    @abstractmethod
    def list_folders(self) -> Sequence[str]:
        """Directories below the data that a server finds."""

    @property
    def has_tls(self) -> bool:
        """Whether clients use TLS."""
        return is_encrypted(self.options.tls, (host.address for host in self.context.hosts))

    def make_endpoint(self, protocol: str, path: str, user: str, **facts: str) -> Endpoint:
        """The first server; all of them are in the fact `servers`. Clients need the run's password."""
        tls = "true" if self.has_tls else "false"
        common = {
            "protocol": protocol,
            "path": path,
            "user": user,
            "tls": tls,
            "servers": self.list_servers(),
        }
        believed = self.authority.certificate if self.authority else None
        address = self.address[self.context.hosts[0].name]
        return Endpoint(address, self.port, {**common, **facts}, self.context.password, believed)

    def url(self, host: Host) -> str:
        """Of the server on a host."""
        scheme = "https" if self.has_tls else "http"
        return f"{scheme}://{join_host_port(self.address[host.name], self.port)}"

    async def _write(self, host: Host) -> None:
        data = self.data[host.name]
        lines = [
            *self.curl_lines(),
            *("silent", "fail", "max-time = 4", 'noproxy = "*"'),
            *([f'cacert = "{AUTHORITY}"'] if self.authority else []),
        ]
        keys = self.authority.issue_files(self.address[host.name]) if self.authority else {}
        await write_private(self, host, data, {LOGIN: "\n".join(lines) + "\n", **keys})
        folders = (f"data/{folder}" for folder in self.list_folders())
        await self.make_runner(host, "directories")(data.account_command("mkdir", "-p", *folders))
