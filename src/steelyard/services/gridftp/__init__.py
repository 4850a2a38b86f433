"""`use: gridftp` under `services`: a GridFTP server on each host."""

from __future__ import annotations

import asyncio
import re
import shlex

from pydantic import Field

from steelyard.plugin import Endpoint, Tool
from steelyard.plugin.host import Host
from steelyard.plugin.service import Service, ServiceOptions
from steelyard.services.gridftp.password import LENGTH, USER, passwd_line
from steelyard.services.kit.access import Listener
from steelyard.services.kit.data import DataDirectory, list_allowed_addresses, make_data
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.ports import choose_ports, list_listening_ports
from steelyard.services.kit.private_files import ask, write_private
from steelyard.services.kit.server import Server

_PASSWD, _PASSWORD = "passwd", "password"
# The protocol is text; bash speaks TCP without any further program.
_LOG_IN = (
    'exec 3<>"/dev/tcp/$1/$2" && '
    f'printf "%s\\r\\n" "USER {USER}" "PASS $(cat {_PASSWORD})" "MLST $3" QUIT >&3 && cat <&3'
)
_ASK = f'exec bash -c {shlex.quote(_LOG_IN)} bash "$@"'


class GridftpOptions(ServiceOptions):
    """Where it listens."""

    port: int | None = Field(
        None, ge=1, le=65000, description="Port, the same on all hosts. Default: a free one."
    )


class Gridftp(Disturbable, Service[GridftpOptions]):
    """GridFTP servers, one per host, each serving only an empty directory in the scratch.

    **Who may use it**: the user `steelyard` with a password of eight random letters (the server's maximum),
    from the addresses of the experiment's hosts. No grid certificates are created, so password and files
    travel unencrypted, and the data connections, which FTP opens for each transfer at a random port, require
    no authentication. Both are bound to the host's own address.

    **Source**: the Grid Community Toolkit, https://gridcf.org, `globus-gridftp-server -help`. A server is
    ready when the user can log in and list its directory.
    """

    Options = GridftpOptions
    needs = (
        Tool("globus-gridftp-server", apt="globus-gridftp-server-progs", dnf="globus-gridftp-server-progs"),
        Tool("bash", "bash", "bash"),
    )
    access = (
        Listener("control connections", authentication="password, from the experiment's hosts"),
        Listener("data connections, one port per transfer", authentication="to be the first to connect"),
    )
    examples = ({},)

    async def configure(self) -> None:
        """Find a port and make the directories."""
        hosts = self.context.hosts
        (self.port,) = await choose_ports(hosts, self.options.port, 1, self.context.claims)
        self.data = await make_data(self, hosts)
        await asyncio.gather(*(self._write(host, self.data[host.name]) for host in hosts))

    async def start(self) -> None:
        """All servers at once."""
        await asyncio.gather(*(self._start(host, self.data[host.name]) for host in self.context.hosts))

    async def is_answering(self, server: Server) -> bool:
        """It lets the user in and tells of its directory; asked only when the port is open."""
        if server.port not in await list_listening_ports(server.host):
            return False
        path = str(self.data[server.host.name].path)
        said = await ask(self, server.host, _ASK, server.address, str(server.port), path)
        return re.search(r"^250[ -]", said, re.MULTILINE) is not None

    def endpoint(self) -> Endpoint:
        """The first server, and the directory it serves."""
        first = self.context.hosts[0]
        facts = {
            "protocol": "gridftp",
            "path": str(self.data[first.name].path),
            "paths": ",".join(str(self.data[host.name].path) for host in self.context.hosts),
            "servers": self.list_servers(),
            "user": USER,
        }
        return Endpoint(first.address, self.port, facts, self._password())

    def _password(self) -> str:
        return self.context.password[:LENGTH]

    async def _write(self, host: Host, data: DataDirectory) -> None:
        line = passwd_line(self._password(), str(data.path))
        await write_private(self, host, data, {_PASSWD: line, _PASSWORD: self._password()})

    async def _start(self, host: Host, data: DataDirectory) -> None:
        address = ("-control-interface", host.address, "-data-interface", host.address)
        # It is to change to nobody's user id, and to read no configuration of its host.
        who = ("-auth-level", "4", "-password-file", str(self.scratch(host) / _PASSWD), "-c", "/dev/null")
        where = (
            "-allow-from",
            ",".join(list_allowed_addresses(self.context.clients, host)),
            "-restrict-paths",
            str(data.path),
        )
        words = ("-p", str(self.port), *address, *who, *where, "-log-level", "ERROR,WARN,INFO")
        command = data.account_command("globus-gridftp-server", *words)
        await self.launch(host, "gridftp", command, address=host.address, port=self.port)
