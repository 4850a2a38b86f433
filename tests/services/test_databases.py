"""Redis, memcached and PostgreSQL for real: what they are to each other, and whom they let in."""

from __future__ import annotations

import asyncio
import os
import shlex
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loading import loaded
from patience import PATIENCE, until
from steelyard.errors import HostError
from steelyard.plugins import find
from steelyard.services.base import Service
from steelyard.services.kit.capabilities import Metered
from steelyard.services.kit.context import HostShare
from steelyard.services.postgresql.files import PSQL, format_conf, psql_words

# The bench of the contract's tests: hosts of this machine, and what a service is given on them.
contract = loaded(Path(__file__).parents[1] / "contract" / "test_services.py")


async def redis(made: Any, server: Any, *words: str, password: str | None = None) -> str:
    """What redis-cli prints; its password comes from a file, so that no list of processes shows it."""
    place = made.place / "client-password"
    place.write_text(password or "")
    line = f"REDISCLI_AUTH=$(cat {place}) redis-cli --no-auth-warning -c -h {server.address} -p {server.port}"
    return str(await made.hosts[0].capture(("sh", "-c", f"{line} {shlex.join(words)} 2>&1"))).strip()


async def sql(made: Any, server: Any, question: str, *, password: str) -> str:
    """What psql prints, its complaints too."""
    place = made.place / "client-pgpass"
    place.write_text(f"*:*:*:*:{password}\n")
    place.chmod(0o600)
    words = PSQL.argv(*psql_words(server.address, server.port), "--command", question)
    line = f"PGPASSFILE={place} {shlex.join(words)} 2>&1 || true"
    return str(await made.hosts[0].capture(("sh", "-c", line), seconds=PATIENCE)).strip()


def with_service(name: str, options: Mapping[str, Any], test: Any, hosts: int = 2) -> None:
    """Deploy it and run the test beside it."""
    contract.needed(name)

    async def run(made: Any) -> None:
        service = made.service(name, options)
        async with service.deploy() as endpoint:
            await test(made, service, endpoint)
        assert await made.is_empty()

    contract.with_bench(run, hosts=hosts)


def refused(name: str, options: Mapping[str, Any]) -> str:
    """What is said of options that cannot be."""
    with pytest.raises(ValidationError) as raised:
        find("services", name, Service).Options.model_validate(options)
    return str(raised.value)


# Redis ------------------------------------------------------------------------------------------------------


def test_redis_lets_in_nobody_without_its_password():
    async def test(made, service, endpoint):
        for server in service.servers:
            assert "NOAUTH" in await redis(made, server, "ping")
            assert "WRONGPASS" in await redis(made, server, "ping", password="wrong")
            assert await redis(made, server, "ping", password=endpoint.password) == "PONG"

    with_service("redis", {}, test)


def test_independent_servers_share_nothing_and_replicas_everything():
    async def alone(made, service, endpoint):
        first, second = service.servers
        await redis(made, first, "set", "k", "v", password=endpoint.password)
        assert await redis(made, second, "get", "k", password=endpoint.password) == ""
        assert endpoint.facts["arrangement"] == "independent"

    async def replicated(made, service, endpoint):
        first, second = sorted(service.servers, key=lambda server: server.address)
        assert endpoint.address == first.address
        await redis(made, first, "set", "k", "v", password=endpoint.password)
        assert await redis(made, first, "wait", "1", "5000", password=endpoint.password) == "1"
        assert await redis(made, second, "get", "k", password=endpoint.password) == "v"
        assert "READONLY" in await redis(made, second, "set", "k", "w", password=endpoint.password)

    with_service("redis", {}, alone)
    with_service("redis", {"replicas": True}, replicated)


def test_a_cluster_is_ready_when_every_node_sees_every_node_and_again_after_a_crash():
    async def test(made, service, endpoint):
        assert endpoint.facts["arrangement"] == "cluster"
        for server in service.servers:
            said = (await redis(made, server, "cluster", "info", password=endpoint.password)).split()
            assert {"cluster_state:ok", "cluster_known_nodes:3", "cluster_size:3"} <= set(said)
        for key in range(20):
            await redis(made, service.servers[0], "set", f"k{key}", str(key), password=endpoint.password)
        sizes = [await redis(made, s, "dbsize", password=endpoint.password) for s in service.servers]
        assert sum(map(int, sizes)) == 20
        assert "0" not in sizes, "each stores a share of the keys"
        await service.kill("local-2")
        await service.restart("local-2")
        assert all([await service.is_answering(server) for server in service.servers])
        assert await redis(made, service.servers[0], "get", "k7", password=endpoint.password) == "7"

    with_service("redis", {"cluster": True, "appendonly": True, "appendfsync": "always"}, test, hosts=3)


def test_a_cluster_of_two_is_refused_before_anything_starts():
    contract.needed("redis")

    async def test(made):
        service = made.service("redis", {"cluster": True})
        with pytest.raises(HostError, match="a Redis Cluster needs 3 hosts, not 2"):
            async with service.deploy():
                pytest.fail("there is no such cluster")
        assert service.servers == []

    contract.with_bench(test, hosts=2)


def test_redis_looks_closely_at_dumps_which_may_be_a_stranger_s():
    async def test(made, service, endpoint):
        question = ("config", "get", "sanitize-dump-payload")
        said = await redis(made, service.servers[0], *question, password=endpoint.password)
        assert said.split() == ["sanitize-dump-payload", "yes"]

    with_service("redis", {}, test)


def test_what_redis_was_asked_to_keep_it_keeps():
    async def test(made, service, endpoint):
        (server,) = service.servers
        wanted = {
            "maxmemory": str(64 * 2**20),
            "maxmemory-policy": "allkeys-lru",
            "save": "60 1000",
            "appendonly": "yes",
            "appendfsync": "always",
            "protected-mode": "yes",
            "bind": "127.0.0.1",
        }
        for name, value in wanted.items():
            said = await redis(made, server, "config", "get", name, password=endpoint.password)
            assert said.split("\n") == [name, value]
        await redis(made, server, "set", "k", "v", password=endpoint.password)
        await service.kill("local")
        await service.restart("local")
        assert await redis(made, service.servers[0], "get", "k", password=endpoint.password) == "v"

    options = {
        "maxmemory": "64MiB",
        "maxmemory_policy": "allkeys-lru",
        "save": "60 1000",
        "appendonly": True,
        "appendfsync": "always",
    }
    with_service("redis", options, test, hosts=1)


def test_its_memory_is_fitted_to_its_share_of_the_host():
    contract.needed("redis")

    async def test(made):
        share = {"local": HostShare(1, 256 * 2**20)}
        async with made.service("redis", {}, shares=share).deploy() as endpoint:
            said = await redis(made, endpoint, "config", "get", "maxmemory", password=endpoint.password)
            assert said.split("\n")[1] == str(128 * 2**20)

    contract.with_bench(test, hosts=1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cluster": True, "replicas": True}, "give only one"),
        ({"save": "often"}, "match pattern"),
        ({"save": '60 1000"\nrequirepass x'}, "match pattern"),
        ({"appendfsync": "sometimes"}, "'always', 'everysec' or 'no'"),
    ],
)
def test_what_redis_cannot_be_is_refused(options, said):
    assert said in refused("redis", options)


@pytest.mark.parametrize("name", ["redis", "memcached"])
def test_it_tells_figures_of_itself_also_while_a_server_is_away(name):
    async def test(made, service, endpoint):
        assert isinstance(service, Metered)
        figures = await service.read_meters()
        assert figures["live_servers"] == 2
        assert figures["connections"] >= 2
        assert {"used_bytes", "hits", "misses", "evictions"} <= set(figures)
        await service.kill("local-1")
        assert (await service.read_meters())["live_servers"] == 1

    with_service(name, {}, test)


# memcached --------------------------------------------------------------------------------------------------


def test_memcached_has_what_was_asked_for_and_says_so_in_the_record():
    async def test(made, service, endpoint):
        assert endpoint.password is None
        said = (made.place / "logs" / "local-settings.log").read_text()
        settings = dict(line.split()[1:3] for line in said.splitlines() if len(line.split()) == 3)
        wanted = {"maxbytes": str(16 * 2**20), "num_threads": "1", "maxconns": "100", "udpport": "0"}
        assert {name: settings[name] for name in wanted} == wanted
        assert (settings["item_size_max"], settings["inter"]) == (str(2 * 2**20), "127.0.0.1")

    options = {"memory": "16MiB", "threads": 1, "connections": 100, "largest_item": "2MiB"}
    with_service("memcached", options, test, hosts=1)


@pytest.mark.parametrize("options", [{"memory": "10B"}, {"largest_item": "3TiB"}, {"threads": 0}])
def test_what_memcached_cannot_be_is_refused(options):
    assert "1 validation error" in refused("memcached", options)


# PostgreSQL -------------------------------------------------------------------------------------------------


def test_postgresql_lets_in_nobody_without_its_password_and_replicas_follow():
    async def test(made, service, endpoint):
        first, second = service.servers
        refusal = await sql(made, first, "select 1", password="wrong")
        assert "password authentication failed" in refusal
        asked = {"password": endpoint.password}
        assert await sql(made, first, "show wal_keep_size", **asked) == "512MB", "or copies race each other"
        assert await sql(made, first, "create table t as select 7 as n", **asked) == "SELECT 1"
        for _ in range(6000):
            if await sql(made, second, "select n from t", **asked) == "7":
                break
            await asyncio.sleep(0.05)
        assert await sql(made, second, "select n from t", **asked) == "7"
        assert "read-only transaction" in await sql(made, second, "create table u ()", **asked)
        private(made, service)

    with_service("postgresql", {"fsync": False}, test)


def private(made: Any, service: Service[Any]) -> None:
    """Files that hold the password are for us and their server, and no process shows it in its words."""
    password = service.context.password.encode()
    holders = [
        path
        for host in made.hosts
        for path in (made.place / host.name).iterdir()
        if path.is_file() and password in path.read_bytes()
    ]
    assert holders
    assert {path.stat().st_uid for path in holders} == {os.geteuid()}
    assert {stat.S_IMODE(path.stat().st_mode) for path in holders} == {0o600 if os.geteuid() else 0o640}
    for pid in made.running():
        assert password not in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_redis_keeps_its_password_to_itself():
    async def test(made, service, endpoint):
        private(made, service)

    with_service("redis", {"replicas": True}, test)


def test_what_postgresql_was_asked_for_it_has():
    async def test(made, service, endpoint):
        wanted = {
            "shared_buffers": "16MB",
            "max_connections": "20",
            "synchronous_commit": "off",
            "fsync": "off",
            "max_wal_size": "64MB",
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "password_encryption": "scram-sha-256",
            "work_mem": "1MB",
            "jit": "off",
        }
        for name, value in wanted.items():
            assert await sql(made, endpoint, f"show {name}", password=endpoint.password) == value

    settings = {"max_wal_size": "64MB", "work_mem": 1024, "jit": False}
    options = {"shared_buffers": "16MiB", "max_connections": 20, "synchronous_commit": "off", "fsync": False}
    with_service("postgresql", {**options, "settings": settings}, test, hosts=1)


def shared_memory() -> set[str]:
    """What is there of System V's and, by PostgreSQL, of POSIX's."""
    segments = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return {" ".join(line.split()[:2]) for line in segments} | {
        *map(str, Path("/dev/shm").glob("PostgreSQL.*"))
    }


def test_a_postgresql_that_is_killed_leaves_no_shared_memory():
    before = shared_memory()

    async def test(made, service, endpoint):
        if not all(service.ipc_wrappers.values()):
            pytest.skip("unshare --ipc is not permitted here")
        await service.kill(service.servers[0].host.name)

    with_service("postgresql", {"fsync": False}, test, hosts=1)
    assert until(lambda: shared_memory() <= before)  # an initdb of another test has some for a moment


@pytest.mark.full
def test_a_replica_that_is_killed_comes_back_and_streams_again():
    async def test(made, service, endpoint):
        await service.kill("local-1")
        await service.restart("local-1")
        said = await sql(made, endpoint, "select state from pg_stat_replication", password=endpoint.password)
        assert said == "streaming"

    with_service("postgresql", {"fsync": False}, test)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"port": 5432}, "use the option 'port'"),
        ({"listen_addresses": "*"}, "it listens on the address of its host"),
        ({"hba_file": "/etc/mine"}, "allowed clients follow from"),
        ({"work mem": 1}, "is not a valid postgresql.conf setting"),
        ({"work_mem": "1\nport = 1"}, "is not a valid postgresql.conf setting"),
    ],
)
def test_settings_that_are_not_the_users_are_refused(settings, said):
    assert said in refused("postgresql", {"settings": settings})


def test_a_value_cannot_leave_its_line():
    assert format_conf({"a": "it's", "b": True, "c": 3, "d": ""}) == "a = 'it''s'\nb = on\nc = 3\nd = ''\n"
