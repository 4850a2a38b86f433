"""What a node of ScyllaDB is told: scylla.yaml, its command line, its share of the host. Pure.

Names of settings are those of "Configuration Parameters" in ScyllaDB's manual, 2025.1; Seastar's options
(cores and memory) stand only on the command line, as its "Configuration Reference" says.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from steelyard.plugin.service import HostShare

USER = "steelyard"
_MIB, _GIB = 2**20, 2**30
_NOT_YOURS = (
    "api_address api_port auth_superuser_name auth_superuser_salted_password authenticator authorizer "
    "auto_bootstrap broadcast_address broadcast_rpc_address cluster_name commitlog_directory "
    "data_file_directories developer_mode endpoint_snitch hints_directory initial_token listen_address "
    "listen_interface listen_on_broadcast_address maintenance_socket native_shard_aware_transport_port "
    "native_transport_port native_transport_port_ssl native_shard_aware_transport_port_ssl num_tokens "
    "partitioner prometheus_address prometheus_port ring_delay_ms role_manager rpc_address rpc_interface "
    "rpc_port saved_caches_directory seed_provider ssl_storage_port start_native_transport start_rpc "
    "storage_port view_hints_directory workdir alternator_port alternator_https_port alternator_address "
    "client_encryption_options server_encryption_options"
)
_NOT_YOUR_FLAGS = ("--options-file", "--smp", "--memory", "--developer-mode", "--overprovisioned")


@dataclass(frozen=True, slots=True)
class ScyllaPorts:
    """The ports of a ring, the same on all of its nodes. `shard_aware` is for drivers, beside `native`."""

    native: int
    storage: int
    api: int
    shard_aware: int


@dataclass(frozen=True, slots=True)
class ScyllaNodeConfig:
    """A node as it is to start. `seed` is where it learns of the ring; the first one's is itself.

    What it reads is in `conf`; it writes to `data`.

    `encrypted`: clients talk to it by TLS, as other nodes always do, with the keys in `conf`.
    """

    address: str
    tokens: tuple[int, ...]
    seed: str
    ports: ScyllaPorts
    conf: PurePosixPath
    data: PurePosixPath
    salted_password: str = field(repr=False)
    cluster: str = "ring"
    ring_delay: float = 2.0
    encrypted: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScyllaResources:
    """What a node takes of its host: shards, a core each, and bytes of memory for all of them."""

    shards: int
    memory: int


def find_reserved_setting(settings: Mapping[str, Any]) -> str | None:
    """The first setting that the service must see to itself."""
    return next((name for name in settings if name in _NOT_YOURS.split()), None)


def find_reserved_flag(flags: tuple[str, ...]) -> str | None:
    """The first flag of the command line that the service gives by itself."""
    return next((flag for flag in flags if flag.partition("=")[0] in _NOT_YOUR_FLAGS), None)


def choose_resources(share: HostShare, shards: int | None, memory: int | None) -> ScyllaResources:
    """As asked; else three quarters of its memory, as ScyllaDB has no use for the page cache, and its cores.

    Not more shards than GiB, which is the least that ScyllaDB takes for one in production.
    """
    taken = memory or max(_GIB // 2, share.memory * 3 // 4)
    return ScyllaResources(shards or max(1, min(share.cores, taken // _GIB)), taken // _MIB * _MIB)


def api_address(address: str) -> str:
    """Where a node is managed, which asks for no password: on its host's own loopback alone."""
    try:
        return address if ipaddress.ip_address(address).is_loopback else "127.0.0.1"
    except ValueError:
        return "127.0.0.1"


def scylla_yaml(node: ScyllaNodeConfig) -> str:
    """The file. JSON is YAML, too.

    The first superuser is told here, so ScyllaDB's well-known one is never made, and no moment is without
    a password. No figures are served to Prometheus, which would ask for none. Where all of what nodes say is
    encrypted, `ssl_storage_port` is the only one on which they listen to each other.
    """
    settings = {
        "cluster_name": node.cluster,
        "workdir": str(node.data),
        "num_tokens": len(node.tokens),
        "initial_token": ",".join(str(token) for token in node.tokens),
        "endpoint_snitch": "GossipingPropertyFileSnitch",
        "seed_provider": [_seed_provider(node)],
        "listen_address": node.address,
        "rpc_address": node.address,
        "storage_port": node.ports.storage,
        "ssl_storage_port": node.ports.storage,
        "native_transport_port": node.ports.native,
        "native_shard_aware_transport_port": node.ports.shard_aware,
        "api_address": api_address(node.address),
        "api_port": node.ports.api,
        "prometheus_port": 0,
        "authenticator": "PasswordAuthenticator",
        "authorizer": "CassandraAuthorizer",
        "auth_superuser_name": USER,
        "auth_superuser_salted_password": node.salted_password,
        "ring_delay_ms": round(node.ring_delay * 1000),
        "skip_wait_for_gossip_to_settle": 0,
        **_encryption(node.conf, clients=node.encrypted),
        **node.settings,
    }
    return json.dumps(settings, indent=1) + "\n"


def scylla_arguments(
    program: str, conf: PurePosixPath, its: ScyllaResources, *, developer: bool, alone: bool
) -> tuple[str, ...]:
    """The command line. `alone`: nothing else uses its cores, so that they may be pinned and polled."""
    return (
        program,
        *("--options-file", str(conf / "scylla.yaml")),
        *("--log-to-stdout", "1", "--log-to-syslog", "0"),
        *("--smp", str(its.shards), "--memory", f"{its.memory // _MIB}M"),
        *("--developer-mode", "1" if developer else "0"),
        *(() if alone else ("--overprovisioned",)),
    )


def _encryption(conf: PurePosixPath, *, clients: bool) -> dict[str, Any]:
    """Nodes prove to each other who they are. Clients know whom they give their password to."""
    identity, authority = str(conf / "identity.pem"), str(conf / "authority.pem")
    keys = {"certificate": identity, "keyfile": identity, "truststore": authority}
    return {
        "server_encryption_options": {"internode_encryption": "all", "require_client_auth": True, **keys},
        "client_encryption_options": {"enabled": True, **keys} if clients else {"enabled": False},
    }


def _seed_provider(node: ScyllaNodeConfig) -> dict[str, Any]:
    name = "org.apache.cassandra.locator.SimpleSeedProvider"
    return {"class_name": name, "parameters": [{"seeds": node.seed}]}
