"""A cluster of Ceph on its hosts: made, started, taken in, and given back."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from steelyard.plugin import Command, HostError
from steelyard.plugin.host import Host
from steelyard.plugin.service import Server, Service
from steelyard.services.ceph.conf import (
    CONF,
    CONTROL,
    CephCluster,
    CephHostFiles,
    ceph_conf,
)
from steelyard.services.ceph.daemons import (
    CephDaemon,
    count_monitors,
    count_ports,
    plan_daemons,
    plan_storage,
)
from steelyard.services.ceph.keys import ADMIN, USER, keyring
from steelyard.services.ceph.options import CephOptions
from steelyard.services.ceph.pools import Words, choose_domain, data_pool
from steelyard.services.ceph.watch import SCRIPT, CephWatch
from steelyard.services.kit.address import resolve_address
from steelyard.services.kit.certificates import Authority, is_encrypted
from steelyard.services.kit.data import DataDirectory, make_data
from steelyard.services.kit.ports import check_free, find_free_ports
from steelyard.services.kit.private_files import write_private

_MAKE_WITHIN, _MOVE_WITHIN = 120.0, 3600.0  # seconds: to make empty data, and to move all of a host's
_MAKE = """
conf=$1 fsid=$2 monitor=$3; shift 3
mkdir -p modules crash
if [ -n "$monitor" ]; then
    mkdir mon; monmaptool --create --fsid "$fsid" $MONITORS monmap
    ceph-mon -c "$conf" -i "$monitor" --mkfs --monmap monmap --keyring "${conf%/*}/keyring.mon"
    rm monmap
fi
for each; do
    mkdir "osd.${each%%=*}"
    ceph-osd -c "$conf" -i "${each%%=*}" --mkfs --osd-uuid "${each#*=}" --no-mon-config &
    made="${made-} $!"
done
for each in ${made-}; do wait "$each"; done
"""
_PROGRAMS = {"mon": "ceph-mon", "mgr": "ceph-mgr", "osd": "ceph-osd", "mds": "ceph-mds", "rgw": "radosgw"}


class CephDeployment:
    """The cluster of a service, of the hosts in `members`; each host that may ever be of it has `daemons`, by
    its name.

    `uuids` tell the storage daemons apart, `data` is where a host's daemons write. `boots` are the epochs in
    which storage daemons had come up that were then killed.
    """

    members: list[Host]
    daemons: dict[str, tuple[CephDaemon, ...]]
    uuids: dict[str, str]
    boots: dict[str, int]
    data: dict[str, DataDirectory]
    cluster: CephCluster
    authority: Authority | None
    watch: CephWatch

    def __init__(self, service: Service[CephOptions]) -> None:
        self._service, self._context, self._options = service, service.context, service.options

    async def plan(self) -> None:
        """Who is where, at which ports. Raises HostError."""
        options, hosts = self._options, self._context.hosts
        everywhere = (*hosts, *self._context.spare)
        ports = await self._choose_ports(everywhere)
        addresses = await asyncio.gather(*map(resolve_address, everywhere))
        self._check_counts(len(hosts))
        first = addresses[: len(hosts)]
        self.daemons = {
            host.name: plan_daemons(options, first, ports, at)
            if at < len(hosts)
            else plan_storage(options, addresses[at], ports, at)
            for at, host in enumerate(everywhere)
        }
        domain, size = self._choose_domain(len(hosts))
        monitors = tuple(self.list_daemons(hosts, "mon"))
        encrypted = is_encrypted(options.tls, addresses)
        self.cluster = CephCluster(str(uuid.uuid4()), monitors, domain, size, encrypted)
        self.uuids = {one.name: str(uuid.uuid4()) for one in self.list_daemons(everywhere, "osd")}
        self.authority = Authority() if encrypted and options.has_gateways else None
        self.members, self.data, self.boots = list(hosts), {}, {}

    async def make_hosts(self, hosts: Sequence[Host]) -> None:
        """Lay all that daemons read, and the empty data with which they begin."""
        await self._check_space(hosts)
        self.data |= await make_data(self._service, hosts)
        await asyncio.gather(*map(self._write_files, hosts))
        await asyncio.gather(*map(self._make_stores, hosts))

    async def launch_daemons(self, hosts: Iterable[Host], *kinds: str) -> None:
        """Start all of these kinds at once, and wait until they answer."""
        pairs = [(host, one) for host in hosts for one in self.daemons[host.name] if one.kind in kinds]
        servers = await asyncio.gather(*(self._launch_daemon(host, one) for host, one in pairs))
        self._service.servers.sort(
            key=lambda server: (self._context.hosts + self._context.spare).index(server.host)
        )
        waits = (self._service.wait_for_server(one, self._service.is_answering) for one in servers)
        await asyncio.gather(*waits)

    async def _launch_daemon(self, host: Host, daemon: CephDaemon) -> Server:
        conf = str(self.conf(host) / CONF)
        words = (_PROGRAMS[daemon.kind], "-f", "-c", conf, "-n", daemon.entity)
        command = self.data[host.name].account_command(*words)
        return await self._service.launch(
            host, f"{daemon.kind}-{daemon.name}", command, address=daemon.address, port=daemon.ports[0]
        )

    async def note_boots(self, servers: Iterable[Server]) -> None:
        """Have those that ended be back only when the monitors say so of their next start."""
        status = await self.watch.read_status()
        ended = [server.label.removeprefix("osd-") for server in servers if server.exit]
        self.boots |= {name: status.boots[name] for name in ended if name in status.boots}

    async def join(self, host: Host) -> None:
        """Take in a host; it is part of the cluster afterwards, or nothing of it is left."""
        try:
            await self.make_hosts([host])
            self.members.append(host)
            await self.watch.tell("join", self.list_new(host))
            await self.launch_daemons([host], "osd")
        except BaseException:
            await asyncio.shield(self._remove(host))
            raise

    async def leave(self, host: Host) -> None:
        """Give a host back, once the others have its data."""
        names = [one.name for one in self.list_daemons([host], "osd")]
        self.members.remove(host)
        await self.watch.tell("leave", [{"prefix": "osd out", "ids": names}])
        await self.wait_until_clean(_MOVE_WITHIN)
        await self._remove(host)

    async def _remove(self, host: Host) -> None:
        """Of a host that holds nothing any more, have nothing left."""
        self.members = [other for other in self.members if other is not host]
        servers = [server for server in self._service.servers if server.host is host]
        await asyncio.gather(*(server.kill() for server in servers))
        self._service.servers = [server for server in self._service.servers if server.host is not host]
        names = [one.name for one in self.list_daemons([host], "osd")]
        purge = [
            {"prefix": "osd purge-actual", "id": int(name), "yes_i_really_mean_it": True} for name in names
        ]
        gone = {"prefix": "osd crush remove", "name": host.name}
        await self.watch.tell("remove", [{"prefix": "osd down", "ids": names}, *purge, gone])
        for place in (self._service.scratch(host) / "data", self.conf(host)):
            await host.remove_directory(place)

    async def wait_until_clean(self, seconds: float) -> None:
        """Wait until every copy is where it belongs. Raises HostError."""
        status = await self.watch.read_status()
        try:
            async with asyncio.timeout(seconds):
                while not status.is_clean(self.list_storage()):
                    await asyncio.sleep(0.1)
                    status = await self.watch.read_status()
        except TimeoutError:
            waiting = status.describe() + self.watch.describe_end()
            message = (
                f"service {self._context.name} was not ready within {seconds:g} s, waiting for {waiting}"
            )
            raise HostError(message) from None

    def list_storage(self) -> dict[str, int]:
        """Storage daemons that should hold data, with the epoch after which each must have come up."""
        names = [one.name for one in self.list_daemons(self.members, "osd")]
        return {name: self.boots.get(name, 0) for name in names}

    def list_daemons(self, hosts: Iterable[Host], kind: str) -> list[CephDaemon]:
        """Of one kind, in the order of their hosts."""
        return [one for host in hosts for one in self.daemons[host.name] if one.kind == kind]

    def list_new(self, *hosts: Host) -> list[Words]:
        """What the monitors are told of storage daemons before these start."""
        return [
            {"prefix": "osd new", "uuid": self.uuids[one.name], "id": int(one.name)}
            for one in self.list_daemons(hosts, "osd")
        ]

    def _choose_domain(self, hosts: int) -> tuple[str, int]:
        try:
            return choose_domain(self._options, hosts)
        except HostError as error:
            raise HostError(f"service {self._context.name}: {error.message}", hint=error.hint) from None

    def _check_counts(self, hosts: int) -> None:
        for name in ("mons", "gateways"):
            wanted = count_monitors(self._options, hosts) if name == "mons" else self._options.gateways
            if wanted > hosts:
                message = f"service {self._context.name}: {name} is {wanted}, and there are {hosts} hosts"
                raise HostError(message, hint=f"use more hosts, or fewer {name}")

    async def _choose_ports(self, hosts: Sequence[Host]) -> tuple[int, ...]:
        """A host's ports; the asked one is the monitors' or the gateways'."""
        asked, count = self._options.port, count_ports(self._options)
        if asked is None:
            return tuple(sorted(await find_free_ports(hosts, count, self._context.claims)))
        await asyncio.gather(*(check_free(host, [asked]) for host in hosts))
        free = sorted(
            port for port in await find_free_ports(hosts, count + 1, self._context.claims) if port != asked
        )[:count]
        free[3 if self._options.has_gateways else 0] = asked
        return tuple(free)

    async def _check_space(self, hosts: Sequence[Host]) -> None:
        """Whether its files may become as large as they say: hosts of one machine share a disk."""
        each = int(self._options.osd_size) * self._options.osds
        for machine in dict.fromkeys(host.machine for host in hosts):
            there = [host for host in hosts if host.machine == machine]
            free = await there[0].read_free_space(self._service.scratch(there[0]))
            if free < (needed := each * len(there)):
                what = f"{needed >> 20} MiB for storage daemons in {self._service.scratch(there[0])}"
                where = f"on {there[0].name}, and {free >> 20} MiB are free"
                message = f"service {self._context.name} needs {what} {where}"
                raise HostError(message, hint="lower `osd_size`, or choose another scratch directory")

    def conf(self, host: Host) -> PurePosixPath:
        """Where that lies which daemons read and may not change."""
        return self._service.scratch(host) / "conf"

    async def _write_files(self, host: Host) -> None:
        own, password = self.daemons[host.name], self._context.password
        places = CephHostFiles(self.conf(host), self.data[host.name].path)
        name = (host.name, own[0].address)
        try:
            text = ceph_conf(self.cluster, self._options, name, own, places, self._service.share(host).memory)
        except HostError as error:
            raise HostError(
                f"service {self._context.name} on {host.name}: {error.message}", hint=error.hint
            ) from None
        entities = [one.entity for one in own if one.kind != "mon"]
        if self.list_daemons([host], "mon"):
            entities.append(ADMIN)
        files = {f"keyring.{entity}": keyring([entity], password) for entity in entities}
        if self.list_daemons([host], "mon"):
            files["keyring.mon"] = keyring(self._list_entities(), password, data_pool(self._options))
        if self.authority:
            files |= self.authority.issue_files(own[0].address)
        files |= {CONF: text, CONTROL: SCRIPT.read_text()}
        await write_private(self._service, host, self.data[host.name], files, self.conf(host).name)

    def _list_entities(self) -> list[str]:
        """Everybody whom monitors are to know from the beginning, hosts that may join included."""
        daemons = (one for own in self.daemons.values() for one in own if one.kind != "mon")
        return ["mon.", ADMIN, f"client.{USER}", *(one.entity for one in daemons)]

    async def _make_stores(self, host: Host) -> None:
        monitor = "".join(one.name for one in self.list_daemons([host], "mon"))
        listed = " ".join(f"--addv {one.name} [{one.where}]" for one in self.cluster.monitors)
        storage = [f"{one.name}={self.uuids[one.name]}" for one in self.list_daemons([host], "osd")]
        words = (str(self.conf(host) / CONF), self.cluster.fsid, monitor, *storage)
        data = self.data[host.name]
        script = f'cd "$1"; shift\n{_MAKE}'
        argv = ("sh", "-eu", "-c", script, "sh", str(data.path), *words)
        command = data.account_command(*argv, MONITORS=listed)
        await self._service.make_runner(host, "data", _MAKE_WITHIN)(Command(command.argv, command.env))
