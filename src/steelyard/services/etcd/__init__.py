"""`use: etcd` under `services`: a cluster of etcd, one member on each host."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping
from pathlib import Path

from steelyard.plugin import ClientBinding, Endpoint, HostError, Tool, WireProtocol
from steelyard.plugin.host import Host
from steelyard.plugin.service import Service
from steelyard.services.etcd.member import (
    CLIENT,
    MAKE_SEED,
    PASSWORD,
    PLANT_SEED,
    SEED,
    USER,
    EtcdMember,
    cluster_words,
    server_words,
)
from steelyard.services.etcd.options import EtcdOptions
from steelyard.services.kit.access import Listener
from steelyard.services.kit.address import resolve_address
from steelyard.services.kit.certificates import Authority
from steelyard.services.kit.data import make_data
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.ports import choose_ports, list_listening_ports
from steelyard.services.kit.private_files import ask, write_private
from steelyard.services.kit.server import Server

_READ_WITHIN = 60.0  # seconds; a machine may be busy
_PROTOCOL = WireProtocol(
    "etcd", 2379, (ClientBinding("ycsb", "steelyard.ycsb.Etcd", str(Path(__file__).with_name("ycsb"))),)
)


class Etcd(Disturbable, Service[EtcdOptions]):
    """etcd, a replicated store of keys and values: one cluster with a member on each host.

    **Who may use it**: anyone who knows the password of its only user, `root`, which is random for each run.
    Authentication is on before a member listens for the first time. Clients use TLS. Members recognise each
    other by certificates of their own authority; no other member can join. Each listens on its host's address
    only. Whoever reaches it can read its version, health and metrics without the password, but no keys.

    **Ready** means that each member reads through the leader (`etcdctl endpoint health`). A cluster of three
    works on without one member, one of five without two; one of two works no better than one alone.

    **Source**: https://etcd.io/docs/v3.4, "Clustering Guide", "Role-based access control" and "Tuning". A
    member that is killed and restarted has its data. Disk latency decides how fast it writes: every write
    waits until most members have synced it.
    """

    Options = EtcdOptions
    default_ready_timeout = 60.0
    needs = (
        Tool("etcd", apt="etcd-server", dnf="etcd", at_least="3.4.23"),
        Tool("etcdctl", apt="etcd-client", dnf="etcd", version=("version",), at_least="3.4.23"),
    )
    speaks = _PROTOCOL
    access = (
        Listener("clients", authentication="password", encrypted="yes"),
        Listener("members", authentication="a certificate of the cluster", encrypted="yes"),
    )
    examples = ({}, {"fsync": False, "quota": "64MiB", "heartbeat": "50ms", "election_timeout": "500ms"})

    async def configure(self) -> None:
        """Find ports, write each member's files, and make the database with which all begin."""
        hosts = self.context.hosts
        client, peer = await choose_ports(hosts, self.options.port, 2)
        addresses = await asyncio.gather(*map(resolve_address, hosts))
        self.members = {
            host.name: EtcdMember(f"member-{at}", address, (client, peer))
            for at, (host, address) in enumerate(zip(hosts, addresses, strict=True))
        }
        self.authority, self.token = Authority(), secrets.token_hex(8)
        self.data = await make_data(self, hosts)
        await asyncio.gather(*map(self._write, hosts))
        seed = {SEED: await self._make_seed(hosts[0])}
        await asyncio.gather(*(write_private(self, host, self.data[host.name], seed) for host in hosts))
        await asyncio.gather(*map(self._plant_seed, hosts))

    async def start(self) -> None:
        """All members at once: they wait for each other."""
        await asyncio.gather(*map(self._start, self.context.hosts))

    async def is_answering(self, server: Server) -> bool:
        """It reads through the leader, so most of the members work."""
        if server.port not in await list_listening_ports(server.host):
            return False
        return '"health":true' in await self._run_client(server, "endpoint health -w json")

    def describe_wait(self, server: Server) -> str:
        """Members depend on each other."""
        return f"a leader that most of its {len(self.members)} members follow"

    async def read_meters(self) -> Mapping[str, float]:
        """Sizes are sums over the members that answer, positions in the log those of the furthest."""
        said = await asyncio.gather(
            *(self._run_client(server, "endpoint status -w json") for server in self.servers)
        )
        return sum_statuses(said)

    def endpoint(self) -> Endpoint:
        """The first member; all of them are in the fact `servers`."""
        facts = {"protocol": _PROTOCOL.name, "servers": self.list_servers(), "user": USER, "tls": "true"}
        first = self.members[self.context.hosts[0].name]
        return Endpoint(
            first.address, first.ports[0], facts, self.context.password, self.authority.certificate
        )

    async def _run_client(self, server: Server, question: str) -> str:
        url = next(one.client_url for name, one in self.members.items() if name == server.host.name)
        return await ask(self, server.host, f'{CLIENT} --endpoints "$1" {question}', url)

    async def _write(self, host: Host) -> None:
        keys = self.authority.issue_files(self.members[host.name].address)
        await write_private(self, host, self.data[host.name], {**keys, PASSWORD: self.context.password})

    async def _make_seed(self, host: Host) -> str:
        """The database of an empty cluster that asks for the password, made on a host, as text."""
        await self._run_in_data(host, "seed", MAKE_SEED, str(self.scratch(host) / PASSWORD))
        path = str(self.data[host.name].path / "seed.db")
        words = self.data[host.name].account_command("base64", "-w", "0", path).argv
        seed = await host.capture(words, seconds=_READ_WITHIN)
        if not seed:
            raise HostError(f"service {self.context.name}: cannot read {path} on {host.name}")
        return seed

    async def _plant_seed(self, host: Host) -> None:
        cluster = cluster_words(self.members[host.name], tuple(self.members.values()), self.token)
        await self._run_in_data(host, "data", PLANT_SEED, str(self.scratch(host) / SEED), *cluster)

    async def _run_in_data(self, host: Host, label: str, script: str, *words: str) -> None:
        data = self.data[host.name]
        command = data.account_command("sh", "-eu", "-c", script, "sh", str(data.path), *words)
        await self.make_runner(host, label)(command)

    async def _start(self, host: Host) -> None:
        data, member = self.data[host.name], self.members[host.name]
        words = server_words(member, self.scratch(host), data.path, self.options)
        words += cluster_words(member, tuple(self.members.values()), self.token)
        command = data.account_command(*words, GOMAXPROCS=str(self.share(host).cores))
        await self.launch(host, "etcd", command, address=member.address, port=member.ports[0])


def sum_statuses(said: list[str]) -> dict[str, float]:
    """Figures of all members, from what `etcdctl endpoint status` said of each; empty for the silent."""
    statuses = [json.loads(text)[0]["Status"] for text in said if text.strip()]
    totals = {"live_servers": float(len(statuses))}
    for name, key in (("used_bytes", "dbSize"), ("live_bytes", "dbSizeInUse")):
        totals[name] = float(sum(status.get(key, 0) for status in statuses))
    for name, key in (
        ("log_index", "raftIndex"),
        ("applied_index", "raftAppliedIndex"),
        ("term", "raftTerm"),
    ):
        totals[name] = float(max((status.get(key, 0) for status in statuses), default=0))
    return totals
