"""Somebody else on the same machine tries services that ask for a password, and gets in nowhere."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from accounts import Account
from loading import loaded
from loopback import free_port
from patience import comes
from steelyard.model.password import derive_password
from steelyard.services.redis.roles import BENCHMARK

databases = loaded(Path(__file__).with_name("test_databases.py"))
URL_COPY = shutil.which("globus-url-copy")
_LOG_IN = 'exec 3<>"/dev/tcp/$1/$2"; shift 2; printf "%s\\r\\n" "$@" QUIT >&3; cat <&3'


def test_xrootd_turns_away_who_has_no_key(mallory: Account):
    async def test(made, service, endpoint):
        at = f"{endpoint.address}:{endpoint.port}"
        wrong = mallory.home / "keytab"
        forged = (endpoint.password or "0 u:a g:a n:a N:1 c:0 e:0 f:0 k:12345678")[:-8] + "00000000"
        mallory.owns(wrong, forged + "\n", 0o600)
        tries = ({}, {"XrdSecPROTOCOL": "sss"}, {"XrdSecPROTOCOL": "sss", "XrdSecSSSKT": str(wrong)})
        for env in (*tries, {"XrdSecPROTOCOL": "unix"}, {"XrdSecPROTOCOL": "host"}):
            limits = {"XRD_CONNECTIONRETRY": "1", "XRD_REQUESTTIMEOUT": "10", **env}
            for words in (("xrdfs", at, "ls", "/"), ("xrdcp", "/etc/hostname", f"root://{at}//stolen")):
                done = mallory.run(*words, env=limits)
                assert done.returncode != 0, done.stdout
                assert "Auth failed" in done.stderr
        data = service.data["local"].path
        assert list(Path(data / "files").iterdir()) == []

    databases.with_service("xrootd", {}, test, hosts=1)


@pytest.mark.skipif(not URL_COPY, reason="globus-url-copy is not installed")
def test_gridftp_turns_away_who_has_no_password(mallory: Account):
    async def test(made, service, endpoint):
        at, path = (endpoint.address, str(endpoint.port)), endpoint.facts["path"]
        for user, password in (("anonymous", "a@b"), ("steelyard", "wrong"), ("root", ""), ("steelyard", "")):
            words = (f"USER {user}", f"PASS {password}", "PASV", f"MLST {path}")
            said = mallory.run("bash", "-c", _LOG_IN, "bash", *at, *words).stdout
            assert "530 Login incorrect" in said
            assert "\n250" not in said
            assert "\n227" not in said
        for who in ("", "steelyard:wrong@"):
            url = f"ftp://{who}{':'.join(at)}{path}/stolen"
            assert mallory.run(URL_COPY, "file:///etc/hostname", url).returncode != 0
        assert list(Path(path).iterdir()) == []

    databases.with_service("gridftp", {}, test, hosts=1)


def test_redis_shows_a_password_that_is_good_for_the_benchmark_and_nothing_else(mallory: Account):
    async def test(made, service, endpoint):
        await databases.redis(made, endpoint, "set", "mine", "1", password=endpoint.password)
        visible = {"REDISCLI_AUTH": derive_password(BENCHMARK, endpoint.password)}
        client = ("redis-cli", "--no-auth-warning", "-h", endpoint.address, "-p", str(endpoint.port))

        def ask(*words: str, env: dict[str, str] = visible) -> str:
            role = ("--user", BENCHMARK) if env else ()
            return str(mallory.run(*client, *role, *words, env=env).stdout)

        assert "NOAUTH" in ask("ping", env={})
        assert ask("ping") == "PONG\n"
        assert ask("set", "key:000000000001", "x") == "OK\n"
        for words in (
            ("config", "get", "*"),
            ("config", "set", "dir", "/tmp"),
            ("flushall",),
            ("keys", "*"),
            ("get", "mine"),
            ("set", "mine", "2"),
            ("acl", "list"),
            ("eval", "return 1", "0"),
            ("replicaof", "127.0.0.1", "1"),
            ("shutdown",),
            ("scan", "0"),
            ("client", "list"),
            ("monitor",),
        ):
            assert ask(*words).startswith("NOPERM"), words
        assert await databases.redis(made, endpoint, "get", "mine", password=endpoint.password) == "1"
        assert endpoint.password not in visible["REDISCLI_AUTH"]

    databases.with_service("redis", {}, test, hosts=1)


def test_nobody_elses_server_joins_a_cluster_of_redis(mallory: Account):
    async def test(made, service, endpoint):
        port, bus = free_port(), free_port()
        own = ("--port", str(port), "--cluster-enabled", "yes", "--cluster-port", str(bus), "--save", "")
        server = mallory.start("redis-server", *own, "--bind", "127.0.0.1", "--cluster-node-timeout", "500")

        def ask(*words: str) -> str:
            return str(mallory.run("redis-cli", "-p", str(port), *words).stdout)

        def handshakes() -> bool:
            return "handshake" in ask("cluster", "nodes")

        try:
            assert await comes(lambda: ask("ping") == "PONG\n")
            assert (
                ask("cluster", "meet", endpoint.address, str(service.ports.clients), str(service.ports.bus))
                == "OK\n"
            )
            assert await comes(lambda: not handshakes())  # Redis gives up after a second, or knows all nodes
            assert len(ask("cluster", "nodes").splitlines()) == 1
            said = await databases.redis(made, endpoint, "cluster", "info", password=endpoint.password)
            assert "cluster_known_nodes:3" in said.split()
        finally:
            server.kill()
            server.wait()

    databases.with_service("redis", {"cluster": True}, test, hosts=3)


@pytest.mark.skipif(os.geteuid() != 0, reason="a second account needs root")
@pytest.mark.parametrize("name", ["redis", "postgresql", "xrootd", "gridftp"])
def test_nothing_of_a_service_can_be_read_by_somebody_else(mallory: Account, name: str):
    async def test(made: Any, service: Any, endpoint: Any) -> None:
        paths = [path for path in made.place.rglob("*") if path.is_file() and path.name != "minder.log"]
        ask = 'while read -r path; do [ -r "$path" ] && echo "$path"; done; true'
        held = "\n".join(str(path) for path in paths if (made.place / "local") in path.parents)
        assert mallory.run("sh", "-c", ask, input=held).stdout == ""

    databases.with_service(name, {"fsync": False} if name == "postgresql" else {}, test, hosts=1)
