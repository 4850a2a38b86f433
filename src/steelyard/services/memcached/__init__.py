"""`use: memcached` under `services`: a cache in memory on each host."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, field_validator

from steelyard.plugin import ClientBinding, Endpoint, Size, Tool, WireProtocol
from steelyard.plugin.host import Host
from steelyard.plugin.service import Service, ServiceOptions
from steelyard.services.kit.access import Listener
from steelyard.services.kit.address import resolve_address
from steelyard.services.kit.data import choose_accounts
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.meters import sum_meters
from steelyard.services.kit.ports import choose_ports, list_listening_ports
from steelyard.services.kit.server import Server

_MIB = 2**20
_MOST = 1024 * _MIB
# memcached's protocol is text; bash speaks TCP without any further program.
_ASK = r'exec 3<>"/dev/tcp/$1/$2" && printf "%s\r\nquit\r\n" "$3" >&3 && cat <&3'

_ANSWER_WITHIN = 5.0  # seconds
_METERS = {
    "bytes": "used_bytes",
    "curr_items": "items",
    "curr_connections": "connections",
    "cmd_get": "gets",
    "cmd_set": "sets",
    "get_hits": "hits",
    "get_misses": "misses",
    "evictions": "evictions",
}

_PROTOCOL = WireProtocol(
    "memcached",
    11211,
    (
        ClientBinding(
            "ycsb", "steelyard.ycsb.Memcached", str(Path(__file__).with_name("ycsb")), can_scan=False
        ),
    ),
)


class MemcachedOptions(ServiceOptions):
    """Where it listens, and how much it takes."""

    port: int | None = Field(
        None, ge=1, le=65000, description="Port, the same on all hosts. Default: a free one."
    )
    memory: Size | None = Field(
        None,
        description="Bytes for items on each host, in whole MiB. Default: a quarter of the memory it may use "
        "there, at most 1 GiB.",
    )
    threads: int | None = Field(
        None, ge=1, le=128, description="Worker threads. Default: one per core it may use."
    )
    connections: int = Field(1024, ge=1, le=100_000, description="Maximum simultaneous connections.")
    largest_item: Size = Field(
        Size(_MIB), description="Maximum size of an item in bytes, from 1 KiB to 1 GiB."
    )

    @field_validator("memory", "largest_item")
    @classmethod
    def _check_size(cls, value: Size | None) -> Size | None:
        if value is not None and not 1024 <= value <= 2**40:
            raise ValueError(f"{value} is less than 1 KiB or more than 1 TiB")
        return value


class Memcached(Disturbable, Service[MemcachedOptions]):
    """Independent memcached servers, one per host; clients choose the server for a key.

    **Who may use it**: anyone who can reach it, so it needs `open: true` if others use its host. It is bound
    to its host's address, TCP only. There is no password: memcached's password file (`-Y`) is experimental
    and requires each connection to start with a `set` that memaslap and common clients do not send, and SASL
    exists only for the binary protocol.

    **Source**: https://docs.memcached.org, "Server configuration"; memcached(1). A server is ready when it
    reports its version. After a kill and restart, it is empty.
    """

    Options = MemcachedOptions
    speaks = _PROTOCOL
    needs = (
        Tool("memcached", apt="memcached", dnf="memcached", at_least="1.5"),
        Tool("bash", "bash", "bash"),
    )
    access = (Listener("clients", authentication=""),)
    examples = ({}, {"memory": "16MiB", "threads": 1, "connections": 100, "largest_item": "2MiB"})

    async def configure(self) -> None:
        """Find a port, and addresses in numbers."""
        self.address = {host.name: await resolve_address(host) for host in self.context.hosts}
        (self.port,) = await choose_ports(self.context.hosts, self.options.port, 1, self.context.claims)
        self.data = await choose_accounts(self, self.context.hosts)

    async def start(self) -> None:
        """All servers at once."""
        await asyncio.gather(*(self._start(host) for host in self.context.hosts))

    async def is_answering(self, server: Server) -> bool:
        """It tells its version; asked only when the port is open."""
        if server.port not in await list_listening_ports(server.host):
            return False
        return (
            await server.host.capture(_query_command(server, "version"), seconds=_ANSWER_WITHIN) or ""
        ).startswith("VERSION ")

    async def ready(self) -> None:
        """Every server answers; its settings are kept then, for it logs nothing but trouble."""
        await super().ready()
        for server in self.servers:
            script = shlex.join(_query_command(server, "stats settings"))
            await self.run_script(server.host, "settings", script)

    async def read_meters(self) -> Mapping[str, float]:
        """Sums over the servers that answer; see `Metered`."""
        asked = (
            server.host.capture(_query_command(server, "stats"), seconds=_ANSWER_WITHIN)
            for server in self.servers
        )
        return sum_meters((said or "" for said in await asyncio.gather(*asked)), _METERS)

    def endpoint(self) -> Endpoint:
        """The first server; all of them are in the fact `servers`."""
        facts = {"protocol": _PROTOCOL.name, "servers": self.list_servers()}
        return Endpoint(self.address[self.context.hosts[0].name], self.port, facts)

    async def _start(self, host: Host) -> None:
        options, share = self.options, self.share(host)
        memory = int(options.memory or min(share.memory // 4, _MOST))
        where = ("-l", self.address[host.name], "-p", str(self.port), "-U", "0")
        size = ("-m", str(max(1, memory // _MIB)), "-I", str(int(options.largest_item)))
        work = ("-t", str(options.threads or share.cores), "-c", str(options.connections))
        command = self.data[host.name].account_command("memcached", "-v", *where, *size, *work)
        await self.launch(host, "memcached", command, address=self.address[host.name], port=self.port)


def _query_command(server: Server, question: str) -> tuple[str, ...]:
    return ("bash", "-c", _ASK, "bash", server.address, str(server.port), question)
