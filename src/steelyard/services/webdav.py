"""`use: webdav` under `services`: a WebDAV server on each host, whose files lie in the scratch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.plugin import RCLONE, Endpoint, Tool
from steelyard.plugin.host import Host
from steelyard.plugin.service import join_host_port
from steelyard.services.kit.access import Listener
from steelyard.services.kit.certificates import IDENTITY
from steelyard.services.kit.ports import list_listening_ports
from steelyard.services.kit.private_files import ask
from steelyard.services.kit.server import Server
from steelyard.services.kit.tls_option import ENCRYPTED
from steelyard.services.kit.web_server import LOGIN, WebServer, WebServerOptions

_USER = "steelyard"
_ASK = f'curl --config {LOGIN} --request PROPFIND --header "Depth: 0" "$1"'


class Webdav(WebServer[WebServerOptions]):
    """WebDAV servers (`rclone serve webdav`), one per host, each with an empty directory in its scratch.

    **Who may use it**: anyone who has the run's password, as user `steelyard` (HTTP basic authentication).
    Each server is bound to its host's address. Clients use TLS unless all hosts have loopback addresses
    (`tls`). The password reaches the server in its environment.

    **Source**: RFC 4918; https://rclone.org/commands/rclone_serve_webdav. A server is ready when it describes
    its root to whoever logs in. Files survive a kill and restart.
    """

    Options = WebServerOptions
    needs = (RCLONE, Tool("curl", apt="curl", dnf="curl"))
    access = (Listener("clients", authentication="password", encrypted=ENCRYPTED),)
    examples = ({}, {"tls": True})

    async def is_answering(self, server: Server) -> bool:
        """It describes its root; asked only when the port is open."""
        if server.port not in await list_listening_ports(server.host):
            return False
        return "multistatus" in await ask(self, server.host, _ASK, f"{self.url(server.host)}/")

    def endpoint(self) -> Endpoint:
        """The first server; all of them are in the fact `servers`."""
        return self.make_endpoint("webdav", "/", _USER)

    def curl_lines(self) -> Sequence[str]:
        """A password is shown."""
        return (f'user = "{_USER}:{self.context.password}"',)

    def list_folders(self) -> Sequence[str]:
        """The root, which is empty."""
        return ("files",)

    async def start_server(self, host: Host) -> None:
        """The password is in its environment."""
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
