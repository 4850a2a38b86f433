"""`use: nfs` under `services`: an NFS server on each host."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from pydantic import Field

from steelyard.plugin import Command, Endpoint, HostError, Tool, WireProtocol
from steelyard.plugin.host import Host
from steelyard.plugin.service import ServiceOptions
from steelyard.services.kit.access import Listener
from steelyard.services.kit.address import resolve_address
from steelyard.services.kit.data import DataDirectory, list_allowed_addresses
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.meters import add_figures
from steelyard.services.kit.mounting import NSENTER, UNSHARE, MountedService, mount_by_kernel
from steelyard.services.kit.ports import choose_ports, list_listening_ports
from steelyard.services.kit.private_files import write_private
from steelyard.services.kit.server import Server
from steelyard.services.nfs.config import (
    EXPORT,
    GANESHA,
    ISOLATE,
    NETCONFIG,
    NO_NETWORK,
    RUN,
    server_config,
)

_CONF = "conf"
_ANSWER_WITHIN = 5.0  # seconds
_PREPARE = """
[ "$(id -u)" = 0 ] || { echo "NFS-Ganesha must be started by root" >&2; exit 1; }
mkdir -m 0700 files state
"""
_FIND_CLIENT = """
{ grep -qw nfs4 /proc/filesystems || modprobe -q nfsv4 2>/dev/null; } &&
    PATH=$PATH:/usr/sbin:/sbin command -v mount.nfs
"""
_AUTHENTICATION = "root of one of the experiment's hosts"


class NfsOptions(ServiceOptions):
    """Where it listens."""

    port: int | None = Field(
        None,
        ge=1,
        le=65000,
        description="Port, the same on all hosts; NFSv3's mount protocol uses the next one. Default: free "
        "ones.",
    )


class Nfs(Disturbable, MountedService[NfsOptions]):
    """NFS servers (NFS-Ganesha, in user space), one per host, each serving an empty directory of its scratch.

    Workloads reach it by `directory: NAME`, mounted as NFSv4.2 by the kernel of their hosts; each host mounts
    one of the servers, in turn. **Where the kernel has no NFS client**, and it cannot be loaded, nothing can
    be mounted and `directory: NAME` is refused. Then `use: transfer` with `to: NAME` still moves whole files,
    by the programs of libnfs, over NFSv3, since libnfs 4.0 fails to write more than 3 KB by NFSv4. Mounting
    by the kernel is untested: none of the machines on which Steelyard is developed can.

    **Who may use it**: the hosts of the experiment, by their addresses, and there only root (privileged
    ports), whose word for user ids the server takes. Nothing is encrypted. It listens on its host's address
    only. The server must be started by root, and runs as root; it sees a `/run` of its own.

    **Ready** means that it lists its directory for a client on its own host. After a kill and restart it has
    its files; locks are lost.

    **Source**: https://nfs-ganesha.github.io; ganesha-core-config(8). Files are served from the file system
    of the scratch directory (FSAL VFS), which must have file handles: ext4, XFS, Btrfs and tmpfs do,
    overlayfs mostly not.
    """

    Options = NfsOptions
    speaks = WireProtocol("nfs", 2049)
    default_ready_timeout = 60.0
    needs = (
        Tool(
            "ganesha.nfsd",
            apt="nfs-ganesha nfs-ganesha-vfs",
            dnf="nfs-ganesha nfs-ganesha-vfs",
            version=("-v",),
        ),
        Tool("rpcbind", apt="rpcbind", dnf="rpcbind", version=("-v",), places=("/usr/sbin", "/sbin")),
        Tool("nfs-ls", apt="libnfs-utils", dnf="libnfs-utils", version=()),
        UNSHARE,
        NSENTER,
    )
    access = (
        Listener("clients", authentication=_AUTHENTICATION),
        Listener("mounts by NFSv3", authentication=_AUTHENTICATION),
    )
    examples = ({},)

    async def configure(self) -> None:
        """Find ports, make the directories, and look whether those that are to mount it can."""
        hosts = self.context.hosts
        self.ports = tuple(sorted(await choose_ports(hosts, self.options.port, 2, self.context.claims)))
        self.addresses = {host.name: await resolve_address(host) for host in hosts}
        await asyncio.gather(*map(self._check_client, self.context.mount_on))
        await asyncio.gather(*map(self._write, hosts))

    async def start(self) -> None:
        """All servers at once."""
        await asyncio.gather(*map(self._start, self.context.hosts))

    async def is_answering(self, server: Server) -> bool:
        """It lists its directory; asked only when the port is open."""
        if server.port not in await list_listening_ports(server.host):
            return False
        nfs, mount = self.ports
        url = f"nfs://{server.address}{EXPORT}?version=3&nfsport={nfs}&mountport={mount}"
        return await server.host.capture(("nfs-ls", url), seconds=_ANSWER_WITHIN) is not None

    async def read_meters(self) -> Mapping[str, float]:
        """Of the file systems that hold the directories; see `Metered`."""
        script = 'set -- $(stat -f -c "%S %b %a" "$1"); echo $(($1 * $2)) $(($1 * $3))'
        figures = []
        for server in self.servers:
            place = str(self.scratch(server.host) / "files")
            said = (await server.host.capture(("sh", "-c", script, "sh", place)) or "").split()
            if len(said) == 2 and server.exit is None:
                total, free = map(float, said)
                figures.append({"live_servers": 1.0, "total_bytes": total, "free_bytes": free})
        return add_figures(figures)

    def mount_command(self, host: Host) -> Command:
        """By the kernel, each host another server as far as there are."""
        server = self.context.hosts[self.context.mount_on.index(host) % len(self.context.hosts)]
        where = f"{self.addresses[server.name]}:{EXPORT}"
        options = f"vers=4.2,proto=tcp,port={self.ports[0]},hard"
        return mount_by_kernel("-t", "nfs", "-o", options, where, str(self.mount_path(host)))

    def endpoint(self) -> Endpoint:
        """The first server; all of them are in the fact `servers`."""
        nfs, mount = self.ports
        facts = {"protocol": "nfs", "path": EXPORT, "mount_port": str(mount), "servers": self.list_servers()}
        return Endpoint(self.addresses[self.context.hosts[0].name], nfs, facts)

    async def _check_client(self, host: Host) -> None:
        if not await host.capture(("sh", "-c", _FIND_CLIENT)):
            message = f"service {self.context.name}: the kernel of {host.name} has no NFS client to mount it"
            hint = (
                "install nfs-common if only mount.nfs is missing; else move files with `use: transfer`, `to:`"
            )
            raise HostError(message, hint=f"{hint} this service")

    async def _write(self, host: Host) -> None:
        await self.run_script(host, "directories", _PREPARE)
        scratch, allowed = self.scratch(host), list_allowed_addresses(self.context.clients, host)
        mounting = (other.address for other in self.context.mount_on)
        numbers = dict.fromkeys([await resolve_address(host, name) for name in (*allowed, *mounting)])
        ports = self.ports[0], self.ports[1]
        text = server_config(self.addresses[host.name], ports, scratch / "files", scratch / "state", numbers)
        await write_private(self, host, DataDirectory(scratch), {GANESHA: text, NETCONFIG: NO_NETWORK}, _CONF)

    async def _start(self, host: Host) -> None:
        words = (*ISOLATE, "sh", "-euc", RUN, "sh", str(self.scratch(host) / _CONF))
        address = self.addresses[host.name]
        await self.launch(host, "ganesha", Command(words), address=address, port=self.ports[0])
