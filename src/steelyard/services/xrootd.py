"""`use: xrootd` under `services`: a data server of XRootD on each host."""

from __future__ import annotations

import asyncio

from pydantic import Field

from steelyard.plugin import Endpoint, Tool, derive_password
from steelyard.plugin.host import Host
from steelyard.plugin.service import Service, ServiceOptions
from steelyard.services.kit.access import Listener
from steelyard.services.kit.data import DataDirectory, list_allowed_addresses, make_data
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.ports import choose_ports, list_listening_ports
from steelyard.services.kit.private_files import ask, write_private
from steelyard.services.kit.server import Server

# XRootD takes a keytab that its group may read where its name ends so, and else none.
_KEYTAB, _CONFIG, _USER = "sss.keytab.grp", "xrootd.cfg", "steelyard"
_CLOCKS = 60  # seconds that clients' clocks may be off
_ASK = f'XrdSecPROTOCOL=sss XrdSecSSSKT=$PWD/{_KEYTAB} exec xrdfs "$1" query config version'
# Its sockets lie in a directory of its own, whose path may be longer than a socket's can be: unix(7). So the
# server holds it open, and calls it by the descriptor.
_RUN = "/proc/self/fd/9"
_ENTER = 'cd "$1"; exec 9< "$1"; shift; exec "$@"'


class XrootdOptions(ServiceOptions):
    """Where it listens."""

    port: int | None = Field(
        None,
        ge=1,
        le=65000,
        description="Port of the first host; the other hosts use the ports that follow. Default: free ones.",
    )


class Xrootd(Disturbable, Service[XrootdOptions]):
    """XRootD data servers, one per host, with an empty directory in the scratch as their root.

    **Who may use it**: anyone who has the run's key and connects from an address of the experiment's hosts
    (`xrd.allow`). The key is an XRootD simple shared secret (`sss`), which a client proves to have without
    sending it: a line of a keytab, which clients name in `XrdSecSSSKT`. Clocks of clients and servers may
    differ by a minute. Files travel unencrypted. XRootD 5.5 cannot be bound to one address, so it listens on
    all addresses of its host, and every server has its own port.

    **Source**: https://xrootd.slac.stanford.edu, "XRootD configuration reference", "Security". A server is
    ready when it reports its version to `xrdfs`.
    """

    Options = XrootdOptions
    needs = (
        Tool("xrootd", apt="xrootd-server", dnf="xrootd-server", version=("-v",)),
        Tool("xrdfs", apt="xrootd-client", dnf="xrootd-client"),
    )
    access = (
        Listener("clients", "a shared secret (sss), from the experiment's hosts", binding="everywhere"),
    )
    examples = ({},)

    async def configure(self) -> None:
        """Find ports and write each server's configuration."""
        hosts = self.context.hosts
        ports = await choose_ports(hosts, self.options.port, len(hosts), self.context.claims)
        self.ports = {host.name: port for host, port in zip(hosts, ports, strict=True)}
        self.data = await make_data(self, hosts)
        await asyncio.gather(*(self._write(host) for host in hosts))

    async def start(self) -> None:
        """All servers at once."""
        await asyncio.gather(*(self._start(host, self.data[host.name]) for host in self.context.hosts))

    async def is_answering(self, server: Server) -> bool:
        """It tells its version; asked only when the port is open, for xrdfs tries again for long."""
        if server.port not in await list_listening_ports(server.host):
            return False
        return bool(await ask(self, server.host, _ASK, f"{server.address}:{server.port}"))

    def endpoint(self) -> Endpoint:
        """The first server; the paths of its files begin at its root."""
        first = self.context.hosts[0]
        facts = {"protocol": "xrootd", "path": "/", "servers": self.list_servers()}
        return Endpoint(first.address, self.ports[first.name], facts, self._key())

    async def _start(self, host: Host, data: DataDirectory) -> None:
        config, pid = str(self.scratch(host) / _CONFIG), str(data.path / "run" / "server.pid")
        # Beside the file of `-s` goes one of facts, which would go to /tmp without it.
        words = ("xrootd", "-c", config, "-n", self.context.name, "-s", pid)
        command = data.account_command("sh", "-eu", "-c", _ENTER, "sh", str(data.path / "run"), *words)
        await self.launch(host, "xrootd", command, address=host.address, port=self.ports[host.name])

    def _key(self) -> str:
        """The one line of the keytab. It follows from the password, which it does not give away."""
        key = derive_password("sss", self.context.password)
        return f"0 u:{_USER} g:{_USER} n:{_USER} N:1 c:0 e:0 f:0 k:{key}"

    async def _write(self, host: Host) -> None:
        data = self.data[host.name]
        lines = [
            "all.export /",
            f"oss.localroot {data.path}/files",
            f"all.adminpath {_RUN}",
            f"all.pidpath {_RUN}",
            f"xrd.port {self.ports[host.name]}",
            "xrd.network nodnr",
            "xrootd.seclib libXrdSec.so",
            f"sec.protocol sss -l {_CLOCKS} -s {self.scratch(host) / _KEYTAB}",
            "sec.protbind * only sss",
            *(f"xrd.allow host {address}" for address in list_allowed_addresses(self.context.clients, host)),
        ]
        texts = {_KEYTAB: self._key() + "\n", _CONFIG: "\n".join(lines) + "\n"}
        await write_private(self, host, data, texts)
        await self.make_runner(host, "directories")(data.account_command("mkdir", "data/files", "data/run"))
