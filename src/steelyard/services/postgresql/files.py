"""PostgreSQL's programs, their words, and what stands in its files. Nothing here acts."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from steelyard.plugin import Tool
from steelyard.services.kit.certificates import IDENTITY

USER, DATABASE = "steelyard", "postgres"
CONF, HBA, PASSWORD = "postgresql.conf", "pg_hba.conf", "password"

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")  # Debian's, and those of the project's RPMs
POSTGRES = Tool("postgres", apt="postgresql", dnf="postgresql-server", at_least="13", places=_PLACES)
INITDB = Tool("initdb", apt="postgresql", dnf="postgresql-server", places=_PLACES)
BASE_BACKUP = Tool("pg_basebackup", apt="postgresql", dnf="postgresql-server", places=_PLACES)
PSQL = Tool("psql", apt="postgresql-client", dnf="postgresql", places=_PLACES)

OURS = {
    "port": "use the option 'port'",
    "listen_addresses": "it listens on the address of its host",
    "unix_socket_directories": "it uses none",
    "hba_file": "allowed clients follow from the experiment's hosts",
    "password_encryption": "it is scram-sha-256",
    "logging_collector": "its log goes to the record",
    "primary_conninfo": "the first host is the primary",
    "data_directory": "its data are in the scratch",
    "config_file": "it is in the scratch",
    "shared_buffers": "use the option 'shared_buffers'",
    "max_connections": "use the option 'max_connections'",
    "synchronous_commit": "use the option 'synchronous_commit'",
    "fsync": "use the option 'fsync'",
    **dict.fromkeys(("ssl", "ssl_cert_file", "ssl_key_file", "ssl_ca_file"), "use the option 'tls'"),
}
"""Settings that nobody else may make, and what to do instead."""

INITDB_WORDS = (
    "--pgdata=new/db",
    f"--username={USER}",
    f"--pwfile={PASSWORD}",
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--no-sync",  # what a crash of the host would lose here is of this run alone
)


class PostgresqlPrimary(NamedTuple):
    """Where the primary listens; `authority`: the file that says who signed it, where it uses TLS."""

    address: str
    port: int
    authority: PurePosixPath | None = None

    @property
    def tls(self) -> dict[str, str]:
        """Words of libpq, which believe this authority and no other; whose home it is run in has no say."""
        if self.authority is None:
            return {}
        own = str(self.authority.with_name("none"))
        return {"sslmode": "verify-full", "sslrootcert": str(self.authority), "sslcert": own}


def backup_words(primary: PostgresqlPrimary) -> tuple[str, ...]:
    """For a copy of the primary, with the log written meanwhile."""
    where = (f"--host={primary.address}", f"--port={primary.port}", f"--username={USER}", "--no-password")
    return ("--pgdata=data/db", *where, "--wal-method=stream", "--checkpoint=fast", "--no-sync")


def psql_words(address: str, port: int) -> tuple[str, ...]:
    """For one question whose answer is a bare word; without the user's own psqlrc."""
    where = (f"--host={address}", f"--port={port}", f"--username={USER}", f"--dbname={DATABASE}")
    return ("--no-psqlrc", "--no-align", "--tuples-only", "--no-password", *where)


def location_settings(
    address: str, port: int, scratch: PurePosixPath, *, encrypted: bool
) -> dict[str, str | int | float | bool]:
    """The settings that say where a server is, and who may reach it."""
    keys = dict.fromkeys(("ssl_cert_file", "ssl_key_file"), str(scratch / IDENTITY)) if encrypted else {}
    return {
        "ssl": encrypted,
        **keys,
        "listen_addresses": address,
        "port": port,
        "unix_socket_directories": "",
        "hba_file": str(scratch / HBA),
        "password_encryption": "scram-sha-256",
        "logging_collector": False,
    }


def conninfo(primary: PostgresqlPrimary, name: str, password: str) -> str:
    """How a replica reaches its primary, and what it calls itself there.

    libpq takes no file of passwords that is not its user's alone, and so that user could write to it.
    """
    words = {
        "host": primary.address,
        "port": str(primary.port),
        "user": USER,
        "password": password,
        "application_name": name,
        **primary.tls,
    }
    return " ".join(f"{key}='{_escape(value)}'" for key, value in words.items())


def format_conf(settings: Mapping[str, str | int | float | bool]) -> str:
    """`postgresql.conf` with these settings."""
    return "".join(f"{name} = {_format_value(value)}\n" for name, value in settings.items())


def format_hba(clients: Iterable[str], *, encrypted: bool) -> str:
    """`pg_hba.conf`: these addresses, by password, and by TLS alone; replication from them, too."""
    kind = "hostssl" if encrypted else "host"
    lines = [
        f"{kind} {what} {USER} {ipaddress.ip_network(address)} scram-sha-256"
        for address in dict.fromkeys(clients)
        for what in ("all", "replication")
    ]
    return "\n".join(lines) + "\n"


def _format_value(value: str | int | float | bool) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"'{value.replace(chr(39), chr(39) * 2)}'" if isinstance(value, str) else str(value)


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "\\'")
