"""`use: redis` under `services`: a server on each host, alone, with replicas, or as a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from steelyard.errors import HostError
from steelyard.model.command import Endpoint
from steelyard.model.snapshot import Snapshot
from steelyard.model.tool import Tool
from steelyard.remote.base import Host
from steelyard.services._access import Listener
from steelyard.services._address import numeric
from steelyard.services._certificates import Authority
from steelyard.services._data import make_data
from steelyard.services._disturbable import Disturbable
from steelyard.services._meters import summed
from steelyard.services._ports import chosen_ports, listening
from steelyard.services._private import ask, write_private
from steelyard.services._redis_options import RedisOptions
from steelyard.services._redis_roles import BENCHMARK, roles
from steelyard.services._redis_snapshots import Primaries
from steelyard.services._server import Server
from steelyard.services.base import Vaults

_IDENTITY, _AUTHORITY = "identity.pem", "authority.pem"
_DUMP_WITHIN = 3600.0
_CLUSTER_LEAST = 3  # primaries; redis-cli makes no cluster of fewer
_CLI = 'REDISCLI_AUTH=$(cat password) redis-cli --no-auth-warning -h "$1" -p "$2"'
_CREATE = f"{_CLI.partition(' -h ')[0]} --cluster create $NODES --cluster-yes"
_METERS = {
    "used_memory": "used_bytes",
    "connected_clients": "connections",
    "instantaneous_ops_per_sec": "operations_per_second",
    "total_commands_processed": "commands",
    "keyspace_hits": "hits",
    "keyspace_misses": "misses",
    "evicted_keys": "evictions",
}


class Redis(Disturbable[RedisOptions]):
    """Redis servers, one on each host: independent ones, a primary with replicas, or a Redis Cluster.

    **Who may use it**: who knows the password, a random one a run. It stands in files of mode 0600 in the
    scratch and reaches programs by their environment. Each server is bound to its host's address.
    redis-benchmark shows its password to everybody on its host, and so has the role `benchmark`, which may
    send the requests of its tests to the keys that these use. The nodes of a cluster know each
    other by certificates of their own authority: nobody else's can join.

    **Ready** is a server that answers PING; a replica, once its link to the primary is up; a cluster, once
    every node says `cluster_state:ok` and knows all the others.

    **Source**: https://redis.io/docs, "Redis configuration", "Replication" and "Scale with Redis Cluster".
    Nothing is written to disk unless `save` or `appendonly` ask for it: a server that is killed and started
    again is empty then, and so are its replicas.
    """

    options = RedisOptions
    needs = (
        Tool("redis-server", apt="redis-server", dnf="redis", at_least="7.0"),
        Tool("redis-cli", apt="redis-tools", dnf="redis", at_least="7.0"),
    )
    access = (
        Listener("clients and replicas", asks="password"),
        Listener("bus of a cluster", asks="a certificate of the cluster", encrypted="yes"),
        Listener("TLS of a cluster", asks="a certificate of the cluster, and password", encrypted="yes"),
    )
    examples = ({}, {"replicas": True}, {"appendonly": True, "io_threads": 2, "maxmemory": "64MiB"})

    @classmethod
    def least_hosts(cls, chosen: RedisOptions) -> int:
        """Redis makes no cluster of fewer than three primaries."""
        return _CLUSTER_LEAST if chosen.cluster else 1

    async def configure(self) -> None:
        """Find ports and write each server's configuration. Raises HostError for a cluster of too few."""
        hosts = self.context.hosts
        if self.chosen.cluster and len(hosts) < _CLUSTER_LEAST:
            what = (
                f"service {self.context.name}: a Redis Cluster needs {_CLUSTER_LEAST} hosts, not {len(hosts)}"
            )
            raise HostError(what, hint="give its role more hosts, or leave `cluster` out")
        self.port, *others = await chosen_ports(hosts, self.chosen.port, 3 if self.chosen.cluster else 1)
        self.bus, self.tls = others or (0, 0)
        self.joined = False
        self.address = {host.name: await numeric(host) for host in hosts}
        self.data = await make_data(self, hosts)
        await asyncio.gather(*(self._write(host) for host in hosts))
        if self.chosen.cluster:
            authority = Authority()
            await asyncio.gather(*(self._identify(host, authority) for host in hosts))

    async def start(self) -> None:
        """All servers at once; a replica waits for its primary by itself."""
        await asyncio.gather(*(self._start(host) for host in self.context.hosts))

    async def ready(self) -> None:
        """Every server answers; then they become a cluster where that is asked for."""
        await super().ready()
        if self.chosen.cluster:
            nodes = " ".join(
                f"{self.address[host.name]}:{self.port}@{self.bus}" for host in self.context.hosts
            )
            await self.small(self.context.hosts[0], "cluster", _CREATE, NODES=nodes)
            self.joined = True
            await super().ready()

    async def answers(self, server: Server) -> bool:
        """By its own word, and in a cluster or as a replica by what it sees of the others."""
        if server.port not in await listening(server.host):
            return False
        if self.joined:
            said = await self._cli(server, "cluster info")
            return {"cluster_state:ok", f"cluster_known_nodes:{len(self.context.hosts)}"} <= set(said.split())
        if self.chosen.replicas and server.host is not self.context.hosts[0]:
            return "master_link_status:up" in (await self._cli(server, "info replication")).split()
        return (await self._cli(server, "ping")).strip() == "PONG"

    async def meters(self) -> Mapping[str, float]:
        """Sums over the servers that answer; see `Metered`."""
        said = await asyncio.gather(*(self._cli(server, "info") for server in self.servers))
        return summed(said, _METERS)

    async def snapshot(self, vaults: Vaults, name: str) -> Snapshot:
        """All primaries at one moment; see `Snapshottable`."""
        return await self._primaries().kept(vaults, name)

    async def recover(self, vaults: Vaults, snapshot: Snapshot) -> Mapping[str, float]:
        """Into as many servers as there were; see `Snapshottable`."""
        if snapshot.service != "redis" or self.chosen.appendonly:
            why = (
                "appends to a log, which it would read instead"
                if self.chosen.appendonly
                else "cannot read it"
            )
            what = f"service {self.context.name}: snapshot {snapshot.name} is of {snapshot.service}"
            raise HostError(f"{what}; redis here {why}")
        steps = await self._primaries().recovered(vaults, snapshot)
        await super().ready()  # replicas have what their primary has, and a cluster is whole
        return steps

    def _primaries(self) -> Primaries:
        servers = self.servers[:1] if self.chosen.replicas else list(self.servers)
        return Primaries(
            servers,
            self.data,
            lambda host, label: self.runner(host, label, _DUMP_WITHIN),
            self._cli,
            self.start_again,
            _DUMP_WITHIN,
        )

    def endpoint(self) -> Endpoint:
        """The first server, which is the primary where there are replicas; `arrangement` tells."""
        facts = {"protocol": "redis", "servers": self.all_servers(), "arrangement": self._arrangement()}
        facts["benchmark_role"] = BENCHMARK
        first = self.address[self.context.hosts[0].name]
        return Endpoint(first, self.port, facts, self.context.password)

    def listeners(self) -> tuple[Listener, ...]:
        """The bus is a cluster's alone."""
        return self.access if self.chosen.cluster else self.access[:1]

    def _arrangement(self) -> str:
        if self.chosen.cluster:
            return "cluster"
        return "replicas" if self.chosen.replicas else "independent"

    async def _start(self, host: Host) -> None:
        command = self.data[host.name].as_its_user("redis-server", str(self.scratch(host) / "redis.conf"))
        await self.launch(host, "redis", command, address=self.address[host.name], port=self.port)

    async def _cli(self, server: Server, question: str) -> str:
        return await ask(self, server.host, f"{_CLI} {question}", server.address, str(server.port))

    async def _write(self, host: Host) -> None:
        data, password = self.data[host.name], self.context.password
        lines = [*self._place(host), *self._keeping(host), *self._others(host), *roles(password)]
        await write_private(self, host, data, "redis.conf", "\n".join(lines) + "\n")
        await write_private(self, host, data, "password", password)

    async def _identify(self, host: Host, authority: Authority) -> None:
        data, identity = self.data[host.name], authority.identity(self.address[host.name])
        await write_private(self, host, data, _IDENTITY, identity.pem)
        await write_private(self, host, data, _AUTHORITY, authority.certificate)

    def _place(self, host: Host) -> list[str]:
        address = self.address[host.name]
        where = [f"bind {address}", f"bind-source-addr {address}", f"port {self.port}"]
        # A title of its own would be written over the environment, by which its run is known.
        how = ["protected-mode yes", "daemonize no", 'logfile ""', "set-proc-title no"]
        return [*where, *how, f"dir {self.data[host.name].path}"]

    def _keeping(self, host: Host) -> list[str]:
        chosen = self.chosen
        return [
            f"maxmemory {int(chosen.maxmemory or self.share(host).memory // 2)}",
            f"maxmemory-policy {chosen.maxmemory_policy}",
            f"io-threads {chosen.io_threads}",
            f'save "{chosen.save}"',
            f"appendonly {'yes' if chosen.appendonly else 'no'}",
            f"appendfsync {chosen.appendfsync}",
            "sanitize-dump-payload yes",  # a snapshot's may be a stranger's
        ]

    def _others(self, host: Host) -> list[str]:
        first = self.context.hosts[0]
        if self.chosen.cluster:
            where = [f"cluster-announce-ip {self.address[host.name]}", f"cluster-port {self.bus}"]
            return ["cluster-enabled yes", *where, "cluster-node-timeout 5000", *self._bus(host)]
        if self.chosen.replicas and host is not first:
            primary = f"replicaof {self.address[first.name]} {self.port}"
            return [primary, f"masterauth {self.context.password}"]
        return ["repl-diskless-sync-delay 0"]  # or a first replica waits 5 s for company

    def _bus(self, host: Host) -> list[str]:
        """Redis encrypts the bus where there is a port for clients by TLS, which asks the same of them."""
        scratch = self.scratch(host)
        files = {"cert": _IDENTITY, "key": _IDENTITY, "ca-cert": _AUTHORITY}
        named = [f"tls-{what}-file {scratch / name}" for what, name in files.items()]
        return ["tls-cluster yes", "tls-auth-clients yes", f"tls-port {self.tls}", *named]
