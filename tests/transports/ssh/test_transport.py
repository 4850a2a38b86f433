from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sshd
from patience import PATIENCE, comes
from steelyard.errors import HostLost
from steelyard.hosts.transport import Channel
from steelyard.transports.ssh import transport as ssh
from steelyard.transports.ssh.channel import posix_command
from steelyard.transports.ssh.errors import HostUnreachable
from steelyard.transports.ssh.login import Login
from steelyard.transports.ssh.transport import SshTransport

NASTY = """# it's a 'line' \\n with 100% $HOME ! !! \\ `x` "q" { ~ }
printf "done ü $((3+4)) \\041!\\n"; printf 'a\\nb\\n'
read line; echo "$line"; exit 3
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Any]:
    with sshd.Sshd(tmp_path / "server") as started:
        yield started


def telling(login: Login, story: Callable[[SshTransport], Awaitable[Any]]) -> Any:
    async def tell() -> Any:
        transport = SshTransport("n1", login)
        try:
            await transport.open()
            return await story(transport)
        finally:
            await transport.close()

    return asyncio.run(tell())


def refused(login: Login) -> HostLost:
    """What is said when the host cannot be reached."""

    async def story(_: SshTransport) -> None:
        raise AssertionError("it was reached")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssh, "PAUSES", (0.01, 0.02))
        with pytest.raises(HostLost) as caught:
            telling(login, story)
    assert caught.value.message.startswith("host n1: ")
    assert caught.value.hint
    assert "PRIVATE KEY" not in str(caught.value)
    return caught.value


async def said(channel: Channel) -> tuple[bytes, bytes, int]:
    out, err = await asyncio.gather(channel.stdout.read(), channel.stderr.read())
    return out, err, await channel.wait()


# Scripts


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "tcsh", "fish", "busybox ash"])
def test_a_script_is_the_same_under_every_login_shell(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell.partition(" ")[0]):
        pytest.skip(f"{shell.partition(' ')[0]} is not installed")
    argv = [*shell.split(), "-c", posix_command(NASTY)]
    home = {**os.environ, "HOME": str(tmp_path)}  # fish makes directories there
    done = subprocess.run(argv, input="said\n", env=home, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("done ü 7 !!\na\nb\nsaid\n", "", 3)


def test_a_script_has_three_streams_and_an_exit_code(server: Any) -> None:
    async def story(transport: SshTransport) -> Any:
        channel = await transport.run('read a; echo "$a"; cat >&2; exit 7')
        await channel.send(b"one\ntwo\n")
        await channel.end_input()
        return transport.address, await said(channel)

    assert telling(server.login(), story) == ("127.0.0.1", (b"one\n", b"two\n", 7))


def test_a_signal_is_told(server: Any) -> None:
    async def story(transport: SshTransport) -> Any:
        return (await said(await transport.run("kill -9 $$")))[2]

    assert telling(server.login(), story) == 128 + 9


def test_what_is_not_read_does_not_grow_without_end(server: Any) -> None:
    async def story(transport: SshTransport) -> int:
        channel = await transport.run("head -c 30000000 /dev/zero")
        await asyncio.sleep(0.5)
        held = len(channel.stdout._buffer)  # type: ignore[attr-defined]
        content = await channel.stdout.read()
        assert (len(content), await channel.wait()) == (30_000_000, 0)
        return held

    assert telling(server.login(), story) < 8_000_000


def test_much_is_read_in_large_pieces_and_small_ones(server: Any) -> None:
    async def story(transport: SshTransport) -> int:
        channel = await transport.run("head -c 9000000 /dev/zero; echo; head -c 3000000 /dev/zero; echo >&2")
        assert len(await channel.stdout.readexactly(9_000_000)) == 9_000_000
        assert await channel.stdout.readline() == b"\n"
        total = 0
        while piece := await channel.stdout.read(1000):
            total += len(piece)
        assert await channel.stderr.read() == b"\n"
        return total

    assert telling(server.login(), story) == 3_000_000


def test_much_can_be_sent(server: Any) -> None:
    data = os.urandom(1 << 20) * 8

    async def story(transport: SshTransport) -> Any:
        channel = await transport.run("wc -c")
        await channel.send(data)
        await channel.end_input()
        return (await said(channel))[0]

    assert int(telling(server.login(), story)) == len(data)


def test_closing_a_channel_ends_the_input_there(server: Any, tmp_path: Path) -> None:
    async def story(transport: SshTransport) -> None:
        channel = await transport.run(f"cat; echo over >{tmp_path}/over")
        channel.close()
        assert await comes((tmp_path / "over").exists)

    telling(server.login(), story)


# Connections


def accepted(server: Any) -> int:
    return (server.folder / "log").read_text().count("Accepted publickey")


def test_one_connection_serves_all(server: Any) -> None:
    async def story(transport: SshTransport) -> Any:
        channels = await asyncio.gather(*(transport.run(f"exit {n}") for n in range(8)))
        return [await channel.wait() for channel in channels]

    assert telling(server.login(), story) == list(range(8))
    assert accepted(server) == 1


def test_another_connection_is_opened_where_one_takes_no_more_sessions(tmp_path: Path) -> None:
    with sshd.Sshd(tmp_path, "MaxSessions 1") as server:

        async def story(transport: SshTransport) -> Any:
            channels = await asyncio.gather(*(transport.run(f"read x; exit {n}") for n in range(3)))
            for channel in channels:
                await channel.end_input()
            ended = [await channel.wait() for channel in channels]
            return [*ended, await (await transport.run("exit 9")).wait()]

        assert telling(server.login(), story) == [0, 1, 2, 9]
        assert accepted(server) == 3


def test_a_server_that_opens_no_session_is_told(tmp_path: Path) -> None:
    refusal = pytest.raises(HostLost, match=r"host n1: 127\.0\.0\.1 accepts the login, but opens no session")
    with sshd.Sshd(tmp_path, "MaxSessions 0") as server, refusal:
        telling(server.login(), lambda transport: transport.run("true"))


def test_a_lost_connection_is_told_and_can_be_opened_again(server: Any) -> None:
    async def story(transport: SshTransport) -> None:
        channel = await transport.run("read x; kill -9 $PPID; read x")
        await channel.send(b"\n")
        for action in (
            channel.stdout.read,
            channel.wait,
            lambda: channel.send(b"x"),
            lambda: transport.run("true"),
        ):
            with pytest.raises(HostLost, match=r"host n1 is lost: \w+"):
                await action()
        channel.close()
        await transport.open()
        assert (await said(await transport.run("echo back")))[0] == b"back\n"

    telling(server.login(), story)


def test_a_silent_host_is_lost(tmp_path: Path) -> None:
    """A stopped sshd is as silent as a cut cable; see test_namespaces for that one."""
    with sshd.Sshd(tmp_path) as server:

        async def story(transport: SshTransport) -> None:
            channel = await transport.run("echo $PPID; cat")
            session = int(await channel.stdout.readline())
            os.kill(session, 19)
            try:
                with pytest.raises(HostLost, match=r"host n1 is lost: it has not answered for 10 s"):
                    await channel.wait()
            finally:
                os.kill(session, 9)

        telling(server.login(lost_after=10.0), story)


# Who is not let in


def test_a_wrong_key(server: Any, tmp_path: Path) -> None:
    error = refused(server.login(key=str(sshd.make_key(tmp_path / "other"))))
    assert f"rejected '{sshd.ME}' with the key {tmp_path}/other" in error.message
    assert "ssh-copy-id" in error.hint
    assert accepted(server) == 0


def test_no_such_user(server: Any) -> None:
    assert "rejected 'nobody-here' with" in refused(server.login(user="nobody-here")).message


def test_a_key_that_is_none(server: Any, tmp_path: Path) -> None:
    assert (
        "nothing-here cannot be read: No such file"
        in refused(server.login(key=f"{tmp_path}/nothing-here")).message
    )
    (tmp_path / "garbage").write_text("secret garbage")
    error = refused(server.login(key=f"{tmp_path}/garbage"))
    assert "garbage cannot be used" in error.message
    assert "secret" not in str(error)


def test_a_key_with_a_passphrase_needs_the_agent(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (shutil.which("ssh-agent") and shutil.which("ssh-add")):
        pytest.skip("no ssh-agent is installed (apt: openssh-client)")
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "open sesame", "-f", server.key], check=True)
    error = refused(server.login())
    assert "has a passphrase" in error.message
    assert "ssh-add" in error.hint
    assert "sesame" not in str(error)
    with agent(tmp_path, monkeypatch, server.key):
        telling(server.login(agent=True), lambda transport: transport.run("true"))


class agent:  # noqa: N801
    """An ssh-agent that holds a key, for as long as the block lasts."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, key: Path) -> None:
        self.place, self.key = str(folder / "agent"), key
        monkeypatch.setenv("SSH_AUTH_SOCK", self.place)
        (folder / "ask").write_text("#!/bin/sh\necho open sesame\n")
        (folder / "ask").chmod(0o700)
        self.env = {
            **os.environ,
            "SSH_ASKPASS": str(folder / "ask"),
            "SSH_ASKPASS_REQUIRE": "force",
            "DISPLAY": ":",
        }

    def __enter__(self) -> None:
        self.process = subprocess.Popen(["ssh-agent", "-D", "-a", self.place], stdout=subprocess.DEVNULL)
        while not Path(self.place).exists():
            time.sleep(0.01)
        done = subprocess.run(
            ["ssh-add", self.key], env=self.env, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


# Who is not trusted


def fingerprint(key: Path) -> str:
    return subprocess.check_output(["ssh-keygen", "-lf", f"{key}.pub"], text=True).split()[1]


def test_an_unknown_host_key(server: Any) -> None:
    server.known.write_text("")
    error = refused(server.login())
    assert f"the host key of 127.0.0.1 port {server.port} is not known: ssh-ed25519" in error.message
    assert fingerprint(server.host_key) in error.message
    assert f"ssh-keyscan -p {server.port} 127.0.0.1" in error.hint
    assert str(server.known) in error.hint


def test_a_changed_host_key(server: Any, tmp_path: Path) -> None:
    server.trust(sshd.make_key(tmp_path / "former"))
    error = refused(server.login())
    assert "has changed: it presents" in error.message
    assert fingerprint(server.host_key) in error.message
    assert fingerprint(tmp_path / "former") in error.message
    assert f"ssh-keygen -R '[127.0.0.1]:{server.port}'" in error.hint
    assert accepted(server) == 0


def test_a_revoked_host_key(server: Any) -> None:
    server.known.write_text(f"{server.known.read_text()}@revoked {server.known.read_text()}")
    assert "revoked" in refused(server.login()).message


def test_host_keys_are_not_checked_only_where_that_was_said(server: Any, tmp_path: Path) -> None:
    server.known.write_text("")
    assert "is not known" in refused(server.login()).message
    config = tmp_path / "config"
    config.write_text("Host *\n  UserKnownHostsFile none\n  GlobalKnownHostsFile none\n")
    assert "is not known" in refused(server.login(known_hosts=None, config=str(config))).message
    telling(server.login(known_hosts="none"), lambda transport: transport.run("true"))


def test_a_file_of_known_hosts_with_rubbish_in_it_still_counts(server: Any) -> None:
    server.known.write_text(f"rubbish\n\n# comment\n@what is this\n{server.known.read_text()}")
    telling(server.login(), lambda transport: transport.run("true"))


# What is not there


@pytest.mark.parametrize(
    ("change", "tries"),
    [({"port": 1}, 3), ({"user": "nobody-here"}, 1), ({"trusted": ""}, 1)],
)
def test_only_what_may_pass_is_tried_again(
    server: Any, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], tries: int
) -> None:
    real, tried = ssh._reach, list[Login]()

    async def counted(login: Login, seconds: float) -> Any:
        tried.append(login)
        return await real(login, seconds)

    monkeypatch.setattr(ssh, "_reach", counted)
    refused(server.login(**change))
    assert len(tried) == tries


def test_all_tries_together_are_bounded() -> None:
    with socket.socket() as full:  # it listens, but its queue has no room: whoever comes waits
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        error = refused(Login(*address[:1], port=address[1], config="none", agent=False, connect_within=1.0))
        assert "did not answer within" in error.message or "no SSH greeting within" in error.message
        for filler in fillers:
            filler.close()


@pytest.mark.parametrize(("takes", "waits", "tries"), [(0.8, 0.0, [0.5]), (0.0, 0.9, [0.5, 0.25])])
def test_no_try_is_too_short_to_find_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, takes: float, waits: float, tries: list[float]
) -> None:
    """On a busy machine: a first try lasts longer than its share, or the pause after it does."""
    clock, given = [0.0], list[float]()

    async def reach(login: Login, seconds: float) -> Any:
        given.append(seconds)
        clock.append(clock[-1] + takes)
        raise HostUnreachable(f"try {len(given)}", hint="is it up?", transient=True)

    async def sleep(_: float) -> None:
        clock.append(clock[-1] + waits)

    monkeypatch.setattr(ssh, "_reach", reach)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: SimpleNamespace(time=lambda: clock[-1]))
    error = refused(Login("127.0.0.1", config="none", agent=False, connect_within=1.0))
    assert (given, error.message) == (tries, f"host n1: try {len(tries)}")


def test_a_port_where_nobody_listens(server: Any) -> None:
    server.stop()
    error = refused(server.login())
    assert f"127.0.0.1 port {server.port} refuses the connection" in error.message


def test_one_that_comes_up_late_is_reached(tmp_path: Path) -> None:
    server = sshd.Sshd(tmp_path)

    async def late() -> str:
        transport = SshTransport("n1", server.login())
        opening = asyncio.create_task(transport.open())
        await asyncio.sleep(0.1)
        assert not opening.done()
        await asyncio.to_thread(server.start)
        try:
            await opening
            return (await said(await transport.run("echo up")))[0].decode()
        finally:
            await transport.close()
            server.stop()

    assert asyncio.run(late()) == "up\n"


def test_a_name_that_nobody_knows(tmp_path: Path) -> None:
    error = refused(Login("no-such-host.invalid", config="none", agent=False))
    assert "the name 'no-such-host.invalid' is not known" in error.message


@pytest.mark.parametrize("greeting", [None, b"", b"220 mail.example ESMTP\r\n" * 3])
def test_what_is_no_ssh_server(greeting: bytes | None) -> None:
    """One that says nothing, one that hangs up, one that speaks something else."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        login = Login(
            "127.0.0.1", port=port, config="none", agent=False, known_hosts="none",
            connect_within=1.0 if greeting is None else PATIENCE,
        )  # fmt: skip

        held: list[socket.socket] = []

        async def answer() -> None:
            while True:
                connection, _ = await asyncio.get_running_loop().sock_accept(server)
                held.append(connection)
                if greeting is not None:
                    connection.sendall(greeting)
                    connection.close()

        async def tell() -> None:
            server.setblocking(False)
            answering = asyncio.create_task(answer())
            try:
                await SshTransport("n1", login).open()
            finally:
                answering.cancel()
                for connection in held:
                    connection.close()

        with pytest.raises(HostLost) as caught:
            asyncio.run(tell())
    expected = {None: "no SSH greeting within", b"": "closed the connection"}.get(greeting, "")
    assert expected in caught.value.message
    assert f"127.0.0.1 port {port}" in caught.value.message


# Jump hosts and ssh_config


def test_a_jump_host(server: Any, tmp_path: Path) -> None:
    with sshd.Sshd(tmp_path / "jump") as jump:
        both = tmp_path / "known"
        both.write_text(server.known.read_text() + jump.known.read_text())
        (jump.folder / "authorized").write_text((server.folder / "key.pub").read_text())
        login = server.login(jump=f"{sshd.ME}@127.0.0.1:{jump.port}", known_hosts=str(both))

        async def story(transport: SshTransport) -> Any:
            return transport.address, (await said(await transport.run("echo $SSH_CONNECTION")))[0].split()[3]

        assert telling(login, story) == ("127.0.0.1", str(server.port).encode())
        assert accepted(jump) == 1
        server.stop()
        assert "(through its jump host) cannot be reached" in refused(login).message
    error = refused(login)
    assert error.message.startswith(f"host n1: jump host: 127.0.0.1 port {jump.port} refuses")


def test_ssh_config_is_read(server: Any, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        f"Host lab\n  HostName 127.0.0.1\n  Port {server.port}\n  User {sshd.ME}\n"
        f"  IdentityFile {server.key}\n  UserKnownHostsFile {server.known}\n"
        "  ProxyJump none\n  SomethingNew yes\n"
    )
    login = Login("lab", config=str(config), agent=False)
    telling(login, lambda transport: transport.run("true"))
    config.write_text("Host lab\n  Port many\n")
    assert "the settings for SSH cannot be used" in refused(login).message


def test_jump_hosts_that_lead_in_circles(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host *\n  ProxyJump gate\n")
    assert "more than 8 jump hosts" in refused(Login("lab", config=str(config), agent=False)).message


# Logins as people write them


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node1", Login("node1")),
        ("alice@node-1.lab:2222", Login("node-1.lab", "alice", 2222)),
        ("a.b+c@10.0.0.1", Login("10.0.0.1", "a.b+c")),
        ("[fd00::1]:22", Login("fd00::1", port=22)),
        ("root@[fe80::1%eth0]", Login("fe80::1%eth0", "root")),
    ],
)
def test_a_login_is_read(text: str, expected: Login) -> None:
    assert Login.from_text(text) == expected


@pytest.mark.parametrize(
    "text", ["", "a b", "@x", "x:", "x:0", "x:99999", "x:1:2", "-oProxyCommand=x", "a@-x", "fd00::1"]
)
def test_what_is_no_login_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="for example alice@node1:2222"):
        Login.from_text(text)


def test_no_key_is_shown_with_a_login() -> None:
    assert "secret" not in repr(Login("x", private=b"secret"))
