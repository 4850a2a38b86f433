"""What a node of Cassandra 5.0 reads: cassandra.yaml, where it stands, how it logs. Pure.

Names of settings are those of "cassandra.yaml configuration" in Cassandra's documentation, 5.0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

LOGBACK = """<configuration>
  <appender name="STDOUT" class="ch.qos.logback.core.ConsoleAppender">
    <target>System.err</target>
    <encoder><pattern>%-5level %date{ISO8601} [%thread] %logger{0} - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="STDOUT"/></root>
</configuration>
"""
_NOT_YOURS = (
    "authenticator authorizer role_manager broadcast_address broadcast_rpc_address cluster_name "
    "commitlog_directory cdc_raw_directory data_file_directories endpoint_snitch hints_directory "
    "initial_token listen_address listen_interface listen_on_broadcast_address "
    "local_system_data_file_directory native_transport_port native_transport_port_ssl num_tokens partitioner "
    "rpc_address rpc_interface saved_caches_directory seed_provider ssl_storage_port start_native_transport "
    "storage_port auto_bootstrap commitlog_sync network_authorizer cidr_authorizer "
    "client_encryption_options server_encryption_options"
)

_PEM = "org.apache.cassandra.security.PEMBasedSslContextFactory"
_JOINS = "org.apache.cassandra.locator.SimpleSeedProvider"
_BEGINS = "steelyard.cassandra.Seeds"  # ours: comes up with others, and waits for none of them


@dataclass(frozen=True, slots=True)
class CassandraPorts:
    """The ports of a ring, the same on all of its nodes."""

    native: int
    storage: int
    jmx: int


@dataclass(frozen=True, slots=True)
class CassandraNodeConfig:
    """A node as it is to start. `bootstrap`: it joins a ring that has data. `tokens` are its own.

    `conf`: where what it reads lies, and `data` what it writes. `mirrored`: the ring has two data centres.
    `encrypted`: clients talk to it by TLS, as other nodes always do, with the keys in `conf`.
    `has_authentication`: they must log in.
    """

    address: str
    tokens: tuple[int, ...]
    seeds: tuple[str, ...]
    ports: CassandraPorts
    conf: PurePosixPath
    data: PurePosixPath
    mirrored: bool = False
    bootstrap: bool = False
    encrypted: bool = False
    has_authentication: bool = True
    cluster: str = "ring"
    commitlog_sync: str = "periodic"
    settings: Mapping[str, Any] = field(default_factory=dict)


def find_reserved_setting(settings: Mapping[str, Any]) -> str | None:
    """The first setting that the service must see to itself."""
    return next((name for name in settings if name in _NOT_YOURS.split()), None)


def cassandra_yaml(node: CassandraNodeConfig) -> str:
    """The file. JSON is YAML, too.

    Clients are let in later, by management, when the ring is whole and has the role of clients; the one that
    Cassandra makes, whose password is well known, is never there.
    A role is read from the nearest replica, so that one dead node keeps nobody out. A node whose disk fails
    ends, so that it is noticed. What is dropped is gone: the ring is a copy, or its snapshot was asked for.
    """
    settings = {
        "cluster_name": node.cluster,
        "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
        "num_tokens": len(node.tokens),
        "initial_token": ",".join(str(token) for token in node.tokens),
        "auto_bootstrap": node.bootstrap,
        "endpoint_snitch": "GossipingPropertyFileSnitch",
        "seed_provider": [_seed_provider(node)],
        "listen_address": node.address,
        "rpc_address": node.address,
        "storage_port": node.ports.storage,
        "native_transport_port": node.ports.native,
        "start_native_transport": False,
        "authenticator": "PasswordAuthenticator" if node.has_authentication else "AllowAllAuthenticator",
        "authorizer": "CassandraAuthorizer" if node.has_authentication else "AllowAllAuthorizer",
        "role_manager": "steelyard.cassandra.NoDefaultRole",
        "disk_failure_policy": "die",
        "commit_failure_policy": "die",
        "internode_compression": "dc",
        "auto_snapshot": False,
        "auth_read_consistency_level": "LOCAL_ONE",
        "roles_validity": "60s",
        "credentials_validity": "60s",
        "permissions_validity": "60s",
        **({"auth_write_consistency_level": "LOCAL_QUORUM"} if node.mirrored else {}),
        **_directories(node.data),
        **_commit_log(node.commitlog_sync),
        **_encryption(node.conf, clients=node.encrypted),
        **node.settings,
    }
    return json.dumps(settings, indent=1) + "\n"


def _seed_provider(node: CassandraNodeConfig) -> dict[str, Any]:
    seeds = ",".join(f"{address}:{node.ports.storage}" for address in node.seeds)
    return {"class_name": _JOINS if node.bootstrap else _BEGINS, "parameters": [{"seeds": seeds}]}


def _encryption(conf: PurePosixPath, *, clients: bool) -> dict[str, Any]:
    """Nodes prove to each other who they are. Clients know whom they give their password to."""
    keys = {
        "ssl_context_factory": {"class_name": _PEM},
        "keystore": str(conf / "identity.pem"),
        "truststore": str(conf / "authority.pem"),
        "optional": False,
    }
    between = {"internode_encryption": "all", "require_client_auth": True, "accepted_protocols": ["TLSv1.3"]}
    with_clients = {"enabled": True, "accepted_protocols": ["TLSv1.3", "TLSv1.2"], **keys}
    return {
        "server_encryption_options": {**between, "legacy_ssl_storage_port_enabled": False, **keys},
        "client_encryption_options": with_clients if clients else {"enabled": False},
    }


def _directories(data: PurePosixPath) -> dict[str, Any]:
    return {
        "data_file_directories": [str(data / "data")],
        "commitlog_directory": str(data / "commitlog"),
        "saved_caches_directory": str(data / "saved_caches"),
        "hints_directory": str(data / "hints"),
        "cdc_raw_directory": str(data / "cdc_raw"),
    }


def _commit_log(sync: str) -> dict[str, Any]:
    """How long a write may wait for the disk; the times are those of the file that Cassandra ships."""
    times = {
        "periodic": {"commitlog_sync_period": "10000ms"},
        "batch": {},
        "group": {"commitlog_sync_group_window": "1000ms"},
    }
    return {"commitlog_sync": sync, **times[sync]}
