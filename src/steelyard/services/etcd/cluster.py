"""The members of a cluster of etcd on their hosts: made, started, taken in, and given back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import PurePosixPath

from steelyard.plugin import Command, HostError
from steelyard.plugin.host import Host
from steelyard.plugin.service import Service
from steelyard.services.etcd.member import (
    ADD,
    CLIENT,
    CONF,
    MAKE_SEED,
    PASSWORD,
    PLANT_SEED,
    REMOVE,
    SEED,
    EtcdMember,
    cluster_words,
    server_words,
)
from steelyard.services.etcd.options import EtcdOptions
from steelyard.services.kit.certificates import Authority
from steelyard.services.kit.data import DataDirectory, make_data
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.private_files import ask, write_private
from steelyard.services.kit.server import Server

_READ_WITHIN = 60.0  # seconds; a machine may be busy


class EtcdCluster(Disturbable, Service[EtcdOptions]):
    """A cluster of the hosts in `ring`; each host that may ever be of it has a member, by its name.

    What is this cluster's alone: the `authority` that signs its members, and a `token`. `data` is where a
    host's member writes.
    """

    ring: list[Host]
    members: dict[str, EtcdMember]
    data: dict[str, DataDirectory]
    authority: Authority
    token: str

    async def _make_members(self, hosts: Sequence[Host]) -> None:
        """Lay all that members read, and a database that already asks for the password."""
        self.data = await make_data(self, hosts)
        await asyncio.gather(*map(self._write_files, hosts))
        seed = {SEED: await self._make_seed(hosts[0])}
        await asyncio.gather(*(write_private(self, host, self.data[host.name], seed, CONF) for host in hosts))
        await asyncio.gather(*map(self._plant_seed, hosts))

    async def _start_member(self, host: Host, *, joining: bool = False) -> Server:
        data, member = self.data[host.name], self.members[host.name]
        words = server_words(member, self._conf(host), data.path, self.options)
        words += cluster_words(member, self._list_members(), self.token)
        words += ("--initial-cluster-state", "existing") if joining else ()
        command = data.account_command(*words, GOMAXPROCS=str(self.share(host).cores))
        return await self.launch(host, "etcd", command, address=member.address, port=member.ports[0])

    async def _join(self, host: Host) -> None:
        """Take in a host; it is part of the cluster afterwards, or nothing of it is left."""
        member = self.members[host.name]
        try:
            self.data |= await make_data(self, [host])
            await self._write_files(host)
            await self._reconfigure(ADD, member)
            self.ring.append(host)
            await self._wait_until_answering(await self._start_member(host, joining=True))
        except BaseException:
            await asyncio.shield(self._leave(host))
            raise

    async def _leave(self, host: Host) -> None:
        """Give a host back; its member is told first, or the others would wait for it."""
        servers = [server for server in self.servers if server.host is host]
        for server in servers:
            server.is_stop_requested = True  # one that is removed ends by itself
        self.ring = [other for other in self.ring if other is not host]
        await self._reconfigure(REMOVE, self.members[host.name])
        await asyncio.gather(*(server.stop() for server in servers))
        self.servers = [server for server in self.servers if server.host is not host]
        for place in (self.scratch(host) / "data", self._conf(host)):
            await host.remove_directory(place)

    async def _reconfigure(self, script: str, member: EtcdMember) -> None:
        """Have the members agree on who belongs to them. Raises HostError."""
        live = [server for server in self._live_servers() if server.host in self.ring]
        if not live:
            raise HostError(f"service {self.context.name}: no member answers")
        client = f'client() {{ {CLIENT} --endpoints {self._url(live[0])} "$@"; }}\n'
        limit = self.ready_timeout
        env = {"NAME": member.name, "PEER": member.peer_url, "WITHIN": str(round(limit))}
        run = self.make_runner(live[0].host, "members", limit + _READ_WITHIN)
        await run(Command(("sh", "-eu", "-c", client + script), env))

    async def _run_client(self, server: Server, question: str) -> str:
        """What etcdctl prints; empty when it fails."""
        return await ask(self, server.host, f'{CLIENT} --endpoints "$1" {question}', self._url(server))

    def _live_servers(self) -> list[Server]:
        """Those that nobody has killed or frozen."""
        return [server for server in self.servers if server.exit is None and not server.frozen]

    def _list_members(self) -> list[EtcdMember]:
        return [self.members[host.name] for host in self.ring]

    def _url(self, server: Server) -> str:
        return self.members[server.host.name].client_url

    def _conf(self, host: Host) -> PurePosixPath:
        """Where that lies which a member reads and may not change."""
        return self.scratch(host) / CONF

    async def _write_files(self, host: Host) -> None:
        keys = self.authority.issue_files(self.members[host.name].address)
        files = {**keys, PASSWORD: self.context.password}
        await write_private(self, host, self.data[host.name], files, CONF)

    async def _make_seed(self, host: Host) -> str:
        """The database of an empty cluster that asks for the password, made on a host, as text."""
        await self._run_in_data(host, "seed", MAKE_SEED, str(self._conf(host) / PASSWORD))
        path = str(self.data[host.name].path / "seed.db")
        words = self.data[host.name].account_command("base64", "-w", "0", path).argv
        seed = await host.capture(words, seconds=_READ_WITHIN)
        if not seed:
            raise HostError(f"service {self.context.name}: cannot read {path} on {host.name}")
        return seed

    async def _plant_seed(self, host: Host) -> None:
        cluster = cluster_words(self.members[host.name], self._list_members(), self.token)
        await self._run_in_data(host, "data", PLANT_SEED, str(self._conf(host) / SEED), *cluster)

    async def _run_in_data(self, host: Host, label: str, script: str, *words: str) -> None:
        data = self.data[host.name]
        command = data.account_command("sh", "-eu", "-c", script, "sh", str(data.path), *words)
        await self.make_runner(host, label)(command)
