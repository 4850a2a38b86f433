"""`use: postgresql` under `services`: a primary on the first host, streaming replicas on the others."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from steelyard.plugin import ClientBinding, Endpoint, Size, WireProtocol
from steelyard.plugin.host import Host
from steelyard.plugin.service import Service
from steelyard.services.kit.access import Listener
from steelyard.services.kit.address import resolve_address
from steelyard.services.kit.certificates import AUTHORITY, Authority, is_encrypted
from steelyard.services.kit.data import DataDirectory, list_allowed_addresses, make_data
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.ports import choose_ports, list_listening_ports
from steelyard.services.kit.private_files import ask, write_private
from steelyard.services.kit.server import Server
from steelyard.services.kit.tls_option import ENCRYPTED, TlsOption
from steelyard.services.postgresql import files
from steelyard.services.postgresql.files import BASE_BACKUP, INITDB, POSTGRES, PSQL, USER

_MOST_BUFFERS = 2**30
# Of its log, for replicas. A base backup says where it starts before it reserves the log from there on, and
# the checkpoint of another one in between would remove it; a replica that was away finds what it missed.
_KEPT_LOG = "512MB"
_SMALLEST_BUFFERS = 128 * 2**10  # PostgreSQL takes no fewer
_PRIMARY, _REPLICA = "select not pg_is_in_recovery()", "select pg_is_in_recovery()"
_STREAMS = "select count(*) = 1 from pg_stat_replication where state = 'streaming' and application_name = "
_NAME = re.compile(r"[a-z][a-z0-9_.]*")
# Words that give a server shared memory of its own, which goes with its last process, whatever ends that.
_APART = """
for words in 'unshare --ipc' 'unshare --user --map-current-user --ipc'; do
    $words true 2>/dev/null && echo "$words" && exit
done
exit 0
"""


# initdb refuses a user that has no name. So it is `nobody`, with the server's group, in a directory that only
# this group may enter; what it made is the server's afterwards.
_INITDB = """
mkdir -m 0770 new
[ -z "$ACCOUNT" ] || {
    chgrp "$ACCOUNT" new
    set -- setpriv --reuid=nobody --regid="$ACCOUNT" --clear-groups --no-new-privs "$@"
}
"$@"
[ -z "$ACCOUNT" ] || chown -hR "$ACCOUNT:$ACCOUNT" new/db
mv new/db data/db; rmdir new
"""
_PASSWORD = f"PGPASSWORD=$(cat {files.PASSWORD})"
_TLS = f'PGSSLMODE=verify-full PGSSLROOTCERT="$PWD/{AUTHORITY}" PGSSLCERT="$PWD/none"'

_PROTOCOL = WireProtocol(
    "postgresql",
    5432,
    (ClientBinding("ycsb", "steelyard.ycsb.Postgresql", str(Path(__file__).with_name("ycsb"))),),
)


class PostgresqlOptions(TlsOption):
    """Where it listens, how much memory it takes, and how safe a commit is."""

    port: int | None = Field(
        None, ge=1, le=65000, description="Port, the same on all hosts. Default: a free one."
    )
    shared_buffers: Size | None = Field(
        None,
        description="Bytes that each server shares between its connections. Default: a quarter of the memory "
        "it may use on its host, at most 1 GiB.",
    )
    max_connections: int = Field(100, ge=10, le=10_000, description="Maximum simultaneous connections.")
    synchronous_commit: Literal["on", "off", "local", "remote_write", "remote_apply"] = Field(
        "on", description="What a commit waits for. It never waits for replicas, which stream asynchronously."
    )
    fsync: bool = Field(True, description="Sync writes to disk; without this, a host crash loses data.")
    settings: Mapping[str, str | int | float | bool] = Field(
        {}, description="Additional settings for postgresql.conf, by name (`max_wal_size: 4GB`)."
    )

    @field_validator("shared_buffers")
    @classmethod
    def _check_shared_buffers(cls, value: Size | None) -> Size | None:
        if value is not None and value < _SMALLEST_BUFFERS:
            raise ValueError(f"{value} is less than 128 KiB")
        return value

    @field_validator("settings")
    @classmethod
    def _check_settings(
        cls, value: Mapping[str, str | int | float | bool]
    ) -> Mapping[str, str | int | float | bool]:
        for name, given in value.items():
            if name in files.OURS:
                raise ValueError(f"{name} is set by Steelyard; {files.OURS[name]}")
            if not _NAME.fullmatch(name) or (isinstance(given, str) and not given.isprintable()):
                raise ValueError(f"'{name}: {given}' is not a valid postgresql.conf setting")
        return value


class Postgresql(Disturbable, Service[PostgresqlOptions]):
    """PostgreSQL: a primary on the first host, and a replica on each other host that streams from it.

    **Who may use it**: anyone who knows the password of its only role, the superuser `steelyard`, and
    connects from an address of the experiment's hosts (scram-sha-256). The password is random for each run
    and stored in files of the scratch that only the server can read. The server listens only on the host's
    address, without a Unix socket, whose path could be too long. Clients and replicas use TLS, and other
    connections are rejected, unless all hosts have loopback addresses (`tls`).

    **Ready** means that the primary accepts writes and streams to every replica (`pg_stat_replication`).

    **Source**: https://www.postgresql.org/docs, "Server Configuration" and "Log-Shipping Standby Servers".
    Replicas start from a base backup of the primary. Programs are found on PATH, or where the packages of
    Debian and the PostgreSQL project install them.
    """

    Options = PostgresqlOptions
    speaks = _PROTOCOL
    default_ready_timeout = 60.0
    needs = (POSTGRES, INITDB, BASE_BACKUP, PSQL)
    access = (
        Listener(
            "clients and replicas",
            authentication="password (SCRAM), from the experiment's hosts",
            encrypted=ENCRYPTED,
        ),
    )
    examples = ({"fsync": False}, {"shared_buffers": "16MiB", "settings": {"max_wal_size": "64MB"}})

    async def configure(self) -> None:
        """Find a port, write each server's files, and make the empty database on the first host."""
        hosts = self.context.hosts
        (self.port,) = await choose_ports(hosts, self.options.port, 1, self.context.claims)
        self.address = {host.name: await resolve_address(host) for host in hosts}
        self.encrypted = is_encrypted(self.options.tls, (host.address for host in hosts))
        self.authority = Authority() if self.encrypted else None
        self.data = await make_data(self, hosts)
        self.ipc_wrappers = {host.name: await _find_ipc_wrapper(host) for host in hosts}
        await asyncio.gather(*(self._write(host, self.data[host.name]) for host in hosts))
        script = f"set -- {shlex.join(INITDB.argv(*files.INITDB_WORDS))}\n{_INITDB}"
        await self.run_script(hosts[0], "initdb", script, ACCOUNT=self.data[hosts[0].name].account)

    async def start(self) -> None:
        """The primary, and when it answers the replicas at once."""
        first, *others = self.context.hosts
        primary = await self._start(first)
        if others:
            await self._wait_until_answering(primary)
            await asyncio.gather(*(self._copy_and_start(host) for host in others))

    async def is_answering(self, server: Server) -> bool:
        """A primary takes writes; a replica is one that the primary streams to."""
        first = self.context.hosts[0]
        primary = self.address[first.name]
        if server.port not in await list_listening_ports(server.host):
            return False
        if server.host is first:
            return await self._is_query_true(first, primary, _PRIMARY)
        streams = await self._is_query_true(first, primary, f"{_STREAMS}'{_replica_name(server.host)}'")
        return streams and await self._is_query_true(server.host, server.address, _REPLICA)

    def endpoint(self) -> Endpoint:
        """The primary; the replicas come after it in the fact `servers`."""
        who = {"user": USER, "database": files.DATABASE}
        facts = {"protocol": _PROTOCOL.name, "servers": self.list_servers(), **who}
        facts["tls"] = "true" if self.encrypted else "false"
        believed = self.authority.certificate if self.authority else None
        first = self.address[self.context.hosts[0].name]
        return Endpoint(first, self.port, facts, self.context.password, believed)

    def _primary(self, seen_from: Host) -> files.PostgresqlPrimary:
        authority = self.scratch(seen_from) / AUTHORITY if self.encrypted else None
        return files.PostgresqlPrimary(self.address[self.context.hosts[0].name], self.port, authority)

    def _client(self) -> str:
        """Variables of libpq, in the scratch."""
        return f"{_PASSWORD} {_TLS}" if self.encrypted else _PASSWORD

    async def _start(self, host: Host) -> Server:
        conf = str(self.scratch(host) / files.CONF)
        argv = POSTGRES.argv("-D", str(self.data[host.name].path / "db"), f"--config-file={conf}")
        command = self.data[host.name].account_command(*argv).wrap(*self.ipc_wrappers[host.name])
        return await self.launch(host, "postgresql", command, address=self.address[host.name], port=self.port)

    async def _copy_and_start(self, host: Host) -> None:
        copy = BASE_BACKUP.argv(*files.backup_words(self._primary(host)))
        steps = (copy, ("touch", "data/db/standby.signal"))
        lines = (shlex.join(self.data[host.name].account_command(*words).argv) for words in steps)
        await self.run_script(host, "base-backup", f"export {self._client()}\n" + "\n".join(lines))
        await self._start(host)

    async def _is_query_true(self, host: Host, address: str, question: str) -> bool:
        words = PSQL.argv(*files.psql_words(address, self.port), "--command", question)
        script = f'{self._client()} PGCONNECT_TIMEOUT=4 exec "$@"'
        return (await ask(self, host, script, *words)).strip() == "t"

    async def _write(self, host: Host, data: DataDirectory) -> None:
        password = self.context.password
        clients = [
            await resolve_address(host, name) for name in list_allowed_addresses(self.context.clients, host)
        ]
        texts = {
            files.PASSWORD: password,
            files.HBA: files.format_hba(clients, encrypted=self.encrypted),
            files.CONF: files.format_conf(self._settings(host)),
        }
        keys = self.authority.issue_files(self.address[host.name]) if self.authority else {}
        await write_private(self, host, data, {**texts, **keys})

    def _settings(self, host: Host) -> dict[str, str | int | float | bool]:
        options, first, scratch = self.options, self.context.hosts[0], self.scratch(host)
        buffers = max(_SMALLEST_BUFFERS, min(self.share(host).memory // 4, _MOST_BUFFERS))
        settings: dict[str, str | int | float | bool] = {
            "shared_buffers": f"{int(options.shared_buffers or buffers) // 1024}kB",
            "max_connections": options.max_connections,
            "synchronous_commit": options.synchronous_commit,
            "fsync": options.fsync,
            "max_wal_senders": len(self.context.hosts) + 5,
            **({"wal_keep_size": _KEPT_LOG} if len(self.context.hosts) > 1 else {}),
            "dynamic_shared_memory_type": "sysv"
            if self.ipc_wrappers[host.name]
            else "mmap",  # POSIX's would stay
            **options.settings,
            **files.location_settings(self.address[host.name], self.port, scratch, encrypted=self.encrypted),
        }
        if host is not first:
            primary = self._primary(host)
            settings["primary_conninfo"] = files.conninfo(primary, _replica_name(host), self.context.password)
        return settings


async def _find_ipc_wrapper(host: Host) -> tuple[str, ...]:
    return tuple((await host.capture(("sh", "-c", _APART)) or "").split())


def _replica_name(host: Host) -> str:
    """What a replica is called on its primary, which keeps 63 characters of a name."""
    return host.name[:63]
