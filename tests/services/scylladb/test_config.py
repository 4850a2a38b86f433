"""What a node of ScyllaDB is told, and what is made of its answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import PurePosixPath

import pytest
from pydantic import ValidationError

from steelyard.errors import HostError
from steelyard.services.kit.context import HostShare
from steelyard.services.scylladb.api import ScyllaState
from steelyard.services.scylladb.config import (
    ScyllaNodeConfig,
    ScyllaPorts,
    ScyllaResources,
    api_address,
    choose_resources,
    scylla_arguments,
    scylla_yaml,
)
from steelyard.services.scylladb.home import find_program
from steelyard.services.scylladb.options import ScyllaOptions
from steelyard.services.scylladb.password import salt_password
from steelyard.testing import FakeHost, Said

GIB = 2**30
NODE = ScyllaNodeConfig(
    address="10.0.0.2",
    tokens=(-5, 7),
    seed="10.0.0.1",
    ports=ScyllaPorts(native=20001, storage=20002, api=20003, shard_aware=20004),
    conf=PurePosixPath("/scratch/conf"),
    data=PurePosixPath("/scratch/data"),
    salted_password="$6$salt$hash",
    cluster="ring",
    settings={"compaction_throughput_mb_per_sec": 64},
)
GOLDEN = {
    "cluster_name": "ring",
    "workdir": "/scratch/data",
    "num_tokens": 2,
    "initial_token": "-5,7",
    "endpoint_snitch": "GossipingPropertyFileSnitch",
    "seed_provider": [
        {
            "class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
            "parameters": [{"seeds": "10.0.0.1"}],
        }
    ],
    "listen_address": "10.0.0.2",
    "rpc_address": "10.0.0.2",
    "storage_port": 20002,
    "ssl_storage_port": 20002,
    "native_transport_port": 20001,
    "native_shard_aware_transport_port": 20004,
    "api_address": "127.0.0.1",
    "api_port": 20003,
    "prometheus_port": 0,
    "authenticator": "PasswordAuthenticator",
    "authorizer": "CassandraAuthorizer",
    "auth_superuser_name": "steelyard",
    "auth_superuser_salted_password": "$6$salt$hash",
    "ring_delay_ms": 2000,
    "skip_wait_for_gossip_to_settle": 0,
    "server_encryption_options": {
        "internode_encryption": "all",
        "require_client_auth": True,
        "certificate": "/scratch/conf/identity.pem",
        "keyfile": "/scratch/conf/identity.pem",
        "truststore": "/scratch/conf/authority.pem",
    },
    "client_encryption_options": {"enabled": False},
    "compaction_throughput_mb_per_sec": 64,
}


def test_its_file() -> None:
    assert json.loads(scylla_yaml(NODE)) == GOLDEN


def test_its_command_line() -> None:
    conf, common = PurePosixPath("/c"), "--options-file /c/scylla.yaml --log-to-stdout 1 --log-to-syslog 0"
    found = scylla_arguments(
        "/usr/bin/scylla", conf, ScyllaResources(2, 3 * GIB), developer=True, alone=False
    )
    tail = "--smp 2 --memory 3072M --developer-mode 1 --overprovisioned"
    assert " ".join(found) == f"/usr/bin/scylla {common} {tail}"
    alone = scylla_arguments("scylla", conf, ScyllaResources(1, GIB), developer=False, alone=True)
    assert " ".join(alone[-4:]) == "--memory 1024M --developer-mode 0"


@pytest.mark.parametrize(
    ("share", "asked", "taken"),
    [
        (HostShare(8, 32 * GIB), (None, None), ScyllaResources(8, 24 * GIB)),
        (HostShare(8, 4 * GIB), (None, None), ScyllaResources(3, 3 * GIB)),
        (HostShare(4, GIB // 2), (None, None), ScyllaResources(1, GIB // 2)),
        (HostShare(4, 8 * GIB), (2, GIB + 5), ScyllaResources(2, GIB)),
    ],
)
def test_what_it_takes_of_its_host(
    share: HostShare, asked: tuple[int | None, int | None], taken: ScyllaResources
) -> None:
    assert choose_resources(share, *asked) == taken


@pytest.mark.parametrize(
    ("address", "api"),
    [("10.1.2.3", "127.0.0.1"), ("127.0.0.4", "127.0.0.4"), ("node7", "127.0.0.1"), ("fd00::1", "127.0.0.1")],
)
def test_management_listens_on_the_loopback_alone(address: str, api: str) -> None:
    assert api_address(address) == api


@pytest.mark.parametrize(
    ("password", "salt", "known"),
    [
        (
            "Hello world!",
            "saltstring",
            "svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
        ),
        (
            "x" * 100,
            "abcdefghijklmnop",
            "r/HtRGuCzMNedONV3I8Xz8Qm4Qy85pQ/RigX0agmbAzWsa3BCc1B564NfCD/Giyliby36KbTMkrVLsmFYtbTu1",
        ),
        ("p", "a", "2.GZ8yudlr5SHiCPkX5N4O16VrDiQ2OZrbwWIoAlxZVHQFGoqZP6JY4XB1c.jTYlVXS7wOdfIg7aItV3orkit0"),
    ],
)
def test_passwords_are_salted_as_crypt_does(password: str, salt: str, known: str) -> None:
    """What `openssl passwd -6` of OpenSSL 3.0 made; the first is a vector of the scheme's description."""
    assert salt_password(password, salt) == f"$6${salt}${known}"


def test_no_two_salts_are_the_same() -> None:
    assert salt_password("x") != salt_password("x")


@pytest.mark.parametrize("name", ["api_address", "authenticator", "prometheus_port", "workdir"])
def test_settings_that_are_not_the_users_are_named(name: str) -> None:
    with pytest.raises(ValidationError, match=name):
        ScyllaOptions.model_validate({"settings": {name: 1}})


def test_flags_that_are_not_the_users_are_named() -> None:
    with pytest.raises(ValidationError, match="--smp"):
        ScyllaOptions.model_validate({"flags": ["--smp=4"]})


WHOLE = {
    "mode": "NORMAL",
    "open": True,
    "live": ["a", "b"],
    "joining": [],
    "leaving": [],
    "moving": [],
    "schemas": [{"key": "v1", "value": ["a", "b"]}, {"key": "UNREACHABLE", "value": ["c"]}],
}


def test_a_ring_that_is_whole() -> None:
    assert ScyllaState(WHOLE).is_ready(["a", "b"])
    assert ScyllaState(WHOLE).is_ready(["a"])


@pytest.mark.parametrize(
    "change",
    [
        {"mode": "JOINING"},
        {"open": False},
        {"live": ["a"]},
        {"joining": ["c"]},
        {"leaving": ["c"]},
        {"schemas": [{"key": "v1", "value": ["a"]}, {"key": "v2", "value": ["b"]}]},
    ],
)
def test_a_ring_that_is_not(change: dict[str, object]) -> None:
    assert not ScyllaState({**WHOLE, **change}).is_ready(["a", "b"])


def test_a_node_that_does_not_answer() -> None:
    assert not ScyllaState().is_ready([])


def test_a_host_without_it_says_how_to_get_it() -> None:
    with pytest.raises(HostError, match="ScyllaDB is not installed on fake") as caught:
        asyncio.run(find_program(FakeHost(lambda _: Said())))
    assert "SCYLLA_HOME" in caught.value.hint
