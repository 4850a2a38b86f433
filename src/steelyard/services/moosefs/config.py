"""The files that the servers and clients of MooseFS read. Pure.

Source: mfsmaster.cfg(5), mfschunkserver.cfg(5), mfsexports.cfg(5), mfshdd.cfg(5) and mfsmount(8) of 3.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

MASTER, EXPORTS, CHUNKSERVER, DISKS, MOUNT = (
    "mfsmaster.cfg",
    "mfsexports.cfg",
    "mfschunkserver.cfg",
    "mfshdd.cfg",
    "mfsmount.cfg",
)
NEW_METADATA = "MFSM NEW"
"""Of a file system without files, as mfsmaster(8) takes it."""

_RECONNECT = 1  # seconds between two tries of a chunk server to reach the master


@dataclass(frozen=True, slots=True)
class MoosefsPorts:
    """For clients and for chunk servers at the master, for its copies of metadata, and at chunk servers."""

    clients: int
    chunkservers: int
    metadata: int
    chunks: int


def master_config(
    conf: PurePosixPath,
    data: PurePosixPath,
    address: str,
    ports: MoosefsPorts,
    code: str,
    repair_delay: int,
) -> str:
    """The master's own configuration. Its shortest round of checks is a minute; lost copies are replaced at
    once.
    """
    return _write(
        {
            **_COMMON,
            "DATA_PATH": data,
            "EXPORTS_FILENAME": conf / EXPORTS,
            "MATOML_LISTEN_HOST": address,
            "MATOML_LISTEN_PORT": ports.metadata,
            "MATOCS_LISTEN_HOST": address,
            "MATOCS_LISTEN_PORT": ports.chunkservers,
            "MATOCL_LISTEN_HOST": address,
            "MATOCL_LISTEN_PORT": ports.clients,
            "AUTH_CODE": code,
            "CHUNKS_LOOP_MIN_TIME": 60,
            "REPLICATIONS_DELAY_INIT": repair_delay,
        }
    )


def chunkserver_config(
    conf: PurePosixPath, data: PurePosixPath, addresses: tuple[str, str], ports: MoosefsPorts, code: str
) -> str:
    """Of a chunk server; `addresses` are its own and the master's."""
    own, master = addresses
    return _write(
        {
            **_COMMON,
            "DATA_PATH": data,
            "HDD_CONF_FILENAME": conf / DISKS,
            "BIND_HOST": own,
            "MASTER_HOST": master,
            "MASTER_PORT": ports.chunkservers,
            "MASTER_CONTROL_PORT": ports.metadata,
            "MASTER_RECONNECTION_DELAY": _RECONNECT,
            "CSSERV_LISTEN_HOST": own,
            "CSSERV_LISTEN_PORT": ports.chunks,
            "AUTH_CODE": code,
        }
    )


def exports(clients: Iterable[str], password: str) -> str:
    """Who may mount: these addresses, with the password; root of a client is root in the file system."""
    line = f"/ rw,alldirs,admin,ignoregid,maproot=0:0,password={password}"
    return "".join(f"{address} {line}\n" for address in clients)


def mount_options(own: str, master: str, port: int, password: str) -> str:
    """What mfsmount reads, so that the password is in no argument."""
    options = {"mfsmaster": master, "mfsport": port, "mfsbind": own, "mfsnice": 0, "mfspassword": password}
    return "".join(f"{name}={value}\n" for name, value in options.items())


# A server stays at the priority that it is started with, and may be ended when memory runs out.
_COMMON: Mapping[str, object] = {"NICE_LEVEL": 0, "DISABLE_OOM_KILLER": 0}


def _write(settings: Mapping[str, object]) -> str:
    return "".join(f"{name} = {value}\n" for name, value in settings.items())
