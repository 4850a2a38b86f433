"""`use: postgresql` under `services`: a primary on the first host, streaming replicas on the others."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Mapping
from typing import Literal

from pydantic import Field, field_validator

from steelyard.model.command import Endpoint
from steelyard.remote.base import Host
from steelyard.services import _postgresql_files as files
from steelyard.services._access import Listener
from steelyard.services._address import resolve_address
from steelyard.services._certificates import AUTHORITY, Authority, is_encrypted
from steelyard.services._data import DataDirectory, list_allowed_addresses, make_data
from steelyard.services._disturbable import Disturbable
from steelyard.services._ports import choose_ports, list_listening_ports
from steelyard.services._postgresql_files import BASE_BACKUP, INITDB, POSTGRES, PSQL, USER
from steelyard.services._private_files import ask, write_private
from steelyard.services._server import Server
from steelyard.services._tls_option import ENCRYPTED, TlsOption
from steelyard.units import Size

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


class PostgresqlOptions(TlsOption):
    """Where it listens, how much memory it takes, and how safe a commit is."""

    port: int | None = Field(
        None, ge=1, le=65000, description="Port, the same on all hosts. Default: one that is free."
    )
    shared_buffers: Size | None = Field(
        None,
        description="Bytes that each server shares between its connections. Default: a quarter of the memory "
        "it may use on its host, at most 1 GiB.",
    )
    max_connections: int = Field(100, ge=10, le=10_000, description="Connections at the same time.")
    synchronous_commit: Literal["on", "off", "local", "remote_write", "remote_apply"] = Field(
        "on", description="What a commit waits for. Replicas stream on their own and are not waited for."
    )
    fsync: bool = Field(True, description="Sync to disk at all; without it a crash of a host loses data.")
    settings: Mapping[str, str | int | float | bool] = Field(
        {}, description="Further settings of postgresql.conf, by name (`max_wal_size: 4GB`)."
    )

    @field_validator("shared_buffers")
    @classmethod
    def _enough(cls, value: Size | None) -> Size | None:
        if value is not None and value < _SMALLEST_BUFFERS:
            raise ValueError(f"{value} is less than 128 KiB")
        return value

    @field_validator("settings")
    @classmethod
    def _not_ours(
        cls, value: Mapping[str, str | int | float | bool]
    ) -> Mapping[str, str | int | float | bool]:
        for name, given in value.items():
            if name in files.OURS:
                raise ValueError(f"{name} is set by Steelyard; {files.OURS[name]}")
            if not _NAME.fullmatch(name) or (isinstance(given, str) and not given.isprintable()):
                raise ValueError(f"'{name}: {given}' is not a setting of postgresql.conf")
        return value


class Postgresql(Disturbable[PostgresqlOptions]):
    """PostgreSQL: a primary on the first host, and on each other host a replica that streams from it.

    **Who may use it**: who knows the password of its one role, `steelyard`, a superuser, and connects from
    the addresses of the experiment's hosts (scram-sha-256). The password is a random one a run and stands in
    files of the scratch that the server alone may read. It listens on the host's address alone, with no
    socket in the file system, whose path could be too long. Clients and replicas use TLS, and no other
    connection is taken, unless all hosts have loopback addresses (`tls`).

    **Ready** is a primary that takes writes, and a replica that the primary says it streams to
    (`pg_stat_replication`).

    **Source**: https://www.postgresql.org/docs, "Server Configuration" and "Log-Shipping Standby Servers".
    Replicas begin as a base backup of the primary. Programs are found on PATH, or where Debian and the
    PostgreSQL project's packages put them.
    """

    options = PostgresqlOptions
    within = 60.0
    needs = (POSTGRES, INITDB, BASE_BACKUP, PSQL)
    access = (
        Listener(
            "clients and replicas",
            asks="password (SCRAM), from the experiment's hosts",
            encrypted=ENCRYPTED,
        ),
    )
    examples = ({"fsync": False}, {"shared_buffers": "16MiB", "settings": {"max_wal_size": "64MB"}})

    async def configure(self) -> None:
        """Find a port, write each server's files, and make the empty database on the first host."""
        hosts = self.context.hosts
        (self.port,) = await choose_ports(hosts, self.chosen.port, 1)
        self.address = {host.name: await resolve_address(host) for host in hosts}
        self.encrypted = is_encrypted(self.chosen.tls, (host.address for host in hosts))
        self.authority = Authority() if self.encrypted else None
        self.data = await make_data(self, hosts)
        self.apart = {host.name: await _find_ipc_wrapper(host) for host in hosts}
        await asyncio.gather(*(self._write(host, self.data[host.name]) for host in hosts))
        script = f"set -- {shlex.join(INITDB.argv(*files.INITDB_WORDS))}\n{_INITDB}"
        await self.small(hosts[0], "initdb", script, ACCOUNT=self.data[hosts[0].name].account)

    async def start(self) -> None:
        """The primary, and when it answers the replicas at once."""
        first, *others = self.context.hosts
        primary = await self._start(first)
        if others:
            await self._until_it_answers(primary)
            await asyncio.gather(*(self._copy_and_start(host) for host in others))

    async def answers(self, server: Server) -> bool:
        """A primary takes writes; a replica is one that the primary streams to."""
        first = self.context.hosts[0]
        primary = self.address[first.name]
        if server.port not in await list_listening_ports(server.host):
            return False
        if server.host is first:
            return await self._holds(first, primary, _PRIMARY)
        streams = await self._holds(first, primary, f"{_STREAMS}'{_replica_name(server.host)}'")
        return streams and await self._holds(server.host, server.address, _REPLICA)

    def endpoint(self) -> Endpoint:
        """The primary; the replicas come after it in the fact `servers`."""
        who = {"user": USER, "database": files.DATABASE}
        facts = {"protocol": "postgresql", "servers": self.all_servers(), **who}
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
        command = self.data[host.name].as_its_user(*argv).wrapped(*self.apart[host.name])
        return await self.launch(host, "postgresql", command, address=self.address[host.name], port=self.port)

    async def _copy_and_start(self, host: Host) -> None:
        copy = BASE_BACKUP.argv(*files.backup_words(self._primary(host)))
        steps = (copy, ("touch", "data/db/standby.signal"))
        lines = (shlex.join(self.data[host.name].as_its_user(*words).argv) for words in steps)
        await self.small(host, "base-backup", f"export {self._client()}\n" + "\n".join(lines))
        await self._start(host)

    async def _holds(self, host: Host, address: str, question: str) -> bool:
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
        keys = self.authority.files(self.address[host.name]) if self.authority else {}
        await write_private(self, host, data, {**texts, **keys})

    def _settings(self, host: Host) -> dict[str, str | int | float | bool]:
        chosen, first, scratch = self.chosen, self.context.hosts[0], self.scratch(host)
        buffers = max(_SMALLEST_BUFFERS, min(self.share(host).memory // 4, _MOST_BUFFERS))
        settings: dict[str, str | int | float | bool] = {
            "shared_buffers": f"{int(chosen.shared_buffers or buffers) // 1024}kB",
            "max_connections": chosen.max_connections,
            "synchronous_commit": chosen.synchronous_commit,
            "fsync": chosen.fsync,
            "max_wal_senders": len(self.context.hosts) + 5,
            **({"wal_keep_size": _KEPT_LOG} if len(self.context.hosts) > 1 else {}),
            "dynamic_shared_memory_type": "sysv" if self.apart[host.name] else "mmap",  # POSIX's would stay
            **chosen.settings,
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
