"""A stranger on the machine of a ring of Cassandra: another account, which can reach all of its ports."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from loading import loaded
from patience import PATIENCE
from steelyard.services.cassandra import Cassandra
from steelyard.services.kit.certificates import Authority

HERE = Path(__file__).parents[1]
STRANGER = (HERE / "stranger.py").read_text()

cassandra = loaded(Path(__file__).with_name("test_cassandra.py"))


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_stranger_learns_nothing_from_any_port(mallory: Any, encrypted: bool) -> None:
    async def test(made: Any, service: Cassandra) -> None:
        its = service.plan.ports
        ports = map(str, (its.storage, its.jmx, its.native))
        words = (*mallory.python, "-c", STRANGER, "127.0.0.1", *ports)
        done = await asyncio.to_thread(mallory.run, *words)
        heard = json.loads(done.stdout or pytest.fail(done.stderr))
        cql, plain = heard.pop("cql"), {heard.pop("storage plain"), heard.pop("jmx plain")}
        assert not cql if encrypted else cql.startswith("8400000103"), "it asks for a password"
        assert plain <= {"", "1503030002020a"}, "an alert of TLS, unexpected message, or nothing"
        assert len(heard) == 4
        assert {name: said for name, said in heard.items() if not said.startswith("refused")} == {}
        with cassandra.client(service) as found:
            assert found.run("SELECT role FROM system_auth.roles") == 1, "nobody knows a password of it"

    cassandra.with_ring(1, test, tls=encrypted)


@pytest.mark.full
@pytest.mark.parametrize("way", ["plain", "forged"])
def test_no_node_of_a_stranger_joins(mallory: Any, way: str) -> None:
    """Also of one who knows where the ring is and what it is called, and has the same program."""

    async def test(made: Any, service: Cassandra) -> None:
        place = mallory.home / way
        node(service, place, way)
        for path in (place, *place.rglob("*")):
            os.chown(path, mallory.uid, mallory.gid)
        java = (service.plan.homes["local"].java, f"@{place}/conf/java.arguments")
        words = ("timeout", str(PATIENCE), *java)  # a node that joined would run on
        done = await asyncio.to_thread(mallory.run, *words, cwd=place)
        assert "Unable to gossip with any peers" in done.stdout + done.stderr
        assert done.returncode not in (0, None)
        assert (await service.read_meters())["live_nodes"] == 1
        with cassandra.client(service) as found:
            assert found.run("SELECT peer FROM system.peers_v2") == 0
        shutil.rmtree(place)

    cassandra.with_ring(1, test)


def node(service: Cassandra, place: Path, way: str) -> None:
    """A copy of the ring's first one, with all that is no secret of the ring."""
    home, its = service.plan.homes["local"], Path(service.scratch(service.members.ring[0]))
    shutil.copytree(home.lib, place / "lib")
    shutil.copytree(its / "conf", place / "conf", ignore=shutil.ignore_patterns("*.pem", "jmx.password"))
    (place / "data").mkdir()
    text = (place / "conf/java.arguments").read_text().replace(str(home.lib), str(place / "lib"))
    flags = text.replace(str(its), str(place)).split('"steelyard.cassandra.Node"')[0]
    (place / "conf/java.arguments").write_text(f"{flags}org.apache.cassandra.service.CassandraDaemon\n")
    path = place / "conf/cassandra.yaml"
    conf = json.loads(path.read_text().replace(str(its), str(place)))
    conf |= {"listen_address": "127.0.0.77", "rpc_address": "127.0.0.77", "initial_token": "77"}
    seeds = conf["seed_provider"][0]["parameters"]
    conf["seed_provider"] = [
        {"class_name": "org.apache.cassandra.locator.SimpleSeedProvider", "parameters": seeds}
    ]
    conf["auto_bootstrap"] = True
    if way == "plain":
        conf["server_encryption_options"] = {"internode_encryption": "none"}
    path.write_text(json.dumps(conf))
    forged = Authority()
    (place / "conf/identity.pem").write_text(forged.issue_identity("127.0.0.77").pem)
    believed = forged.certificate + (its / "conf/authority.pem").read_text()  # or it would refuse the ring
    (place / "conf/authority.pem").write_text(believed)
