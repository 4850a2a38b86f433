"""etcd for real: whom it lets in, what it keeps, and what is left when a member is gone."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pydantic import ValidationError

from loading import loaded
from patience import PATIENCE
from steelyard.errors import HostError
from steelyard.services.etcd import Etcd, sum_statuses
from steelyard.services.etcd.member import ADD, MAKE_SEED, REMOVE, EtcdMember, cluster_words, server_words
from steelyard.services.etcd.options import EtcdOptions
from steelyard.services.kit.capabilities import Growable, Metered, Shrinkable
from steelyard.testing.contract.services import check_listeners

contract = loaded(Path(__file__).parents[2] / "contract" / "test_services.py")
ANONYMOUS = "no user"
GREETING = "printf 'GET /version HTTP/1.0\\r\\n\\r\\n'"


async def etcdctl(made: Any, service: Etcd, at: int, *words: str, user: str | None = None) -> str:
    """What etcdctl prints, its complaints too; by default as the user of the service."""
    host = (*service.context.hosts, *service.context.spare)[at]
    user = f"root:{service.context.password}" if user is None else user
    login = made.place / "client-login"
    login.write_text("" if user == ANONYMOUS else user)
    where = f"--cacert {service.scratch(host)}/conf/authority.pem"
    asked = f"{where} --endpoints {service.members[host.name].client_url} {shlex.join(words)}"
    line = f"ETCDCTL_API=3 ETCDCTL_USER=$(cat {login}) etcdctl {asked} 2>&1"
    return str(await made.hosts[0].capture(("sh", "-c", f"{line} || true"), seconds=PATIENCE)).strip()


async def comes_to_be(question: Callable[[], Awaitable[bool]]) -> None:
    """Members that lost their leader answer when they have another."""
    async with asyncio.timeout(PATIENCE):
        while not await question():
            pass  # each takes its time


async def put(made: Any, service: Etcd, at: int, value: str) -> None:
    """Write a key that all tests use."""

    async def is_written() -> bool:
        return await etcdctl(made, service, at, "put", "a", value) == "OK"

    await comes_to_be(is_written)


async def value_at(made: Any, service: Etcd, host: Any) -> str:
    """That key, as the member on a host has it."""
    place = (*service.context.hosts, *service.context.spare).index(host)
    return await etcdctl(made, service, place, "get", "a", "--print-value-only")


def with_etcd(test: Any, hosts: int, **options: Any) -> None:
    contract.needed("etcd")

    async def run(made: Any) -> None:
        service = made.service("etcd", options)
        async with service.deploy():
            await test(made, service)
        assert await made.is_empty()

    contract.with_bench(run, hosts=hosts)


def test_nobody_comes_in_without_the_password():
    async def test(made: Any, service: Etcd) -> None:
        assert await etcdctl(made, service, 0, "put", "a", "1") == "OK"
        assert await etcdctl(made, service, 1, "get", "a", "--print-value-only") == "1", "one cluster"
        for user, says in ((ANONYMOUS, "user name is empty"), ("root:wrong", "authentication failed")):
            for words in (("get", "a"), ("put", "a", "2"), ("user", "add", "me:me"), ("auth", "disable")):
                assert says in await etcdctl(made, service, 0, *words, user=user)
        assert await etcdctl(made, service, 0, "get", "a", "--print-value-only") == "1"

    with_etcd(test, hosts=2)


def test_only_members_come_to_the_port_of_members_and_only_by_tls_to_any():
    async def test(made: Any, service: Etcd) -> None:
        member = service.members[service.context.hosts[0].name]
        authority = f"{service.scratch(service.context.hosts[0])}/conf/authority.pem"
        for port, answers in ((member.ports[0], True), (member.ports[1], False)):
            words = ("openssl", "s_client", "-verify_return_error", "-CAfile", authority, "-quiet")
            line = f"{GREETING} | {shlex.join(words)} -connect {member.address}:{port}"
            said = await made.hosts[0].capture(("sh", "-c", f"{line} 2>&1 || true"), seconds=PATIENCE)
            assert ("etcdserver" in said) == answers, said
            plain = f"exec 3<>/dev/tcp/{member.address}/{port}; {GREETING} >&3; cat <&3"
            said = await made.hosts[0].capture(("bash", "-c", plain), seconds=PATIENCE)
            assert "etcdserver" not in (said or "")

    with_etcd(test, hosts=1)


def test_a_cluster_works_on_without_a_member_which_then_catches_up():
    async def test(made: Any, service: Etcd) -> None:
        assert isinstance(service, Metered)
        names = [host.name for host in service.context.hosts]
        await etcdctl(made, service, 0, "put", "a", "before")
        await service.kill(names[2])
        assert not await service.is_settled()
        await put(made, service, 0, "meanwhile")
        meters = await service.read_meters()
        assert meters["live_servers"] == 2
        assert meters["used_bytes"] >= meters["live_bytes"] > 0
        await service.restart(names[2])
        await comes_to_be(service.is_settled)
        assert await etcdctl(made, service, 2, "get", "a", "--print-value-only") == "meanwhile"
        later = await service.read_meters()
        assert later["live_servers"] == 3
        assert later["log_index"] > meters["log_index"] > 0
        await service.pause(names[0])
        await put(made, service, 1, "paused")
        await service.resume(names[0])
        await comes_to_be(service.is_settled)
        assert await etcdctl(made, service, 0, "get", "a", "--print-value-only") == "paused"
        logs = "".join(path.read_text() for path in (made.place / "logs").glob("*-etcd*.err"))
        assert "x509" not in logs, "each takes the others for members"

    with_etcd(test, hosts=3)


def test_it_grows_and_shrinks_while_it_is_in_use():
    async def test(made: Any) -> None:
        first, *others = made.hosts
        service = made.service("etcd", {}, hosts=(first,), spare=tuple(others))
        assert isinstance(service, Growable)
        assert isinstance(service, Shrinkable)
        async with service.deploy():
            await put(made, service, 0, "alone")
            await service.grow(3)
            servers = service.endpoint().facts["servers"].split(",")
            assert len(servers) == len(set(servers)) == len(service.servers) == 3
            assert await service.is_settled()
            for at in range(3):
                assert await value_at(made, service, made.hosts[at]) == "alone"
            check_listeners(made, service)
            await service.kill(first.name)
            await comes_to_be(lambda: service.is_answering(service.servers[1]))
            await service.restart(first.name)
            watch = asyncio.create_task(service.wait_for_death())
            await service.shrink(1)
            assert len(service.servers) == 1
            assert await service.is_settled()
            assert await value_at(made, service, first) == "alone"
            await service.grow(2)  # on a host that it had left
            assert await value_at(made, service, others[0]) == "alone"
            assert not watch.done(), "those that left were asked to"
            watch.cancel()
            with pytest.raises(HostError, match="cannot have 4 members, at most 3"):
                await service.grow(4)
            with pytest.raises(HostError, match="one holds the data"):
                await service.shrink(0)
        assert await made.is_empty()

    contract.needed("etcd")
    contract.with_bench(test, hosts=3)


def test_a_member_that_cannot_join_leaves_nothing(monkeypatch):
    async def test(made: Any) -> None:
        first, second = made.hosts
        service = made.service("etcd", {}, hosts=(first,), spare=(second,))
        async with service.deploy():
            answers = service.is_answering

            async def is_answering(server: Any) -> bool:
                if server.host is second:
                    raise HostError("the network is down")
                return await answers(server)

            with monkeypatch.context() as patch:
                patch.setattr(service, "is_answering", is_answering)
                with pytest.raises(HostError, match="the network is down"):
                    await service.grow(2)
            assert [server.host for server in service.servers] == [first]
            await comes_to_be(service.is_settled)
            assert not (made.place / second.name / "data").exists()
            await service.grow(2)
            assert await service.is_settled()
        assert await made.is_empty()

    contract.needed("etcd")
    contract.with_bench(test, hosts=2)


def test_without_most_of_its_members_it_is_not_ready():
    async def test(made: Any, service: Etcd) -> None:
        first, second = service.servers
        await service.kill(second.host.name)
        assert not await service.is_answering(first), "two that need each other"
        assert service.describe_wait(first) == "a leader that most of its 2 members follow"

    with_etcd(test, hosts=2)


def test_a_seed_that_cannot_be_made_is_explained(monkeypatch):
    contract.needed("etcd")

    async def run(made: Any) -> None:
        (made.place / "programs").mkdir()
        (made.place / "programs" / "etcd").write_text("#!/bin/sh\necho the clock is broken >&2; exit 3\n")
        (made.place / "programs" / "etcd").chmod(0o755)
        (made.place / "programs").chmod(0o755)
        script = f"PATH={made.place}/programs:$PATH\n"
        monkeypatch.setattr("steelyard.services.etcd.cluster.MAKE_SEED", script + MAKE_SEED)
        service = made.service("etcd", {})
        with pytest.raises(HostError, match=r"service store: .*the clock is broken"):
            await service.configure()
        assert await made.is_empty()

    contract.with_bench(run, hosts=1)


MEMBERS = "1a, started, member-0, https://a:2, https://a:1, false\n2b, unstarted, , https://b:2, , false"
CLIENT = """client() {
    echo "$*" >> asked
    [ "$(grep -c "^$*" asked)" -gt 1 ] || { echo "Error: etcdserver: $REFUSAL" >&2; return 1; }
    [ "$2" != list ] || printf '%s\\n' "$MEMBERS"
}
"""


def reconfigure(script: str, tmp_path: Path, within: int = 60, **env: str) -> tuple[int, str, list[str]]:
    """What comes of a change of which each step is refused once; what the client was asked."""
    asked = {"NAME": "member-1", "PEER": "https://b:2", "WITHIN": str(within), "MEMBERS": MEMBERS, **env}
    words = ["sh", "-eu", "-c", CLIENT + script]
    done = subprocess.run(
        words, cwd=tmp_path, env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr, (tmp_path / "asked").read_text().splitlines()


def test_a_change_is_tried_until_members_agree(tmp_path):
    """Without a leader they do not even tell who they are."""
    code, said, asked = reconfigure(REMOVE, tmp_path, REFUSAL="leader changed")
    assert (code, said) == (0, "")
    assert asked == ["member list", "member list", "member remove 2b", "member remove 2b"]


def test_a_change_that_was_made_unnoticed_is_not_made_twice(tmp_path):
    code, _, asked = reconfigure(ADD, tmp_path, REFUSAL="Peer URLs already exists")
    assert (code, asked) == (0, ["member add member-1 --peer-urls https://b:2"])


def test_members_that_never_agree_are_quoted(tmp_path):
    code, said, _ = reconfigure(ADD, tmp_path, within=-1, REFUSAL="unhealthy cluster")
    assert (code, said) == (1, "Error: etcdserver: unhealthy cluster\n")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"heartbeat": "1ms"}, "less than 10 ms"),
        ({"heartbeat": "500ms"}, "from 5 heartbeats to 50 s"),
        ({"election_timeout": "51s"}, "out of range"),
        ({"quota": "1KiB"}, "less than 1 MiB"),
        ({"keep_revisions": 0}, "keep_revisions"),
        ({"port": 65001}, "port"),
    ],
)
def test_what_etcd_cannot_be_is_refused(options, says):
    with pytest.raises(ValidationError, match=says):
        EtcdOptions.model_validate(options)


def test_a_member_is_told_who_the_others_are_and_hides_from_everybody_else():
    members = [EtcdMember(f"member-{at}", f"10.0.0.{at}", (2379, 2380)) for at in range(2)]
    words = cluster_words(members[1], members, "t1")
    listed = words[words.index("--initial-cluster") + 1]
    assert listed == "member-0=https://10.0.0.0:2380,member-1=https://10.0.0.1:2380"
    options = EtcdOptions.model_validate({"keep_revisions": 1000, "fsync": False})
    found = server_words(members[1], PurePosixPath("/c"), PurePosixPath("/d"), options)
    assert {"--peer-client-cert-auth", "--unsafe-no-fsync", "--auto-compaction-retention=1000"} <= set(found)
    assert {"--heartbeat-interval=100", "--election-timeout=1000"} <= set(found)
    assert not any("http://" in word or "0.0.0.0" in word for word in found)
    quiet = server_words(members[1], PurePosixPath("/c"), PurePosixPath("/d"), EtcdOptions())
    assert not any("unsafe" in word or "compaction" in word for word in quiet)
    assert EtcdMember("m", "fd00::1", (1, 2)).client_url == "https://[fd00::1]:1"


def test_figures_of_members_are_added_and_positions_are_the_furthest():
    status = {"dbSize": 20480, "dbSizeInUse": 16384, "raftIndex": 17, "raftAppliedIndex": 16, "raftTerm": 2}
    later = {**status, "raftIndex": 19, "raftTerm": 3}
    said = [json.dumps([{"Endpoint": "https://a:1", "Status": each}]) for each in (status, later)]
    assert sum_statuses([*said, ""]) == {
        "live_servers": 2,
        "used_bytes": 40960,
        "live_bytes": 32768,
        "log_index": 19,
        "applied_index": 16,
        "term": 3,
    }
    assert sum_statuses(["", ""])["live_servers"] == 0
