"""`use: etcd` under `services`: a cluster of etcd, one member on each host."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping
from pathlib import Path

from steelyard.plugin import ClientBinding, Endpoint, HostError, Tool, WireProtocol
from steelyard.services.etcd.cluster import EtcdCluster
from steelyard.services.etcd.member import USER, EtcdMember
from steelyard.services.etcd.options import EtcdOptions
from steelyard.services.kit.access import Listener
from steelyard.services.kit.address import resolve_address
from steelyard.services.kit.certificates import Authority
from steelyard.services.kit.growth import choose_new_hosts
from steelyard.services.kit.ports import choose_ports, list_listening_ports
from steelyard.services.kit.server import Server

_PROTOCOL = WireProtocol(
    "etcd", 2379, (ClientBinding("ycsb", "steelyard.ycsb.Etcd", str(Path(__file__).with_name("ycsb"))),)
)


class Etcd(EtcdCluster):
    """etcd, a replicated store of keys and values: one cluster with a member on each host.

    **Who may use it**: anyone who knows the password of its only user, `root`, which is random for each run.
    Authentication is on before a member listens for the first time. Clients use TLS. Members recognise each
    other by certificates of their own authority; no other member can join. Each listens on its host's address
    only. Whoever reaches it can read its version, health and metrics without the password, but no keys.

    **Ready** means that each member reads through the leader (`etcdctl endpoint health`). A cluster of three
    works on without one member, one of five without two; one of two works no better than one alone. It can
    grow and shrink while it is in use.

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
        everywhere = (*hosts, *self.context.spare)
        client, peer = await choose_ports(everywhere, self.options.port, 2, self.context.claims)
        addresses = await asyncio.gather(*map(resolve_address, everywhere))
        self.members = {
            host.name: EtcdMember(f"member-{at}", address, (client, peer))
            for at, (host, address) in enumerate(zip(everywhere, addresses, strict=True))
        }
        self.ring, self.authority, self.token = list(hosts), Authority(), secrets.token_hex(8)
        await self._make_members(hosts)

    async def start(self) -> None:
        """All members at once: they wait for each other."""
        await asyncio.gather(*map(self._start_member, self.context.hosts))

    async def grow(self, to: int) -> None:
        """Take in hosts, one after the other; see `Growable`."""
        for host in choose_new_hosts(self.context, self.ring, to, "members"):
            await self._join(host)

    async def shrink(self, to: int) -> None:
        """Give hosts back, one after the other; see `Shrinkable`."""
        if to < 1:
            raise HostError(f"service {self.context.name} cannot have {to} members: one holds the data")
        while len(self.ring) > to:
            await self._leave(self.ring[-1])
        await asyncio.gather(*map(self._wait_until_answering, self._live_servers()))

    async def is_answering(self, server: Server) -> bool:
        """It reads through the leader, so most of the members work."""
        if server.port not in await list_listening_ports(server.host):
            return False
        return '"health":true' in await self._run_client(server, "endpoint health -w json")

    def describe_wait(self, server: Server) -> str:
        """Members depend on each other."""
        return f"a leader that most of its {len(self.ring)} members follow"

    async def read_meters(self) -> Mapping[str, float]:
        """Sizes are sums over the members that answer, positions in the log those of the furthest."""
        said = await asyncio.gather(
            *(self._run_client(server, "endpoint status -w json") for server in self.servers)
        )
        return sum_statuses(said)

    def endpoint(self) -> Endpoint:
        """The first member; all of them are in the fact `servers`."""
        places = [(member.address, member.ports[0]) for member in self._list_members()]
        servers = ",".join(f"{address}:{port}" for address, port in places)
        facts = {"protocol": _PROTOCOL.name, "servers": servers, "user": USER, "tls": "true"}
        return Endpoint(*places[0], facts, self.context.password, self.authority.certificate)


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
