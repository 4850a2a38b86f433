"""`use: ceph` under `services`: one cluster of Ceph, with storage daemons on each host."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from steelyard.plugin import Command, Endpoint, HostError, Tool
from steelyard.plugin.host import Host
from steelyard.plugin.service import Disturbable, NodeState, ServiceContext
from steelyard.services.ceph.cluster import CephDeployment
from steelyard.services.ceph.faces import CephFace
from steelyard.services.ceph.options import CephOptions
from steelyard.services.ceph.pools import list_pool_commands
from steelyard.services.ceph.watch import CephWatch
from steelyard.services.kit.access import Listener
from steelyard.services.kit.data import DataDirectory
from steelyard.services.kit.growth import choose_new_hosts
from steelyard.services.kit.mounting import NSENTER, UNSHARE, MountedService
from steelyard.services.kit.server import Server
from steelyard.services.kit.tls_option import ENCRYPTED

_KEY = "a key of cephx"


class Ceph(Disturbable, MountedService[CephOptions]):
    """Ceph: one cluster of monitors, a manager, and storage daemons on each host, with one face for clients.

    **Faces** (`face`): `rados`, the object store itself; `cephfs`, its file system, mounted through FUSE;
    `s3` and `swift`, object gateways. A cluster shows one of them: the endpoint is that of the face, and only
    its daemons run. To measure two faces, deploy two services.

    **Who may use it**: whoever has a key of cephx. Every daemon and every client has a key of its own, which
    follows from the run's random password; clients may use one pool alone. Gateways let in one account, by
    its secret. All daemons are bound to their host's address. Messages are encrypted unless all hosts have
    loopback addresses (`tls`).

    **Ready** means that every daemon answers and all placement groups are active and clean; **settled**, that
    they are so again: every copy is where it belongs, and nothing recovers. It grows and shrinks by hosts
    with their storage daemons, and moves data while it is in use; monitors stay on the first hosts.

    **Source**: https://docs.ceph.com/en/pacific, "Manual deployment", "BlueStore", "Cephx". Storage daemons
    keep data in a file of `osd_size` in the scratch, which takes space as it fills. A storage daemon that is
    killed and restarted has its data. The manager runs without its Python modules, which `ceph health`
    reports as an error and nothing here needs: they take 300 MB and ten seconds. Caches follow from the
    memory of each host.

    **Limits**: a pool rejects writes once 5 % of a storage daemon or 512 MiB (of a small one, a third) are
    left. It looks once a second, so that fast writers can still break a small one. On rotating disks Ceph
    moves ten objects a second from each storage daemon, unless `settings: {osd_recovery_sleep_hdd: 0}`.
    """

    Options = CephOptions
    default_ready_timeout = 180.0
    needs = (
        Tool("ceph-mon", apt="ceph-mon", dnf="ceph-mon", at_least="16"),
        Tool("ceph-mgr", apt="ceph-mgr", dnf="ceph-mgr"),
        Tool("ceph-osd", apt="ceph-osd", dnf="ceph-osd"),
        Tool("ceph", apt="ceph-common", dnf="ceph-common"),
        Tool("ceph-mds", apt="ceph-mds", dnf="ceph-mds"),
        Tool("radosgw", apt="radosgw", dnf="ceph-radosgw"),
        Tool("ceph-fuse", apt="ceph-fuse", dnf="ceph-fuse"),
        UNSHARE,
        NSENTER,
        Tool("curl", apt="curl", dnf="curl", at_least="7.75"),
    )
    access = (
        Listener("monitors", authentication=_KEY, encrypted=ENCRYPTED),
        Listener("managers", authentication=_KEY, encrypted=ENCRYPTED),
        Listener("storage daemons, for clients", authentication=_KEY, encrypted=ENCRYPTED),
        Listener("storage daemons, for each other", authentication=_KEY, encrypted=ENCRYPTED),
        Listener("metadata servers, with `face: cephfs`", authentication=_KEY, encrypted=ENCRYPTED),
        Listener("gateways, with `face: s3` or `swift`", authentication="a secret", encrypted=ENCRYPTED),
    )
    covers = ("R6.Scotty.017",)
    examples = (
        {"osd_size": "1GiB", "pg_num": 8},
        {"osd_size": "1GiB", "pg_num": 8, "osds": 2, "pool": "erasure"},
        {"face": "cephfs", "osd_size": "1GiB", "pg_num": 8, "object_size": "1MiB", "stripe_count": 2},
        {"face": "s3", "osd_size": "1GiB", "pg_num": 8, "tls": True},
        {"face": "swift", "osd_size": "1GiB", "pg_num": 8},
    )

    def __init__(self, options: CephOptions, context: ServiceContext) -> None:
        super().__init__(options, context)
        self.deployment = CephDeployment(self)
        self.face = CephFace(self, self.deployment)

    @property
    def data(self) -> Mapping[str, DataDirectory]:
        """Where its daemons on each host write, by the host's name."""
        return self.deployment.data

    async def configure(self) -> None:
        """Plan who is where, and make the monitors' and storage daemons' data."""
        if self.context.mount_on and self.options.face != "cephfs":
            message = (
                f"service {self.context.name} has `face: {self.options.face}`, which is not a file system"
            )
            raise HostError(message, hint="give it `face: cephfs`")
        await self.deployment.plan()
        hosts = self.context.hosts
        await self.deployment.make_hosts(hosts)
        watching = [host for host in hosts if self.deployment.list_daemons([host], "mon")]
        confs = {host.name: self.deployment.conf(host) for host in (*hosts, *self.context.spare)}
        self.deployment.watch = CephWatch(watching, confs, self.deployment.data, self.context.logs)

    async def start(self) -> None:
        """Monitors first, as all others ask them; then pools; then what clients of a face come to."""
        hosts = self.context.hosts
        launch = asyncio.create_task(self.deployment.launch_daemons(hosts, "mon"))
        await asyncio.gather(launch, self.deployment.watch.start())
        await self.deployment.watch.tell("storage", self.deployment.list_new(*hosts))
        await self.deployment.launch_daemons(hosts, "mgr", "osd")
        await self.deployment.watch.tell(
            "pools", list_pool_commands(self.options, self.deployment.cluster.domain)
        )
        await self.face.start()

    async def ready(self) -> None:
        """All daemons answer, all placement groups are active and clean, and clients have it mounted."""
        await self.deployment.wait_until_clean(self.ready_timeout)
        await asyncio.gather(*map(self.face.write_client, self.context.mount_on))
        await super().ready()

    async def is_answering(self, server: Server) -> bool:
        """By the monitors' word, which they have from the others; gateways answer by themselves."""
        kind, _, name = server.label.partition("-")
        if kind == "rgw":
            return await self.face.greet(server)
        status = await self.deployment.watch.read_status()
        if kind == "mon":
            return status.has_monitor(name)
        if kind == "mgr":
            return status.has_manager()
        return (
            status.has_storage(name, self.deployment.boots.get(name, 0))
            if kind == "osd"
            else status.has_file_system(name)
        )

    def describe_wait(self, server: Server) -> str:
        """The monitors tell of all."""
        return (
            f"a quorum of its {len(self.deployment.cluster.monitors)} monitors that knows it"
            + self.deployment.watch.describe_end()
        )

    async def is_settled(self) -> bool:
        """Every copy is where it belongs, and nothing recovers."""
        if any(server.exit is not None or server.frozen for server in self.servers):
            return False
        return (await self.deployment.watch.read_status()).is_clean(self.deployment.list_storage())

    async def stop(self) -> None:
        """Unmount, then end all daemons at once: their data goes with the scratch and need not be saved."""
        await asyncio.gather(*(mount.stop() for mount in self.mounts.values()), return_exceptions=True)
        if hasattr(self.deployment, "watch"):
            await self.deployment.watch.stop()
        await asyncio.gather(*(server.kill() for server in self.servers), return_exceptions=True)
        await super().stop()

    def endpoint(self) -> Endpoint:
        """That of the face: the first monitor or gateway; all of them are in the fact `servers`."""
        return self.face.endpoint()

    def mount_command(self, host: Host) -> Command:
        """ceph-fuse in the foreground."""
        return self.face.mount_command(host, self.mount_path(host))

    async def restart(self, host: str) -> None:
        """With the data that they have; a storage daemon is back when the monitors say so of this start."""
        await self.deployment.note_boots(self.servers_on(host))
        await super().restart(host)

    async def grow(self, to: int) -> None:
        """Take in hosts, one after the other; see `Growable`. Data moves to them afterwards."""
        for host in choose_new_hosts(self.context, self.deployment.members, to, "hosts"):
            await self.deployment.join(host)

    async def shrink(self, to: int) -> None:
        """Give hosts back, one after the other; see `Shrinkable`."""
        least = max(
            len(self.context.hosts) if self._has_single() else 0, len(self.deployment.cluster.monitors)
        )
        each = 1 if self.deployment.cluster.domain == "host" else self.options.osds
        if to < least or to * each < self.deployment.cluster.size:
            copies = f"{self.deployment.cluster.size} copies or parts of each object"
            why = f"it has {copies}, and monitors on {least} hosts"
            raise HostError(f"service {self.context.name} cannot have {to} hosts: {why}")
        while len(self.deployment.members) > to:
            await self.deployment.leave(self.deployment.members[-1])

    async def read_meters(self) -> Mapping[str, float]:
        """The cluster's own figures; see `Metered`."""
        return (await self.deployment.watch.read_status()).read_meters()

    async def list_nodes(self) -> tuple[NodeState, ...]:
        """A node is a host with its storage daemons; see `HasNodes`."""
        status = await self.deployment.watch.read_status()
        if not status.is_fresh:
            raise HostError(
                f"service {self.context.name}: no monitor answers{self.deployment.watch.describe_end()}"
            )
        nodes = []
        for host in self.deployment.members:
            names = [one.name for one in self.deployment.list_daemons([host], "osd")]
            is_up = all(status.has_storage(name) for name in names)
            is_paused = any(server.frozen for server in self.servers if server.host is host)
            state = "paused" if is_paused else "up" if is_up else "down"
            load = sum(status.loads.get(name, 0) for name in names) if status.loads else None
            nodes.append(NodeState(host.name, self.deployment.daemons[host.name][0].address, state, load))
        return tuple(nodes)

    def listeners(self) -> tuple[Listener, ...]:
        """Clients' first: gateways where they come to those."""
        *cluster, files, gateways = self.access
        if self.options.has_gateways:
            return (gateways, *cluster)
        return (*cluster, files) if self.options.face == "cephfs" else tuple(cluster)

    def _has_single(self) -> bool:
        """Whether each of its first hosts has a daemon that stays there."""
        return len(self.deployment.list_daemons(self.context.hosts, "rgw")) == len(self.context.hosts)
