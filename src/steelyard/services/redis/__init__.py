"""`use: redis` under `services`: a server on each host, alone, with replicas, or as a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from steelyard.plugin import ClientBinding, Endpoint, HostError, Tool, WireProtocol
from steelyard.plugin.host import Host
from steelyard.plugin.service import Service, Snapshot, Vaults
from steelyard.services.kit.access import Listener
from steelyard.services.kit.address import resolve_address
from steelyard.services.kit.certificates import AUTHORITY, Authority, is_encrypted
from steelyard.services.kit.data import make_data
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.meters import sum_meters
from steelyard.services.kit.ports import choose_ports, list_listening_ports
from steelyard.services.kit.private_files import ask, write_private
from steelyard.services.kit.server import Server
from steelyard.services.kit.tls_option import ENCRYPTED
from steelyard.services.redis.config import RedisNodeConfig, RedisPorts, has_certificates, redis_conf
from steelyard.services.redis.options import RedisOptions
from steelyard.services.redis.roles import BENCHMARK
from steelyard.services.redis.snapshots import RedisPrimaries

_DUMP_WITHIN = 3600.0
_CLUSTER_LEAST = 3  # primaries; redis-cli makes no cluster of fewer
_METERS = {
    "used_memory": "used_bytes",
    "connected_clients": "connections",
    "instantaneous_ops_per_sec": "operations_per_second",
    "total_commands_processed": "commands",
    "keyspace_hits": "hits",
    "keyspace_misses": "misses",
    "evicted_keys": "evictions",
}

_PROTOCOL = WireProtocol(
    "redis", 6379, (ClientBinding("ycsb", "steelyard.ycsb.Redis", str(Path(__file__).with_name("ycsb"))),)
)


class Redis(Disturbable, Service[RedisOptions]):
    """Redis servers, one per host: independent, a primary with replicas, or a Redis Cluster.

    **Who may use it**: anyone who knows the password, which is random for each run. It is stored in files of
    mode 0600 in the scratch and passed to programs in their environment. Each server is bound to its host's
    address. redis-benchmark exposes its password to everyone on its host, so it uses the role `benchmark`,
    which may only send the requests of its tests to the keys that they use. Clients and replicas use TLS
    unless all hosts have loopback addresses (`tls`). The nodes of a cluster always use TLS and recognise each
    other by certificates of their own authority; no other node can join.

    **Ready**: a server answers PING; a replica's link to the primary is up; every node of a cluster reports
    `cluster_state:ok` and knows all the others.

    **Source**: https://redis.io/docs, "Redis configuration", "Replication" and "Scale with Redis Cluster".
    Nothing is written to disk without `save` or `appendonly`; a server that is killed and restarted is then
    empty, as are its replicas.
    """

    Options = RedisOptions
    speaks = _PROTOCOL
    needs = (
        Tool("redis-server", apt="redis-server", dnf="redis", at_least="7.0"),
        Tool("redis-cli", apt="redis-tools", dnf="redis", at_least="7.0"),
    )
    access = (
        Listener("clients and replicas", authentication="password", encrypted=ENCRYPTED),
        Listener("bus of a cluster", authentication="a certificate of the cluster", encrypted="yes"),
        Listener(
            "TLS of a cluster", authentication="a certificate of the cluster, and password", encrypted="yes"
        ),
    )
    examples = ({}, {"replicas": True}, {"appendonly": True, "io_threads": 2, "maxmemory": "64MiB"})

    @classmethod
    def min_hosts(cls, options: RedisOptions) -> int:
        """Redis makes no cluster of fewer than three primaries."""
        return _CLUSTER_LEAST if options.cluster else 1

    async def configure(self) -> None:
        """Find ports and write each server's configuration. Raises HostError for a cluster of too few."""
        hosts = self.context.hosts
        self._check_cluster_size(len(hosts))
        self.ports = RedisPorts(
            *await choose_ports(
                hosts, self.options.port, 3 if self.options.cluster else 1, self.context.claims
            )
        )
        self.joined = False
        self.address = {host.name: await resolve_address(host) for host in hosts}
        self.authority = Authority() if has_certificates(self.options, encrypted=self.has_tls) else None
        self.data = await make_data(self, hosts)
        await asyncio.gather(*(self._write(host) for host in hosts))

    def _check_cluster_size(self, hosts: int) -> None:
        if self.options.cluster and hosts < _CLUSTER_LEAST:
            what = f"service {self.context.name}: a Redis Cluster needs {_CLUSTER_LEAST} hosts, not {hosts}"
            raise HostError(what, hint="give its role more hosts, or remove `cluster`")

    async def start(self) -> None:
        """All servers at once; a replica waits for its primary by itself."""
        await asyncio.gather(*(self._start(host) for host in self.context.hosts))

    async def ready(self) -> None:
        """Every server answers; then they become a cluster where that is asked for."""
        await super().ready()
        if self.options.cluster:
            nodes = " ".join(
                f"{self.address[host.name]}:{self.ports.clients}@{self.ports.bus}"
                for host in self.context.hosts
            )
            create = f"{self._client()} --cluster create $NODES --cluster-yes"
            await self.run_script(self.context.hosts[0], "cluster", create, NODES=nodes)
            self.joined = True
            await super().ready()

    async def is_answering(self, server: Server) -> bool:
        """By its own word, and in a cluster or as a replica by what it sees of the others."""
        if server.port not in await list_listening_ports(server.host):
            return False
        if self.joined:
            said = await self._run_cli(server, "cluster info")
            return {"cluster_state:ok", f"cluster_known_nodes:{len(self.context.hosts)}"} <= set(said.split())
        if self.options.replicas and server.host is not self.context.hosts[0]:
            return "master_link_status:up" in (await self._run_cli(server, "info replication")).split()
        return (await self._run_cli(server, "ping")).strip() == "PONG"

    async def read_meters(self) -> Mapping[str, float]:
        """Sums over the servers that answer; see `Metered`."""
        said = await asyncio.gather(*(self._run_cli(server, "info") for server in self.servers))
        return sum_meters(said, _METERS)

    async def snapshot(self, vaults: Vaults, name: str) -> Snapshot:
        """All primaries at one moment; see `Snapshottable`."""
        return await self._primaries().take_snapshot(vaults, name)

    async def recover(self, vaults: Vaults, snapshot: Snapshot) -> Mapping[str, float]:
        """Into as many servers as there were; see `Snapshottable`."""
        if snapshot.service != "redis" or self.options.appendonly:
            why = (
                "uses appendonly, and would read that log instead"
                if self.options.appendonly
                else "cannot read it"
            )
            what = f"service {self.context.name}: snapshot {snapshot.name} is from {snapshot.service}"
            raise HostError(f"{what}; this redis {why}")
        steps = await self._primaries().recover_snapshot(vaults, snapshot)
        await super().ready()  # replicas have what their primary has, and a cluster is whole
        return steps

    @property
    def has_tls(self) -> bool:
        """Whether clients and replicas use TLS."""
        return is_encrypted(self.options.tls, (host.address for host in self.context.hosts))

    def _primaries(self) -> RedisPrimaries:
        servers = self.servers[:1] if self.options.replicas else list(self.servers)
        return RedisPrimaries(
            servers,
            self.data,
            lambda host, label: self.make_runner(host, label, _DUMP_WITHIN),
            self._run_cli,
            self.restart_server,
            _DUMP_WITHIN,
        )

    def endpoint(self) -> Endpoint:
        """The first server, which is the primary where there are replicas; `arrangement` tells."""
        facts = {
            "protocol": _PROTOCOL.name,
            "servers": self.list_servers(),
            "arrangement": self._arrangement(),
        }
        facts |= {"benchmark_role": BENCHMARK, "tls": "true" if self.has_tls else "false"}
        believed = self.authority.certificate if self.authority and self.has_tls else None
        first = self.address[self.context.hosts[0].name]
        return Endpoint(first, self.ports.clients, facts, self.context.password, believed)

    def listeners(self) -> tuple[Listener, ...]:
        """The bus is a cluster's alone, whose nodes have a port for TLS in any case."""
        alone = not self.options.cluster
        return self.access[:1] if alone else self.access[: 2 if self.has_tls else 3]

    def _arrangement(self) -> str:
        if self.options.cluster:
            return "cluster"
        return "replicas" if self.options.replicas else "independent"

    async def _start(self, host: Host) -> None:
        command = self.data[host.name].account_command("redis-server", str(self.scratch(host) / "redis.conf"))
        await self.launch(host, "redis", command, address=self.address[host.name], port=self.ports.clients)

    async def _run_cli(self, server: Server, question: str) -> str:
        words = f'{self._client()} -h "$1" -p "$2" {question}'
        return await ask(self, server.host, words, server.address, str(server.port))

    def _client(self) -> str:
        """The words of redis-cli, in the scratch, before those that say whom it asks."""
        tls = f" --tls --cacert {AUTHORITY}" if self.has_tls else ""
        return f"REDISCLI_AUTH=$(cat password) redis-cli --no-auth-warning{tls}"

    async def _write(self, host: Host) -> None:
        node = self._config(host)
        password = self.context.password
        texts = {"redis.conf": redis_conf(node, self.options, password), "password": password}
        keys = self.authority.issue_files(node.address) if self.authority else {}
        await write_private(self, host, self.data[host.name], {**texts, **keys})

    def _config(self, host: Host) -> RedisNodeConfig:
        first = self.context.hosts[0]
        return RedisNodeConfig(
            address=self.address[host.name],
            ports=self.ports,
            conf=self.scratch(host),
            data=self.data[host.name].path,
            memory=self.share(host).memory,
            encrypted=self.has_tls,
            primary=self.address[first.name] if self.options.replicas and host is not first else None,
        )
