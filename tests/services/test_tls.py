"""Redis and PostgreSQL whose clients come by TLS: nobody else is heard, and clients believe nobody else."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

import steelyard
from loading import loaded
from steelyard.services.kit.certificates import Authority
from steelyard.services.postgresql.files import PSQL, psql_words
from steelyard.spec.bind import service_class, workload_class
from steelyard.tools.find import find_missing

databases = loaded(Path(__file__).with_name("test_databases.py"))
stranger = loaded(Path(__file__).with_name("stranger.py"))
FAST = {"fsync": False}


def authority(made: Any, name: str, text: str) -> Path:
    path = Path(made.place / name)
    path.write_text(text)
    return path


@pytest.mark.parametrize("options", [{}, {"replicas": True}, {"cluster": True}], ids=str)
def test_redis_hears_nobody_in_the_clear_and_still_asks_for_the_password(options):
    async def test(made: Any, service: Any, endpoint: Any) -> None:
        its = authority(made, "its.pem", endpoint.authority)
        others = authority(made, "others.pem", Authority().certificate)

        async def ask(server: Any, *words: str, password: str = "") -> str:
            argv = ("redis-cli", "--no-auth-warning", "-h", server.address, "-p", str(server.port), *words)
            env = {"REDISCLI_AUTH": password, "PATH": "/usr/local/bin:/usr/bin:/bin"}
            done = await asyncio.to_thread(subprocess.run, argv, env=env, capture_output=True, text=True)
            return done.stdout + done.stderr

        for server in service.servers:
            tls = ("--tls", "--cacert", str(its))
            assert await ask(server, *tls, "ping", password=endpoint.password) == "PONG\n"
            assert "NOAUTH" in await ask(server, *tls, "ping")
            assert "PONG" not in await ask(server, "ping", password=endpoint.password)
            said = await ask(server, "--tls", "--cacert", str(others), "ping", password=endpoint.password)
            assert "certificate verify failed" in said

    databases.with_service("redis", {"tls": True, **options}, test, hosts=3)


@pytest.mark.parametrize("tls", [True, False])
def test_the_bus_of_a_cluster_asks_for_a_certificate_of_its_own(tls):
    async def test(made: Any, service: Any, endpoint: Any) -> None:
        at = (endpoint.address, service.ports.bus)
        shown = await asyncio.to_thread(ssl.get_server_certificate, at)  # a port in the clear shows none
        assert shown.startswith("-----BEGIN CERTIFICATE-----")
        for forged in (None, Authority().issue_identity("127.0.0.77").pem):
            heard = await asyncio.to_thread(stranger.heard_encrypted, *at, b"RCmb", forged)
            assert heard.startswith("refused")

    databases.with_service("redis", {"cluster": True, "tls": tls}, test, hosts=3)


def test_postgresql_takes_no_other_connection_and_replicas_come_the_same_way():
    async def test(made: Any, service: Any, endpoint: Any) -> None:
        its = authority(made, "its.pem", endpoint.authority)
        others = authority(made, "others.pem", Authority().certificate)

        async def ask(question: str, root: Path, mode: str = "verify-full", server: Any = endpoint) -> str:
            argv = PSQL.argv(*psql_words(server.address, server.port), "--command", question)
            env = {"PGPASSWORD": endpoint.password, "PGSSLMODE": mode, "PGSSLROOTCERT": str(root)}
            env["PATH"] = "/usr/local/bin:/usr/bin:/bin"
            done = await asyncio.to_thread(subprocess.run, argv, env=env, capture_output=True, text=True)
            return (done.stdout + done.stderr).strip()

        mine = "select ssl from pg_stat_ssl where pid = pg_backend_pid()"
        for server in service.servers:
            assert await ask(mine, its, server=server) == "t"
        theirs = "select bool_and(ssl) from pg_stat_ssl join pg_stat_replication using (pid)"
        assert await ask(theirs, its) == "t"
        assert "no encryption" in await ask("select 1", its, "disable")
        assert "certificate verify failed" in await ask("select 1", others)

    databases.with_service("postgresql", {**FAST, "tls": True}, test)


PGBENCH = {"use": "pgbench", "duration": "5s", "mode": "select-only", "spread": True}
YCSB = {"use": "ycsb", "do": "both", "records": 500, "operations": 500, "threads": 2}


@pytest.mark.parametrize(
    ("service", "workload"),
    [
        ({"use": "redis"}, {"use": "redis_benchmark", "requests": 2000, "threads": 2}),
        ({"use": "redis", "cluster": True}, {"use": "redis_benchmark", "requests": 2000}),
        ({"use": "redis", "cluster": True}, YCSB),
        ({"use": "redis", "replicas": True}, YCSB),
        ({"use": "postgresql", **FAST}, PGBENCH),
        ({"use": "postgresql", **FAST}, YCSB),
    ],
    ids=["redis", "cluster", "cluster-ycsb", "replicas-ycsb", "pgbench", "postgresql-ycsb"],
)
def test_clients_of_the_catalogue_speak_it(service, workload, enterable_scratch, tmp_path):
    for tool in find_missing([*service_class(service["use"]).needs, *workload_class(workload["use"]).needs]):
        pytest.skip(f"{tool.name} is not installed")
    experiment = steelyard.Experiment(
        experiment="tls",
        roles={"db": 3, "client": 1},
        services={"store": {**service, "tls": True, "on": "db"}},
        workload={**workload, "on": "client", "to": "store"},
        repeat=1,
        disturbed="exclude",
    )
    run = steelyard.run(experiment, site="local:4", store=tmp_path)
    (row,) = run.rows()
    assert row["status"] == "ok", str(run.record.trial_document(1))
    assert b"PRIVATE KEY" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
