from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pydantic import ValidationError

import sshd
from patience import comes
from steelyard.errors import HostError, SpecError, UsageError
from steelyard.hosts.base import Streams
from steelyard.hosts.sweep import find_bearers
from steelyard.hosts.token import Token
from steelyard.model.command import Command
from steelyard.sites.ssh import Ssh, SshOptions


def options(**given: Any) -> SshOptions:
    return SshOptions.model_validate(given)


def of(argument: str) -> SshOptions:
    return options(**Ssh.parse_shorthand(argument))


# What people write


def test_hosts_on_the_command_line() -> None:
    chosen = of("alice@node1,node2:2222,[fd00::1]")
    assert chosen.names() == ["node1", "node2", "fd00--1"]
    logins = [chosen.login(host) for host in chosen.hosts]
    assert [(login.user, login.host, login.port) for login in logins] == [
        ("alice", "node1", None),
        (None, "node2", 2222),
        (None, "fd00::1", None),
    ]
    assert Ssh(chosen).size() == 3
    assert Ssh(chosen).capabilities() == frozenset()


@pytest.mark.parametrize("argument", ["", "a,,b", "a b", "-oProxyCommand=x", "a:99999"])
def test_what_is_no_host_is_refused_with_an_example(argument: str) -> None:
    with pytest.raises(UsageError, match="for example ssh:alice@node1,node2:2222"):
        Ssh.parse_shorthand(argument)


def test_one_machine_with_several_ports_has_several_names() -> None:
    assert of("127.0.0.1:2201,127.0.0.1:2202").names() == ["127.0.0.1-2201", "127.0.0.1-2202"]


@pytest.mark.parametrize(
    "given", [{"hosts": ["a", "a"]}, {"hosts": [{"host": "a", "name": "n"}, {"host": "b", "name": "n"}]}]
)
def test_two_hosts_of_one_name_are_refused(given: Mapping[str, Any]) -> None:
    with pytest.raises(ValidationError, match="each host needs a distinct name; add `name`"):
        options(**given)


def test_what_is_common_holds_where_a_host_says_nothing() -> None:
    chosen = options(
        hosts=["node1", {"host": "node2", "user": "bob", "key": "k2", "jump": "none"}],
        user="alice",
        key="k1",
        jump="gate",
        known_hosts="known",
        lost_after="3s",
    )
    first, second = (chosen.login(host) for host in chosen.hosts)
    assert (first.user, first.key, first.jump, first.lost_after) == ("alice", "k1", "gate", 3.0)
    assert (second.user, second.key, second.jump, second.known_hosts) == ("bob", "k2", "none", "known")


@pytest.mark.parametrize(
    "given",
    [
        {"hosts": []},
        {"hosts": [{"host": "a", "port": 0}]},
        {"hosts": [{"host": "a b"}]},
        {"hosts": [{"host": "-oX"}]},
        {"hosts": [{"host": "a", "name": "a/b"}]},
        {"hosts": [{"host": "a", "scratch": "relative"}]},
        {"hosts": ["a"], "jump": "b c"},
        {"hosts": ["a"], "lost_after": 5},
        {"hosts": ["a"], "password": "x"},
    ],
)
def test_wrong_options_are_refused(given: Mapping[str, Any]) -> None:
    with pytest.raises(ValidationError):
        options(**given)


def test_the_record_is_told_when_host_keys_are_not_checked() -> None:
    assert Ssh(options(hosts=["a"])).warnings() == ()
    (said,) = Ssh(options(hosts=["a"], known_hosts="none")).warnings()
    assert "known_hosts" in said


# Inventories


def inventory(tmp_path: Path, text: str) -> str:
    path = tmp_path / "hosts.yaml"
    path.write_text(text)
    return str(path)


def test_an_inventory(tmp_path: Path) -> None:
    text = "user: alice\nhosts:\n  - node1\n  - {host: 10.0.0.2, name: n2, cores: 4, scratch: /data}\n"
    chosen = of(inventory(tmp_path, text))
    assert chosen.names() == ["node1", "n2"]
    assert chosen.hosts[1].cores == 4
    assert chosen.login(chosen.hosts[1]).user == "alice"
    assert of(inventory(tmp_path, "- node1\n- bob@node2\n")).names() == ["node1", "node2"]


def test_every_mistake_in_an_inventory_is_told_with_its_place(tmp_path: Path) -> None:
    text = """\
usr: bob
hosts:
  - {host: node2, prt: 7}
  - {host: node2, port: x}
  - a b
  - {name: q, jump: "a b"}
lost_after: 5
"""
    with pytest.raises(SpecError) as caught:
        of(inventory(tmp_path, text))
    said = [str(problem).removeprefix(f"{tmp_path}/") for problem in caught.value.problems]
    assert [line.partition("  ")[0] for line in said] == [
        "hosts.yaml:1:1",
        "hosts.yaml:3:19",
        "hosts.yaml:4:19",
        "hosts.yaml:5:5",
        "hosts.yaml:6:5",
        "hosts.yaml:6:15",
        "hosts.yaml:7:1",
    ]
    assert "did you mean 'user'?" in said[0]
    assert "did you mean 'port'?" in said[1]
    assert "'x' should be a valid integer" in said[2]
    assert "'host' is missing" in said[4]


@pytest.mark.parametrize(
    "text",
    [
        "just text",
        "hosts: [a\n",
        "hosts: [a]\nhosts: [b]\n",
        "hosts: &a [x]\nmore: *a\n",
        "a: &a [*a]\n",
        "- !!python/object/apply:os.getcwd []\n",
        "",
        "\0",
        "5",
    ],
)
def test_a_file_that_is_no_inventory(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r"hosts\.yaml"):
        of(inventory(tmp_path, text))


def test_an_inventory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.yaml cannot be read: No such file"):
        Ssh.parse_shorthand(f"{tmp_path}/none.yaml")


# Real hosts


def site(servers: list[Any], **more: Any) -> Ssh:
    hosts = [
        {"host": each.host, "port": each.port, "key": str(each.key), "name": f"m{number}"}
        for number, each in enumerate(servers, 1)
    ]
    known = servers[0].folder.parent / "known"
    known.write_text("".join(each.known.read_text() for each in servers))
    usual = {"user": sshd.ME, "known_hosts": str(known), "config": "none", "lost_after": "5min"}
    return Ssh(options(hosts=hosts, **usual | more))


def test_hosts_are_leased_in_order_and_nothing_of_ours_is_left(tmp_path: Path) -> None:
    token = Token.of("test-site-ssh")

    async def tell(chosen: Ssh) -> list[str]:
        async with chosen.lease(token, tmp_path / "log", 2) as hosts:
            said = []
            for host in hosts:
                streams = Streams(tmp_path / f"{host.name}.out", tmp_path / f"{host.name}.err")
                command = Command(("sh", "-c", "echo $SSH_CONNECTION; exec sleep 300"))
                await host.start(command, streams, cwd=PurePosixPath("/"))
                assert await comes(streams.stdout.read_bytes)
                said.append(f"{host.name} {host.address} {streams.stdout.read_text().split()[3]}")
            assert len(find_bearers(lambda found: found == token)) >= 2
            return said

    with ExitStack() as stack:
        servers = [stack.enter_context(sshd.Sshd(tmp_path / f"s{number}")) for number in range(3)]
        said = asyncio.run(tell(site(servers)))
    assert said == [f"m{n} 127.0.0.1 {server.port}" for n, server in enumerate(servers[:2], 1)]
    assert not find_bearers(lambda found: found == token)


def test_what_a_host_is_told_to_be_it_is(tmp_path: Path) -> None:
    async def tell(chosen: Ssh) -> Any:
        async with chosen.lease(Token.of("test-site-ssh"), tmp_path / "log", None) as (host,):
            return host.cores, host.address, host.scratch_base()

    with sshd.Sshd(tmp_path / "s") as server:
        made = site([server], scratch="/data")
        host = made.options.hosts[0].model_copy(update={"cores": 1, "address": "10.9.8.7"})
        made = Ssh(made.options.model_copy(update={"hosts": (host,)}))
        assert asyncio.run(tell(made)) == (1, "10.9.8.7", PurePosixPath("/data"))


def test_every_host_that_cannot_be_had_is_named_and_the_others_are_left(tmp_path: Path) -> None:
    token = Token.of("test-site-ssh")

    async def tell(chosen: Ssh) -> None:
        async with chosen.lease(token, tmp_path / "log", None):
            raise AssertionError

    with ExitStack() as stack:
        servers = [stack.enter_context(sshd.Sshd(tmp_path / f"s{number}")) for number in range(3)]
        chosen = site(servers)
        servers[1].stop()
        (servers[2].folder / "authorized").write_text("")
        with pytest.raises(HostError) as caught:
            asyncio.run(tell(chosen))
    message = caught.value.message
    assert message.startswith("2 of 3 hosts could not be reached:")
    assert f"host m2: 127.0.0.1 port {servers[1].port} refuses the connection" in message
    assert f"host m3: 127.0.0.1 port {servers[2].port} rejected" in message
    assert "m1" not in message
    assert "ssh-copy-id" in caught.value.hint
    assert not find_bearers(lambda found: found == token)
