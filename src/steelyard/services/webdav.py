"""`use: webdav` under `services`: a WebDAV server on each host, whose files lie in the scratch."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from pydantic import Field

from steelyard.plugin import RCLONE, Endpoint, Tool
from steelyard.plugin.host import Host
from steelyard.plugin.service import Service, join_host_port
from steelyard.services.kit.access import Listener
from steelyard.services.kit.address import resolve_address
from steelyard.services.kit.certificates import AUTHORITY, IDENTITY, Authority, is_encrypted
from steelyard.services.kit.data import make_data
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.ports import choose_ports, list_listening_ports
from steelyard.services.kit.private_files import ask, write_private
from steelyard.services.kit.server import Server
from steelyard.services.kit.tls_option import ENCRYPTED, TlsOption

_USER, _LOGIN = "steelyard", "login.conf"
_ASK = f'curl --config {_LOGIN} --request PROPFIND --header "Depth: 0" "$1"'


class WebdavOptions(TlsOption):
    """Where it listens."""

    port: int | None = Field(
        None, ge=1, le=65000, description="Port, the same on all hosts. Default: a free one."
    )


class Webdav(Disturbable, Service[WebdavOptions]):
    """WebDAV servers (`rclone serve webdav`), one per host, each with an empty directory in its scratch.

    **Who may use it**: anyone who has the run's password, as user `steelyard` (HTTP basic authentication).
    Each server is bound to its host's address. Clients use TLS unless all hosts have loopback addresses
    (`tls`). The password reaches the server in its environment.

    **Source**: RFC 4918; https://rclone.org/commands/rclone_serve_webdav. A server is ready when it describes
    its root to whoever logs in. Files survive a kill and restart.
    """

    Options = WebdavOptions
    needs = (RCLONE, Tool("curl", apt="curl", dnf="curl"))
    access = (Listener("clients", authentication="password", encrypted=ENCRYPTED),)
    examples = ({}, {"tls": True})

    async def configure(self) -> None:
        """Find a port, make the directory, and write what a server and our questions read."""
        hosts = self.context.hosts
        self.address = {host.name: await resolve_address(host) for host in hosts}
        (self.port,) = await choose_ports(hosts, self.options.port, 1)
        self.authority = Authority() if self.has_tls else None
        self.data = await make_data(self, hosts)
        await asyncio.gather(*map(self._write, hosts))

    async def start(self) -> None:
        """All servers at once."""
        await asyncio.gather(*map(self._start, self.context.hosts))

    async def is_answering(self, server: Server) -> bool:
        """It describes its root; asked only when the port is open."""
        if server.port not in await list_listening_ports(server.host):
            return False
        return "multistatus" in await ask(self, server.host, _ASK, self._url(server.host))

    @property
    def has_tls(self) -> bool:
        """Whether clients use TLS."""
        return is_encrypted(self.options.tls, (host.address for host in self.context.hosts))

    def endpoint(self) -> Endpoint:
        """The first server; all of them are in the fact `servers`."""
        first = self.context.hosts[0]
        tls = "true" if self.has_tls else "false"
        facts = {"protocol": "webdav", "path": "/", "user": _USER, "tls": tls, "servers": self.list_servers()}
        believed = self.authority.certificate if self.authority else None
        return Endpoint(self.address[first.name], self.port, facts, self.context.password, believed)

    async def _start(self, host: Host) -> None:
        data, identity = self.data[host.name], str(self.scratch(host) / IDENTITY)
        address = self.address[host.name]
        at = join_host_port(address, self.port)
        where = ("--config", "", "--cache-dir", str(data.path / "cache"), "--addr", at)
        tls = ("--cert", identity, "--key", identity) if self.has_tls else ()
        limits = {"GOMAXPROCS": str(self.share(host).cores), "RCLONE_USER": _USER}
        words = ("rclone", "serve", "webdav", *where, *tls, str(data.path / "files"))
        command = replace(
            data.account_command(*words, **limits), secrets={"RCLONE_PASS": self.context.password}
        )
        await self.launch(host, "webdav", command, address=address, port=self.port)

    def _url(self, host: Host) -> str:
        scheme = "https" if self.has_tls else "http"
        return f"{scheme}://{join_host_port(self.address[host.name], self.port)}/"

    async def _write(self, host: Host) -> None:
        data = self.data[host.name]
        lines = [
            f'user = "{_USER}:{self.context.password}"',
            "silent",
            "fail",
            "max-time = 4",
            'noproxy = "*"',
        ]
        lines += [f'cacert = "{AUTHORITY}"'] if self.authority else []
        keys = self.authority.issue_files(self.address[host.name]) if self.authority else {}
        await write_private(self, host, data, {_LOGIN: "\n".join(lines) + "\n", **keys})
        await self.make_runner(host, "directories")(data.account_command("mkdir", "data/files"))
