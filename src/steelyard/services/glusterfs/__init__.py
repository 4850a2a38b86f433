"""`use: glusterfs` under `services`: a distributed file system of bricks on each host."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

from steelyard.plugin import Command, Endpoint, HostError, Tool
from steelyard.plugin.host import Host
from steelyard.services.glusterfs import status
from steelyard.services.glusterfs.cluster import GlusterCluster
from steelyard.services.glusterfs.options import GlusterfsOptions
from steelyard.services.glusterfs.volume import (
    PORT,
    VOLUME,
    create_words,
    list_bricks,
    list_settings,
)
from steelyard.services.kit.access import Listener
from steelyard.services.kit.address import resolve_address
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.growth import choose_new_hosts
from steelyard.services.kit.mounting import NSENTER, UNSHARE, MountedService
from steelyard.services.kit.ports import list_listening_ports
from steelyard.services.kit.server import Server


class Glusterfs(Disturbable, MountedService[GlusterfsOptions]):
    """GlusterFS: one volume over bricks, which are directories of its hosts; there is no metadata server.

    Files are distributed whole over the bricks; with `replicas` each is on several, with `data` and
    `redundancy` its parts are, by erasure coding; `shard` cuts large files. Workloads reach it by
    `directory: NAME`, mounted through FUSE on their hosts.

    **Who may use it**: bricks serve the addresses of the experiment's hosts only (`auth.allow`), without a
    password. Whoever reaches a host's management port can read the volume's configuration; so the service
    needs `open: true` if others use its hosts. Nothing is encrypted. Everything listens on the host's address
    only, never on loopback, and management always on port 24007: choose hosts with addresses of their own,
    such as those of the site `netns`. Servers must be started by root, and run as root. They see their own
    `/var/lib/glusterd`, `/var/log/glusterfs` and `/run`, which lie in the scratch or in memory.

    **Ready** means that every brick is online; **settled** that all are, that no file waits to be healed, and
    that no rebalance is running. A brick that was killed is healed when it is started again: GlusterFS makes
    no new copies elsewhere meanwhile. Clients wait for a server that hangs or is cut off for `ping_timeout`.

    **How to read its figures**: space is that of all bricks, copies included. Bricks that share a disk, as
    those of `netns`, count it once each. `unhealed` counts entries that wait for a copy, as far as bricks
    tell.

    **Source**: gluster(8); https://docs.gluster.org, "Administrator Guide".
    """

    Options = GlusterfsOptions
    needs_network = True
    default_ready_timeout = 90.0
    needs = (
        Tool("glusterd", apt="glusterfs-server", dnf="glusterfs-server", places=("/usr/sbin",)),
        Tool("gluster", apt="glusterfs-cli", dnf="glusterfs-cli"),
        Tool("glusterfs", apt="glusterfs-client", dnf="glusterfs-fuse", places=("/usr/sbin",)),
        UNSHARE,
        NSENTER,
    )
    access = (
        Listener("management", authentication=""),
        Listener("bricks", authentication="an address of the experiment's hosts"),
    )
    covers = ("XOS.41",)
    examples = ({}, {"replicas": 2, "shard": "64MiB", "ping_timeout": "5s"})

    @classmethod
    def min_hosts(cls, options: GlusterfsOptions) -> int:
        """One for each copy; parts of a file may be on one host."""
        return options.replicas

    async def configure(self) -> None:
        """Look whether the hosts can be a volume, and write each daemon's configuration."""
        self._check_bricks(len(self.context.hosts))
        self.members = list(self.context.hosts)
        everywhere = (*self.context.hosts, *self.context.spare)
        self.cluster = GlusterCluster(self, {host.name: await resolve_address(host) for host in everywhere})
        await asyncio.gather(*map(self.cluster.write_configuration, self.context.hosts))

    async def start(self) -> None:
        """A daemon on each host, all at once."""
        await asyncio.gather(*map(self.cluster.start_daemon, self.context.hosts))

    async def ready(self) -> None:
        """The daemons make a volume, its bricks are online, and it is mounted."""
        await asyncio.gather(
            *(self.wait_for_server(server, self.cluster.is_managing) for server in self.servers)
        )
        await self.cluster.invite(self.context.hosts[1:])
        await self._make_volume()
        await super().ready()

    async def stop(self) -> None:
        """End everything, and bring the logs home that bricks and helpers wrote."""
        try:
            await super().stop()
        finally:
            for host in dict.fromkeys(server.host for server in self.servers):
                with suppress(HostError):
                    await host.get(self.scratch(host) / "log", self.context.logs / f"{host.name}-gluster")

    async def is_answering(self, server: Server) -> bool:
        """Its bricks are online, by its own word."""
        if server.port not in await list_listening_ports(server.host):
            return False
        bricks = status.read_bricks(await self.cluster.ask(server, "volume", "status", VOLUME))
        own = [brick for brick in bricks if brick.address in (server.address, "localhost")]
        return len(own) == self.options.bricks and all(brick.is_online for brick in own)

    def describe_wait(self, server: Server) -> str:
        """Of its bricks."""
        return "its bricks to be online"

    async def is_settled(self) -> bool:
        """Whether all daemons live, all bricks are online, and nothing is to be healed or moved."""
        if any(server.exit is not None or server.frozen for server in self.servers):
            return False
        said = await self.cluster.ask(self.servers[0], "volume", "status", VOLUME)
        bricks = status.read_bricks(said)
        if len(bricks) != len(self.members) * self.options.bricks or status.is_rebalancing(said):
            return False
        if not all(brick.is_online for brick in bricks):
            return False
        return self.options.set_size == 1 or status.count_unhealed(await self._ask_unhealed()) == 0

    async def read_meters(self) -> Mapping[str, float]:
        """See `Metered`; bricks that are not online tell no size."""
        live = self.cluster.list_live_servers()
        if not live:
            return {"live_servers": 0.0}
        said = await self.cluster.ask(live[0], "volume", "status", VOLUME, "detail")
        online = [brick for brick in status.read_bricks(said) if brick.is_online]
        unhealed = (
            0 if self.options.set_size == 1 else status.count_known_unhealed(await self._ask_unhealed())
        )
        return {
            "live_servers": float(len(live)),
            "live_bricks": float(len(online)),
            "total_bytes": float(sum(brick.total for brick in online)),
            "free_bytes": float(sum(brick.free for brick in online)),
            "unhealed": float(unhealed),
        }

    async def grow(self, to: int) -> None:
        """Take in hosts, all at once, since sets of bricks must be whole; see `Growable`."""
        new = choose_new_hosts(self.context, self.members, to, "hosts")
        if not new:
            return
        self._check_bricks(len(new))
        await asyncio.gather(*map(self.cluster.write_configuration, new))
        daemons = await asyncio.gather(*map(self.cluster.start_daemon, new))
        await asyncio.gather(*(self.wait_for_server(daemon, self.cluster.is_managing) for daemon in daemons))
        await self.cluster.invite(new)
        await self.cluster.command("volume", "add-brick", VOLUME, *self._list_bricks(new), "force")
        self.members += new
        await asyncio.gather(*map(self._wait_until_answering, daemons))
        if self.options.rebalance:
            await self.cluster.command("volume", "rebalance", VOLUME, "start")

    def mount_command(self, host: Host) -> Command:
        """The client in the foreground; it fetches the volume's layout from any of the hosts."""
        servers = (f"--volfile-server={self.cluster.addresses[member.name]}" for member in self.members)
        words = (*servers, f"--volfile-id={VOLUME}", "--log-file=/dev/stderr", str(self.mount_path(host)))
        return Command(self.needs[2].argv("--no-daemon", *words))

    def endpoint(self) -> Endpoint:
        """The daemon of the first host."""
        facts = {"protocol": "glusterfs", "volume": VOLUME, "servers": self.list_servers()}
        return Endpoint(self.cluster.addresses[self.context.hosts[0].name], PORT, facts)

    async def _make_volume(self) -> None:
        first = self.context.hosts[0]
        clients = dict.fromkeys((*self.context.clients, *(host.address for host in self.context.mount_on)))
        numbers = dict.fromkeys([await resolve_address(first, name) for name in clients])
        await self.cluster.command(*create_words(self.options, self._list_bricks(self.context.hosts)))
        for name, value in list_settings(self.options, numbers).items():
            await self.cluster.command("volume", "set", VOLUME, name, value)
        await self.cluster.command("volume", "start", VOLUME)

    def _check_bricks(self, hosts: int) -> None:
        bricks, size = hosts * self.options.bricks, self.options.set_size
        if bricks % size:
            hint = f"use a number of hosts that gives whole sets of {size} bricks, or change `bricks`"
            message = f"service {self.context.name}: {bricks} bricks on {hosts} hosts do not make whole sets"
            raise HostError(message, hint=hint)

    def _list_bricks(self, hosts: Sequence[Host]) -> list[str]:
        places = [(self.cluster.addresses[host.name], str(self.scratch(host) / "bricks")) for host in hosts]
        return list_bricks(places, self.options.bricks)

    async def _ask_unhealed(self) -> str:
        live = self.cluster.list_live_servers()
        return await self.cluster.ask(live[0], "volume", "heal", VOLUME, "info") if live else ""
