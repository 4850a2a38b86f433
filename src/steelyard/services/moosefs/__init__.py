"""`use: moosefs` under `services`: a distributed file system, a chunk server on each host."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from steelyard.plugin import Command, Endpoint, Tool, derive_password
from steelyard.plugin.host import Host
from steelyard.services.kit.access import Listener
from steelyard.services.kit.address import resolve_address
from steelyard.services.kit.data import DataDirectory, make_data
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.growth import choose_new_hosts
from steelyard.services.kit.mounting import NSENTER, UNSHARE, MountedService
from steelyard.services.kit.ports import choose_ports, list_listening_ports
from steelyard.services.kit.private_files import write_private
from steelyard.services.kit.server import Server
from steelyard.services.moosefs import config
from steelyard.services.moosefs.config import MoosefsPorts
from steelyard.services.moosefs.options import MoosefsOptions
from steelyard.services.moosefs.status import QUESTION, MoosefsStatus, read_status

_MASTER, _CHUNKSERVER = "master", "chunkserver"
_CONF, _CLIENT = "conf", "client"
_ANSWER_WITHIN = 5.0  # seconds
MFSMASTER, MFSCHUNKSERVER = (
    Tool(name, apt=name.replace("mfs", "moosefs-"), dnf=name.replace("mfs", "moosefs-"), version=("-v",))
    for name in ("mfsmaster", "mfschunkserver")
)
_MAKE = """
mkdir data/chunkserver data/chunks
[ -z "$1" ] || { mkdir data/master; printf %s "$1" > data/master/metadata.mfs; }
"""
_SET_GOAL = 'mfssetgoal "$1" . && mfssettrashtime "$2" .'


class Moosefs(Disturbable, MountedService[MoosefsOptions]):
    """MooseFS: a master on the first host, which keeps all metadata, and a chunk server on each host.

    A file is cut into chunks of 64 MiB, of which each lies on as many chunk servers as `replicas` says.
    Workloads reach it by `directory: NAME`, mounted through FUSE on their hosts.

    **Who may use it**: only the addresses of the experiment's hosts can mount it, and only with the password,
    which is random for each run. Chunk servers prove by a code that they belong to this master. But chunk
    servers give chunks to whoever asks for them by their number, and anyone who reaches the master can read
    its state and its metadata; so the service needs `open: true` if others use its hosts. Nothing is
    encrypted. Servers listen on their host's address only, never on loopback: choose hosts with addresses of
    their own, such as those of the site `netns`.

    **Ready** means that the master knows every chunk server with its space; **settled** that each chunk has
    as many copies as it should on the servers that live. A chunk server that is killed is missed at once, one
    that hangs or is cut off after 10 s, and its chunks are copied among the others; the last of them may wait
    for the master's next round of checks, which is a minute away at most. The master is a single
    point of failure: without it, clients wait.

    **How to read its figures**: space is that of the file systems in which the servers' scratch directories
    lie. Servers that share a disk, as those of `netns`, count it once each. `operations` are those of all
    mounts since the last full hour.

    **Source**: the manual pages of MooseFS 3.0; https://moosefs.com/support.
    """

    Options = MoosefsOptions
    needs_network = True
    needs = (
        MFSMASTER,
        MFSCHUNKSERVER,
        Tool("mfscli", apt="moosefs-cli", dnf="moosefs-cli", version=("-v",)),
        Tool("mfsmount", apt="moosefs-client", dnf="moosefs-client", version=("-V",)),
        UNSHARE,
        NSENTER,
    )
    access = (
        Listener("clients", authentication="password, from the experiment's hosts"),
        Listener("chunk servers", authentication="a code of the deployment"),
        Listener("copies of metadata", authentication=""),
        Listener("chunks", authentication=""),
    )
    covers = ("XOS.41",)
    examples = ({}, {"replicas": 1, "trash_time": "60s", "repair_delay": "1s"})

    @classmethod
    def min_hosts(cls, options: MoosefsOptions) -> int:
        """One for each copy."""
        return options.replicas or 1

    async def configure(self) -> None:
        """Find ports, write each server's configuration, and that of each client."""
        everywhere = (*self.context.hosts, *self.context.spare)
        self.ports = MoosefsPorts(
            *sorted(await choose_ports(everywhere, self.options.port, 4, self.context.claims))
        )
        self.members = list(self.context.hosts)
        hosts = dict.fromkeys((*everywhere, *self.context.mount_on))
        self.addresses = {host.name: await resolve_address(host) for host in hosts}
        self.data = await make_data(self, self.context.hosts)
        await asyncio.gather(*map(self._write_server, self.context.hosts))
        await asyncio.gather(*map(self._write_client, self.context.mount_on))

    async def start(self) -> None:
        """The master first, which chunk servers wait for, so that it is also the first to be restarted."""
        await self._start_master()
        await asyncio.gather(*map(self._start_chunkserver, self.context.hosts))

    async def ready(self) -> None:
        """Every server answers, it is mounted, and files have as many copies as they should."""
        await super().ready()
        for name in list(self.mounts)[:1]:
            point, host = self.mount_point(name), self.mounts[name].host
            goal = str(self.options.replicas or min(2, len(self.context.hosts)))
            words = ("sh", "-euc", _SET_GOAL, "sh", goal, str(int(self.options.trash_time)))
            await self.make_runner(host, "goal")(point.enter(Command(words), point.path))

    async def is_answering(self, server: Server) -> bool:
        """By the master's word, which is asked only when its port is open."""
        if server.port not in await list_listening_ports(server.host):
            return False
        status = await self._read_status()
        if server.label == _MASTER:
            return bool(status.chunks)
        return status.servers.get(server.address, 0) > 0

    def describe_wait(self, server: Server) -> str:
        """Chunk servers register."""
        return "the master to know it" if server.label == _CHUNKSERVER else ""

    async def is_settled(self) -> bool:
        """Whether the master knows those that live, and no others, and no chunk lacks a copy.

        mfscli asks for the health of chunks before it asks who is there. So a server that leaves in between
        is missed although every chunk seems to have its copies; only a second answer says what it took along.
        """
        live = [server for server in self.servers if server.exit is None and not server.frozen]
        chunkservers = {server.address for server in live if server.label == _CHUNKSERVER}
        if set((await self._read_status()).servers) != chunkservers:
            return False
        status = await self._read_status()
        return status.is_healthy and set(status.servers) == chunkservers

    async def read_meters(self) -> Mapping[str, float]:
        """See `Metered`."""
        return (await self._read_status()).meters()

    async def grow(self, to: int) -> None:
        """Take in hosts, one after the other; see `Growable`."""
        for host in choose_new_hosts(self.context, self.members, to, "chunk servers"):
            await self._join(host)

    def mount_command(self, host: Host) -> Command:
        """mfsmount in the foreground; the file has all that it must know."""
        file = self.scratch(host) / _CLIENT / config.MOUNT
        return Command(("mfsmount", "-f", "-o", f"mfscfgfile={file}", str(self.mount_path(host))))

    def endpoint(self) -> Endpoint:
        """The master."""
        facts = {"protocol": "moosefs", "servers": self.list_servers()}
        return Endpoint(self._master_address, self.ports.clients, facts, self.context.password)

    @property
    def _master_address(self) -> str:
        return self.addresses[self.context.hosts[0].name]

    async def _join(self, host: Host) -> None:
        """Take in a host; it is part of the file system afterwards, or nothing of it is left."""
        try:
            self.data |= await make_data(self, [host])
            await self._write_server(host)
            await self._wait_until_answering(await self._start_chunkserver(host))
            self.members.append(host)
        except BaseException:
            await asyncio.shield(self._remove(host))
            raise

    async def _remove(self, host: Host) -> None:
        """A host that did not join."""
        servers = [server for server in self.servers if server.host is host]
        await asyncio.gather(*(server.stop() for server in servers))
        self.servers = [server for server in self.servers if server.host is not host]
        for place in ("data", _CONF):
            await host.remove_directory(self.scratch(host) / place)

    async def _read_status(self) -> MoosefsStatus:
        """By a program beside the master, so that it is asked also where the network is disturbed."""
        where = ("-H", self._master_address, "-P", str(self.ports.clients))
        asked = self.context.hosts[0].capture(("mfscli", *where, *QUESTION), seconds=_ANSWER_WITHIN)
        return read_status(await asked or "")

    async def _start_master(self) -> Server:
        host = self.context.hosts[0]
        # `-a`: after a crash, it reads what changed since it last saved its metadata.
        words = MFSMASTER.argv("-f", "-a", "-c", str(self._conf(host) / config.MASTER), "start")
        return await self._launch(host, _MASTER, words, self.ports.clients)

    async def _start_chunkserver(self, host: Host) -> Server:
        words = MFSCHUNKSERVER.argv("-f", "-c", str(self._conf(host) / config.CHUNKSERVER), "start")
        return await self._launch(host, _CHUNKSERVER, words, self.ports.chunks)

    async def _launch(self, host: Host, label: str, words: Sequence[str], port: int) -> Server:
        command = self.data[host.name].account_command(*words)
        return await self.launch(host, label, command, address=self.addresses[host.name], port=port)

    def _conf(self, host: Host) -> PurePosixPath:
        """Where that lies which a server reads and may not change."""
        return self.scratch(host) / _CONF

    async def _write_server(self, host: Host) -> None:
        data, conf, own = self.data[host.name], self._conf(host), self.addresses[host.name]
        code = derive_password("chunk servers", self.context.password)
        places = own, self._master_address
        texts = {
            config.CHUNKSERVER: config.chunkserver_config(
                conf, data.path / "chunkserver", places, self.ports, code
            ),
            config.DISKS: f"{data.path / 'chunks'}\n",
        }
        is_master = host is self.context.hosts[0]
        if is_master:
            texts |= await self._make_master_files(conf, data, code)
        await write_private(self, host, data, texts, _CONF)
        words = ("sh", "-euc", _MAKE, "sh", config.NEW_METADATA if is_master else "")
        await self.make_runner(host, "directories")(data.account_command(*words))

    async def _make_master_files(self, conf: PurePosixPath, data: DataDirectory, code: str) -> dict[str, str]:
        first = self.context.hosts[0]
        names = dict.fromkeys((*self.context.clients, *(host.address for host in self.context.mount_on)))
        clients = dict.fromkeys([await resolve_address(first, name) for name in names])
        own, delay = self._master_address, int(self.options.repair_delay)
        return {
            config.MASTER: config.master_config(conf, data.path / "master", own, self.ports, code, delay),
            config.EXPORTS: config.exports(clients, self.context.password),
        }

    async def _write_client(self, host: Host) -> None:
        own, master = self.addresses[host.name], self._master_address
        text = config.mount_options(own, master, self.ports.clients, self.context.password)
        await write_private(self, host, DataDirectory(self.scratch(host)), {config.MOUNT: text}, _CLIENT)
