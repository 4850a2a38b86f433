"""redis.conf of one server. Pure.

Names are those of the file that Redis 7 ships; for TLS see https://redis.io/docs, "TLS".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from steelyard.services.kit.certificates import AUTHORITY, IDENTITY
from steelyard.services.redis.options import RedisOptions
from steelyard.services.redis.roles import role_lines


@dataclass(frozen=True, slots=True)
class RedisPorts:
    """Of a server: its clients', and in a cluster that of the bus and one by which nodes alone come.

    Redis encrypts the bus only where there is a port for TLS, too; `nodes` is 0 where clients use that one.
    """

    clients: int
    bus: int = 0
    nodes: int = 0


@dataclass(frozen=True, slots=True)
class RedisNodeConfig:
    """A server as it is to start, with what it reads in `conf`. `primary`: whom it replicates.

    `memory`: bytes that it may use of its host. `encrypted`: clients and replicas come by TLS.
    """

    address: str
    ports: RedisPorts
    conf: PurePosixPath
    data: PurePosixPath
    memory: int
    encrypted: bool = False
    primary: str | None = None


def redis_conf(node: RedisNodeConfig, options: RedisOptions, password: str) -> str:
    """The file."""
    lines = [
        *_network_lines(node),
        *_storage_lines(node, options),
        *_peer_lines(node, options, password),
        *_tls_lines(node, options),
    ]
    return "\n".join([*lines, *role_lines(password)]) + "\n"


def has_certificates(options: RedisOptions, *, encrypted: bool) -> bool:
    """Whether servers need certificates."""
    return encrypted or options.cluster


def _network_lines(node: RedisNodeConfig) -> Iterator[str]:
    yield f"bind {node.address}"
    yield f"bind-source-addr {node.address}"
    yield "port 0" if node.encrypted else f"port {node.ports.clients}"
    # A title of its own would be written over the environment, by which its run is known.
    yield from ("protected-mode yes", "daemonize no", 'logfile ""', "set-proc-title no", f"dir {node.data}")


def _storage_lines(node: RedisNodeConfig, options: RedisOptions) -> Iterator[str]:
    yield f"maxmemory {int(options.maxmemory or node.memory // 2)}"
    yield f"maxmemory-policy {options.maxmemory_policy}"
    yield f"io-threads {options.io_threads}"
    yield f'save "{options.save}"'
    yield f"appendonly {'yes' if options.appendonly else 'no'}"
    yield f"appendfsync {options.appendfsync}"
    yield "sanitize-dump-payload yes"  # a snapshot's may be a stranger's


def _peer_lines(node: RedisNodeConfig, options: RedisOptions, password: str) -> Iterator[str]:
    if options.cluster:
        yield f"cluster-announce-ip {node.address}"
        yield f"cluster-port {node.ports.bus}"
        yield from ("cluster-enabled yes", "cluster-node-timeout 5000", "tls-cluster yes")
    elif node.primary:
        yield f"replicaof {node.primary} {node.ports.clients}"
        yield f"masterauth {password}"
        yield f"tls-replication {'yes' if node.encrypted else 'no'}"
    else:
        yield "repl-diskless-sync-delay 0"  # or a first replica waits 5 s for company


def _tls_lines(node: RedisNodeConfig, options: RedisOptions) -> Iterator[str]:
    """Clients have no certificate. On the bus Redis always asks for one."""
    if not has_certificates(options, encrypted=node.encrypted):
        return
    files = {"cert": IDENTITY, "key": IDENTITY, "ca-cert": AUTHORITY}
    yield from (f"tls-{what}-file {node.conf / name}" for what, name in files.items())
    yield f"tls-port {node.ports.clients if node.encrypted else node.ports.nodes}"
    yield f"tls-auth-clients {'no' if node.encrypted else 'yes'}"
