"""A ring of Cassandra on paper: tokens, files, flags, and what is refused before anything starts."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from dataclasses import replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.errors import HostError
from steelyard.services.cassandra import Cassandra, jvm
from steelyard.services.cassandra.config import (
    LOGBACK,
    CassandraNodeConfig,
    CassandraPorts,
    cassandra_yaml,
)
from steelyard.services.cassandra.home import CASSANDRA, CassandraHome, find_home, verify_jars
from steelyard.services.cassandra.options import CassandraOptions
from steelyard.services.cassandra.watch import RingPasswords, RingStatus
from steelyard.services.kit.context import HostShare, ServiceContext
from steelyard.services.kit.cql_ring import even_tokens, more_tokens, rackdc_properties, range_widths
from steelyard.services.kit.ring import RingService
from steelyard.services.kit.ring_members import RingMembers
from steelyard.tools import maven
from steelyard.units import Size

RING = 2**64
GIB = 2**30
CONF, DATA = PurePosixPath("/s/conf"), PurePosixPath("/s/data")
NODE = CassandraNodeConfig(
    "10.0.0.2", (-5, 7), ("10.0.0.1", "10.0.0.2"), CassandraPorts(9042, 7000, 7199), CONF, DATA
)


@given(st.integers(1, 24), st.integers(1, 16))
def test_a_new_ring_is_balanced(nodes, each):
    tokens = even_tokens(nodes, each)
    assert [len(own) for own in tokens] == [each] * nodes
    widths = range_widths(token for own in tokens for token in own)
    assert sum(widths.values()) == RING
    assert len(widths) == nodes * each
    assert max(widths.values()) - min(widths.values()) <= 1
    assert all(-(2**63) < token < 2**63 for token in widths)


@given(st.integers(1, 12), st.integers(1, 8))
def test_growing_to_twice_the_size_leaves_a_balanced_ring(nodes, each):
    owned = list(even_tokens(nodes, each))
    for _ in range(nodes):
        owned.append(more_tokens(owned, each))
    widths = range_widths(token for own in owned for token in own)
    assert len(widths) == 2 * nodes * each
    shares = [sum(widths[token] for token in own) for own in owned]
    assert sum(shares) == RING
    assert max(shares) < 2.1 * min(shares)


def test_one_that_joins_takes_half_of_the_widest_range_of_whoever_owns_most():
    assert more_tokens([(0,)], 1) == (-(2**63),)  # the opposite side
    owned = [(0,), (2**62,)]  # the first owns three quarters: from 2^62 over the end to 0
    (new,) = more_tokens(owned, 1)
    widths = range_widths([0, 2**62, new])
    assert widths[0] == widths[new] == 3 * 2**61


def test_a_node_listens_on_its_own_address_only_and_asks_for_passwords():
    found = json.loads(cassandra_yaml(NODE))
    assert found["listen_address"] == found["rpc_address"] == "10.0.0.2"
    assert found["seed_provider"][0]["parameters"] == [{"seeds": "10.0.0.1:7000,10.0.0.2:7000"}]
    assert found["seed_provider"][0]["class_name"] == "steelyard.cassandra.Seeds", "it waits for no other"
    joining = json.loads(cassandra_yaml(replace(NODE, bootstrap=True)))
    assert joining["seed_provider"][0]["class_name"].endswith("SimpleSeedProvider"), "it asks the ring"
    assert (found["storage_port"], found["native_transport_port"]) == (7000, 9042)
    assert found["initial_token"] == "-5,7"
    assert found["num_tokens"] == 2
    assert found["authenticator"] == "PasswordAuthenticator"
    assert found["authorizer"] == "CassandraAuthorizer"
    assert found["start_native_transport"] is False, "clients are let in when the ring has a role for them"
    assert found["role_manager"] == "steelyard.cassandra.NoDefaultRole", "nobody knows a password of it"
    assert {value for key, value in found.items() if key.endswith("_directory")} == {
        f"/s/data/{name}" for name in ("commitlog", "saved_caches", "hints", "cdc_raw")
    }


def test_clients_that_cannot_log_in_are_let_in_when_the_file_says_so():
    asking, open_ = (
        json.loads(cassandra_yaml(replace(NODE, has_authentication=asks))) for asks in (True, False)
    )
    assert (asking["authenticator"], open_["authenticator"]) == (
        "PasswordAuthenticator",
        "AllowAllAuthenticator",
    )
    assert open_["authorizer"] == "AllowAllAuthorizer"
    assert asking["server_encryption_options"] == open_["server_encryption_options"], (
        "nodes prove who they are"
    )


def test_nodes_always_prove_to_each_other_who_they_are():
    for encrypted in (False, True):
        found = json.loads(cassandra_yaml(replace(NODE, encrypted=encrypted)))
        between = found["server_encryption_options"]
        assert (between["internode_encryption"], between["require_client_auth"]) == ("all", True)
        assert (between["optional"], between["legacy_ssl_storage_port_enabled"]) == (False, False)
        assert between["keystore"] == "/s/conf/identity.pem"
        assert between["truststore"] == "/s/conf/authority.pem"
        clients = found["client_encryption_options"]
        assert clients["enabled"] is encrypted
        assert clients.get("optional", False) is False


@pytest.mark.parametrize(
    ("options", "addresses", "encrypted"),
    [({}, "127.0.0.1", False), ({}, "10.0.0.1", True), ({"tls": True}, "127.0.0.1", True)],
)
def test_clients_use_tls_beyond_loopback_and_each_ring_has_a_name_and_an_authority(
    options, addresses, encrypted
):
    async def drawn():
        host = SimpleNamespace(name="h", address=addresses)
        context = ServiceContext("ring", (host,), {}, Path("/nowhere"), (), "secret")
        service = Cassandra(CassandraOptions.model_validate(options), context)
        await RingService.configure(service)
        return service

    one, other = (asyncio.run(drawn()) for _ in range(2))
    assert one.encrypted is encrypted
    assert one.cluster.startswith("ring-")
    assert one.cluster != other.cluster
    assert one.authority.certificate != other.authority.certificate


def test_settings_are_handed_on_and_come_last():
    node = CassandraNodeConfig(
        **{**_fields(NODE), "settings": {"concurrent_writes": 8, "disk_failure_policy": "stop"}}
    )
    found = json.loads(cassandra_yaml(node))
    assert found["concurrent_writes"] == 8
    assert found["disk_failure_policy"] == "stop"
    assert rackdc_properties("dc2") == "dc=dc2\nrack=rack1\n"
    assert "System.err" in LOGBACK, "what a failure message quotes"


@pytest.mark.parametrize(
    ("sync", "key"), [("periodic", "period"), ("group", "group_window"), ("batch", None)]
)
def test_when_a_write_is_done(sync, key):
    found = json.loads(cassandra_yaml(CassandraNodeConfig(**{**_fields(NODE), "commitlog_sync": sync})))
    assert found["commitlog_sync"] == sync
    times = [name for name in found if name.startswith("commitlog_sync_")]
    assert times == ([f"commitlog_sync_{key}"] if key else [])


@pytest.mark.parametrize(
    "options",
    [
        {"settings": {"rpc_address": "0.0.0.0"}},
        {"settings": {"authenticator": "AllowAllAuthenticator"}},
        {"keyspaces": ["a; DROP ROLE steelyard"]},
        {"datacenter": "a'b"},
        {"replication": 0},
        {"heap": "-1MiB"},
    ],
)
def test_what_would_open_a_door_is_refused(options):
    with pytest.raises(ValidationError):
        CassandraOptions.model_validate(options)


@pytest.mark.parametrize(
    ("memory", "size"),
    [(GIB, GIB // 4), (100 * GIB, 8 * GIB), (GIB // 8, GIB // 8), (3 * GIB + 5, 768 * 2**20)],
)
def test_a_heap_is_a_quarter_of_the_share_within_bounds(memory, size):
    assert jvm.heap_size(HostShare(2, memory)) == size


def test_a_heap_starts_small_and_a_small_one_is_collected_serially():
    assert jvm.memory_flags(GIB // 4, 3) == [
        "-Xms128m",
        "-Xmx256m",
        "-XX:MaxDirectMemorySize=128m",
        "-XX:ActiveProcessorCount=3",
        "-XX:+UseSerialGC",
    ]
    assert "-XX:+UseG1GC" in jvm.memory_flags(2 * GIB, 2)


def test_a_flag_may_hold_blanks_and_quotes():
    assert jvm.format_arguments(["-Da=b c", '-Dd="e\\']) == '"-Da=b c"\n"-Dd=\\"e\\\\"\n'


def _fields(node: CassandraNodeConfig) -> dict[str, object]:
    return {name: getattr(node, name) for name in node.__dataclass_fields__}


def report(**changes: object) -> dict[str, object]:
    views = {"live": ["a", "b"], "joining": [], "leaving": [], "moving": [], "owners": ["a", "b"]}
    return {"generation": 3, "mode": "NORMAL", "schema": "x", "open": True, **views, **changes}


@pytest.mark.parametrize(
    ("said", "whole"),
    [
        (report(), True),
        (report(live=["a", "b", "gone"]), True),
        (report(live=["a"]), False),
        (report(owners=["a"]), False),
        (report(joining=["c"]), False),
        (report(leaving=["c"]), False),
        (report(moving=["a"]), False),
        (report(open=False), False),
        (report(generation=2), False),
    ],
)
def test_a_node_sees_the_ring_when_all_are_up_and_none_comes_or_goes(said, whole):
    picture = RingStatus({"a": said})
    assert picture.is_node_ready("a", ["a", "b"], 3) is whole
    assert not picture.is_node_ready("b", ["a", "b"], 3), "it printed nothing"


def test_all_must_know_the_same_tables():
    picture = RingStatus({"a": report(), "b": report(schema="y"), "c": report(schema="z")})
    assert picture.is_node_ready("a", ["a"], 3)
    assert not picture.is_node_ready("a", ["a", "b"], 3)


def test_passwords_of_management_are_drawn_each_time_and_not_shown():
    first, second = RingPasswords.from_client_password("client"), RingPasswords.from_client_password("client")
    assert first.jmx != second.jmx
    assert "client" not in repr(first)
    assert first.jmx not in repr(first)


class Shell:
    """A host that only runs small programs here."""

    name, address, memory, cores, shares_files = "here", "10.0.0.1", 8 * GIB, 2, True

    def __init__(self, **env: str) -> None:
        self.env = {**os.environ, **env}

    async def capture(self, argv, *, seconds=10.0):
        words = {"env": self.env, "capture_output": True, "text": True, "timeout": seconds}
        done = await asyncio.to_thread(subprocess.run, argv, **words)
        return done.stdout if done.returncode == 0 else None


def java(place: Path, version: str) -> Path:
    (place / "bin").mkdir(parents=True)
    (place / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n')
    program = place / "bin" / "java"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def installed(place: Path, jar: str) -> Path:
    (place / "lib").mkdir(parents=True)
    (place / "lib" / jar).touch()
    return place


@pytest.mark.parametrize("jar", ["apache-cassandra-5.0.9.jar", "cassandra-all-5.0.9.jar"])
def test_an_installed_cassandra_and_the_chosen_java_come_first(enterable, monkeypatch, jar):
    program = java(enterable / "a jdk", "17.0.99")
    home = installed(enterable / "cassandra", jar)
    monkeypatch.setattr("steelyard.services.cassandra.home._compile_classes", _no_compiler)
    host = Shell(JAVA_HOME=str(enterable / "a jdk"), CASSANDRA_HOME=str(home), XDG_CACHE_HOME=str(enterable))
    found = asyncio.run(find_home(host, PurePosixPath(enterable)))
    assert found == (str(program), PurePosixPath(home / "lib"), "5.0.9", "compiled")


async def _no_compiler(*_: object) -> str:
    return "compiled"


def test_a_java_that_is_too_new_is_passed_over(enterable, monkeypatch):
    java(enterable / "jdk", "25")
    home = installed(enterable / "cassandra", "cassandra-all-5.0.9.jar")
    monkeypatch.setattr("steelyard.services.cassandra.home._compile_classes", _no_compiler)
    words = {"CASSANDRA_HOME": str(home), "XDG_CACHE_HOME": str(enterable), "PATH": "/bin:/usr/bin"}
    host = Shell(JAVA_HOME=str(enterable / "jdk"), **words)
    try:
        found = asyncio.run(find_home(host, PurePosixPath(enterable)))
    except HostError as error:
        assert "needs Java 17, and here (10.0.0.1) has only 25" in str(error)  # noqa: PT017 - as the machine has it
    else:
        assert "/jdk/bin/java" not in found.java


def test_without_cassandra_it_says_how_to_get_one(enterable, monkeypatch):
    java(enterable / "jdk", "17.0.1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(enterable))
    host = Shell(JAVA_HOME=str(enterable / "jdk"), XDG_CACHE_HOME=str(enterable), CASSANDRA_HOME="")
    with pytest.raises(HostError, match=r"Cassandra is not installed on here \(10\.0\.0\.1\)") as caught:
        asyncio.run(find_home(host, PurePosixPath(enterable)))
    assert "steelyard install cassandra" in caught.value.hint


def test_an_unfinished_or_outdated_install_does_not_count(enterable, monkeypatch):
    java(enterable / "jdk", "17.0.1")
    place = installed(enterable / "steelyard" / "tools" / "cassandra", "cassandra-all-5.0.9.jar")
    (place / "complete").write_text("of other sources")
    monkeypatch.setenv("XDG_CACHE_HOME", str(enterable))
    host = Shell(JAVA_HOME=str(enterable / "jdk"), XDG_CACHE_HOME=str(enterable), CASSANDRA_HOME="")
    with pytest.raises(HostError, match="Cassandra is not installed"):
        asyncio.run(find_home(host, PurePosixPath(enterable)))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's nodes run as somebody else")
def test_what_root_alone_may_read_is_laid_where_a_node_can(tmp_path, enterable, mallory, monkeypatch):
    monkeypatch.setattr("steelyard.services.cassandra.home._compile_classes", _no_compiler)
    program = java(enterable / "jdk", "17.0.1")
    home, scratch = installed(tmp_path / "cassandra", "cassandra-all-5.0.9.jar"), enterable / "scratch"
    (home / "lib" / "other.jar").write_text("other")
    scratch.mkdir(mode=0o711)
    host = Shell(JAVA_HOME=str(enterable / "jdk"), CASSANDRA_HOME=str(home), XDG_CACHE_HOME=str(tmp_path))
    found = asyncio.run(find_home(host, PurePosixPath(scratch)))
    assert found[:3] == (str(program), PurePosixPath(scratch / "lib"), "5.0.9")
    assert mallory.run("cat", f"{found.lib}/other.jar").stdout == "other"
    (enterable / "jdk").chmod(0o700)
    try:
        assert asyncio.run(find_home(host, PurePosixPath(scratch))).java != str(program)
    except HostError as error:
        assert f"has only 17.0.1 {program} for root alone" in str(error)  # noqa: PT017 - as the machine has it


def test_a_jar_that_changed_is_named(tmp_path, monkeypatch):
    project, lib = tmp_path / "project", tmp_path / "lib"
    for place in (project, lib):
        place.mkdir()
    for jar in ("a.jar", "b.jar"):
        (lib / jar).write_text(jar)
    sums = "".join(f"{sha256(jar.encode()).hexdigest()}  {jar}\n" for jar in ("a.jar", "b.jar"))
    (project / "jars.sha256").write_text(sums)
    monkeypatch.setattr("steelyard.tools.maven.project", lambda name: project)
    home = CassandraHome("java", PurePosixPath(lib), "5.0.9", f"{lib}/steelyard-cassandra-1.jar")
    asyncio.run(verify_jars(Shell(), home))
    (lib / "b.jar").write_text("something else")
    with pytest.raises(HostError, match=r"differ from those installed: b\.jar: FAILED"):
        asyncio.run(verify_jars(Shell(), home))
    (lib / "b.jar").unlink()
    with pytest.raises(HostError, match=r"differ from those installed: .*b\.jar"):
        asyncio.run(verify_jars(Shell(), home))


def test_the_version_to_fetch_is_one_and_its_sums_are_known():
    sums = (maven.project(CASSANDRA) / "jars.sha256").read_text()
    (version,) = re.findall(r"  cassandra-all-(5\.\d+\.\d+)\.jar$", sums, re.MULTILINE)
    assert f"<version>{version}</version>" in (maven.project(CASSANDRA) / "pom.xml").read_text()
    assert "  jamm-0.4.0.jar\n" in sums, "what a node is started with"
    assert "  ecj-" in sums, "what compiles our classes where only Cassandra is"


def ring(tmp_path: Path, options: dict[str, object], nodes: int = 2) -> Cassandra:
    hosts = tuple(Shell() for _ in range(nodes))
    context = ServiceContext("ring", hosts, {}, tmp_path, (), "secret")
    return Cassandra(CassandraOptions.model_validate(options), context)


def test_more_copies_than_nodes_are_refused_before_anything_is_made(tmp_path):
    with pytest.raises(HostError, match="service ring: replication 3 needs 3 nodes, not 2"):
        asyncio.run(ring(tmp_path, {"replication": 3}).configure())


def test_more_nodes_than_hosts_and_fewer_than_copies_are_refused(tmp_path):
    service = ring(tmp_path, {}, 2)
    service.members, service.replication = RingMembers(list(service.context.hosts)), 2
    with pytest.raises(HostError, match="service ring cannot have 3 nodes, at most 2"):
        asyncio.run(service.grow(3))
    with pytest.raises(HostError, match="cannot have 1 nodes: its replication is 2"):
        asyncio.run(service.shrink(1))


def test_its_heap_may_be_chosen():
    assert CassandraOptions.model_validate({"heap": "256MiB"}).heap == Size(256 * 2**20)
