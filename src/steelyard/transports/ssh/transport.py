"""OpenSSH hosts: one connection each, kept, and used by all that happens there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import asyncssh

from steelyard.errors import HostLost
from steelyard.hosts.transport import Channel, Transport
from steelyard.transports.ssh.channel import SshChannel, posix_command
from steelyard.transports.ssh.errors import (
    HostUnreachable,
    LoginProgress,
    LoginTarget,
    explain,
    explain_loss,
    explain_unusable,
)
from steelyard.transports.ssh.login import NONE, Login

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection, SSHClientConnectionOptions

PAUSES = (0.05, 0.15, 0.4, 0.8)
"""Seconds between the tries to connect; another try only where the trouble may pass."""
MOST_HOPS = 8
_USER_FILES = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")  # ssh_config(5): UserKnownHostsFile
_GLOBAL_FILES = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")


class SshTransport(Transport):
    """A way to a host through its sshd; see `Transport`.

    Without an `address`, other hosts reach it where we do: at the address of its end of the connection, or
    by its name in `login` where jump hosts lie between.
    """

    def __init__(self, name: str, login: Login, *, address: str | None = None) -> None:
        self.name, self.address = name, address or login.host
        self._login, self._given_address = login, address
        self._connections: list[SSHClientConnection] = []
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Connect, anew where it was open before. Raises HostLost with a sentence for the user."""
        await self.close()
        connection = await self._connect()
        self._connections.append(connection)
        peer = connection.get_extra_info("peername")
        if not self._given_address and peer and peer[0]:
            self.address = peer[0]

    async def run(self, script: str) -> Channel:
        """Run a script by the POSIX shell there; over one more connection when those we have take no more."""
        command = posix_command(script)
        async with self._opening:
            for connection in self._connections:
                if channel := await self._open_session(connection, command):
                    return channel
            connection = await self._connect()
            self._connections.append(connection)
            if channel := await self._open_session(connection, command):
                return channel
        hint = "its sshd_config may force a command or set MaxSessions 0"
        raise HostLost(
            f"host {self.name}: {self._login.host} accepts the login, but opens no session", hint=hint
        )

    async def close(self) -> None:
        """Leave; channels that are still open end."""
        connections, self._connections = self._connections, []
        for connection in connections:
            connection.close()
        for connection in connections:
            with suppress(Exception):  # how it ended matters to nobody any more
                await connection.wait_closed()

    def abort(self) -> None:
        """Break off at once, where nobody is there any more who could answer."""
        for connection in self._connections:
            connection.abort()

    async def _open_session(self, connection: SSHClientConnection, command: str) -> SshChannel | None:
        """A channel on a connection; None when the server opens no more on it."""
        session = SshChannel(self.name, self._login.lost_after)
        try:
            await connection.create_session(lambda: session, command, encoding=None, request_pty=False)
        except (asyncssh.Error, OSError) as error:
            if isinstance(error, asyncssh.ChannelOpenError) and not connection.is_closed():
                return None
            raise explain_loss(self.name, error, self._login.lost_after) from error
        return session

    async def _connect(self) -> SSHClientConnection:
        """Try to connect, again where the trouble may pass, for `connect_within` seconds altogether."""
        loop, within = asyncio.get_running_loop(), self._login.connect_within
        deadline = loop.time() + within
        for pause in (*PAUSES, None):
            left = deadline - loop.time()
            try:
                # Half of the time at most for one try, so that a lost packet does not decide; a quarter at
                # least, so that no last try is too short to find what is wrong, and hides what was found.
                return await _reach(self._login, min(max(left, within / 4), within / 2))
            except HostUnreachable as error:
                if pause is None or not error.transient or loop.time() + pause > deadline - within / 4:
                    raise HostLost(f"host {self.name}: {error.message}", hint=error.hint) from error
            await asyncio.sleep(pause)
        raise AssertionError("the last try returns or raises")


async def _reach(
    login: Login, seconds: float, tunnel: SSHClientConnection | None = None, depth: int = 0
) -> SSHClientConnection:
    """Connect once, through `tunnel` or the jump hosts that the settings name. Raises Unreached."""
    settings = _settings(login)
    try:
        options = await asyncssh.SSHClientConnectionOptions.construct(host=login.host, **settings)
        hops = login.hops(login.jump or options.tunnel) if tunnel is None else ()
        target = _target(login, options, seconds, jumped=bool(tunnel or hops))
    except (OSError, ValueError) as error:
        raise explain_unusable(error, login.key) from error
    if hops and depth == MOST_HOPS:
        raise HostUnreachable(
            f"more than {MOST_HOPS} jump hosts lead to {login.host}", hint="is there a ProxyJump loop?"
        )
    try:
        for hop in hops:
            tunnel = await _reach_jump_host(hop, seconds, tunnel, depth + 1)
        return await _enter(login, settings, target, tunnel)
    except BaseException:
        if tunnel:
            tunnel.abort()
        raise


async def _reach_jump_host(
    login: Login, seconds: float, tunnel: SSHClientConnection | None, depth: int
) -> SSHClientConnection:
    try:
        return await _reach(login, seconds, tunnel, depth)
    except HostUnreachable as error:
        raise HostUnreachable(
            f"jump host: {error.message}", hint=error.hint, transient=error.transient
        ) from error


async def _enter(
    login: Login, settings: dict[str, Any], target: LoginTarget, tunnel: SSHClientConnection | None
) -> SSHClientConnection:
    seen = LoginProgress()
    try:
        async with asyncio.timeout(target.seconds):
            connection = await asyncssh.connect(
                login.host, tunnel=tunnel, client_factory=lambda: seen, known_hosts=target.trusted, **settings
            )
    except (asyncssh.Error, OSError, ValueError) as error:
        raise explain(error, target, seen) from error
    if tunnel:
        connection.set_tunnel(tunnel)  # which then ends with it
    return connection


def _target(
    login: Login, options: SSHClientConnectionOptions, seconds: float, *, jumped: bool
) -> LoginTarget:
    files = _known_hosts_files(login, options)
    return LoginTarget(
        user=options.username,
        host=options.host,
        port=options.port,
        alias=options.host_key_alias,
        keys=_describe_keys(login),
        seconds=seconds,
        trusted=None if login.known_hosts == NONE else _load_known_hosts(files, login.trusted or ""),
        files=files,
        has_jump_host=jumped,
    )


def _settings(login: Login) -> dict[str, Any]:
    """What asyncssh is told; `()` stands for what ssh_config says, or the default."""
    settings: dict[str, Any] = {
        "config": None if login.config == NONE else [login.config] if login.config else (),
        "username": login.user or (),
        "port": login.port or (),
        "password_auth": False,  # nobody is there to type one
        "kbdint_auth": False,
        # Silence is noticed after an interval and two unanswered questions.
        "keepalive_interval": login.lost_after / 3,
        "keepalive_count_max": 2,
        "login_timeout": login.connect_within,
        "command": None,
        "send_env": None,
        "env": None,
    }
    return settings | _key_settings(login)


def _describe_keys(login: Login) -> str:
    if login.private:
        return "the key created for this run"
    return f"the key {login.key}" if login.key else "the keys of ~/.ssh and of ssh-agent"


def _key_settings(login: Login) -> dict[str, Any]:
    if login.private:
        return {"client_keys": [login.private], "agent_path": None}
    if login.key is None:
        return {} if login.agent else {"agent_path": None}
    key = Path(login.key).expanduser()
    public = key.with_name(f"{key.name}.pub")
    if login.agent and public.is_file():
        # The agent is asked for this key only: servers hang up after some six wrong ones.
        return {"client_keys": [str(key)], "agent_identities": [str(public)], "ignore_encrypted": True}
    return {"client_keys": [str(key)], "agent_path": None}


def _known_hosts_files(login: Login, options: SSHClientConnectionOptions) -> tuple[Path, ...]:
    if login.trusted is not None:
        return ()
    if login.known_hosts is not None:
        return () if login.known_hosts == NONE else (Path(login.known_hosts).expanduser(),)
    # Not asyncssh's own choice: with `UserKnownHostsFile none` it would not check at all.
    user = cast(list[str], options.config.get("UserKnownHostsFile", _USER_FILES))
    both = [*user, *cast(list[str], options.config.get("GlobalKnownHostsFile", _GLOBAL_FILES))]
    return tuple(path for path in (Path(name).expanduser() for name in both) if path.is_file())


def _load_known_hosts(files: Iterable[Path], more: str) -> asyncssh.SSHKnownHosts:
    """The keys of these files. As with ssh(1), a line that cannot be understood is passed over."""
    trusted = asyncssh.SSHKnownHosts()
    for text in (*(path.read_text(errors="replace") for path in files), more):
        for line in text.splitlines():
            with suppress(ValueError):
                trusted.load(line)
    return trusted
