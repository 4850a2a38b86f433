"""A ring of nodes that speak CQL, as far as it is the same for all servers that make one."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from secrets import token_hex
from typing import ClassVar, TypeVar

from steelyard.errors import HostError
from steelyard.remote.base import Host
from steelyard.services.base import Service
from steelyard.services.kit.certificates import Authority, is_encrypted
from steelyard.services.kit.cql_ring import Tokens
from steelyard.services.kit.data import DataDirectory, make_data
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.ports import check_free, find_free_ports
from steelyard.services.kit.private_files import write_private
from steelyard.services.kit.ring_options import RingOptions
from steelyard.services.kit.server import Server

RingOptionsT = TypeVar("RingOptionsT", bound=RingOptions)


class RingService(Disturbable, Service[RingOptionsT]):
    """Nodes that clients use, in `ring`, each with its `tokens` by its host's name.

    The subclass sets `program`, the label of its servers, and `poll_interval`, seconds between two looks at
    whether the ring is `is_whole`. It takes in one host by `_join`.

    What is this ring's alone: the name of its `cluster`, which no node of another ring has; the `authority`
    that signs its nodes; and whether what clients say is `encrypted`. `data` is where a host's node writes.
    """

    program: ClassVar[str]
    poll_interval: ClassVar[float] = 0.05
    ring: list[Host]
    tokens: dict[str, Tokens]
    data: dict[str, DataDirectory]
    cluster: str
    authority: Authority
    encrypted: bool

    async def configure(self) -> None:
        """Draw what is this ring's alone."""
        hosts = (*self.context.hosts, *self.context.spare)
        self.cluster = f"{self.context.name}-{token_hex(8)}"
        self.authority = Authority()
        self.encrypted = is_encrypted(self.options.tls, (host.address for host in hosts))

    async def grow(self, to: int) -> None:
        """Take in hosts, one after the other; see `Growable`."""
        there = self._node_hosts()
        free = [host for host in (*self.context.hosts, *self.context.spare) if host not in there]
        if to > len(there) + len(free):
            most = len(there) + len(free)
            hint = "add more hosts to `grow_into`"
            raise HostError(f"service {self.context.name} cannot have {to} nodes, at most {most}", hint=hint)
        old, new = list(self.ring), free[: max(0, to - len(there))]
        for host in new:
            await self._join(host)
        if new and self.options.cleanup:
            await self._clean_up(old)

    @property
    def shown_authority(self) -> str | None:
        """What clients must believe; None where they do not use TLS."""
        return self.authority.certificate if self.encrypted else None

    @abstractmethod
    async def is_whole(self) -> bool:
        """Whether all nodes that should live see each other, and let clients in."""

    @abstractmethod
    async def _join(self, host: Host) -> None:
        """Take in a host; it is part of the ring afterwards, or nothing of it is left."""

    @abstractmethod
    async def _clean_up(self, hosts: Sequence[Host]) -> None:
        """Have nodes drop what is no longer theirs."""

    async def _reset_data(self, host: Host) -> None:
        """Without what it had where it was part of the ring before."""
        for place in (self.scratch(host) / "data", self._conf(host)):
            await host.remove_directory(place)
        self.data |= await make_data(self, [host])

    def _conf(self, host: Host) -> PurePosixPath:
        """Where that lies which a node reads and may not change."""
        return self.scratch(host) / "conf"

    async def _write_conf(self, host: Host, files: Mapping[str, str]) -> None:
        await write_private(self, host, self.data[host.name], files, self._conf(host).name)

    def _node_hosts(self) -> list[Host]:
        """All hosts that have a node."""
        return list(self.ring)

    def _live_servers(self) -> list[Server]:
        """Nodes that nobody has killed or frozen: those that must see each other."""
        return [server for server in self.servers if server.exit is None and not server.frozen]

    def _replication(self, nodes: int) -> int:
        asked = self.options.replication or min(3, nodes)
        if asked > nodes:
            name = self.context.name
            raise HostError(f"service {name}: replication {asked} needs {asked} nodes, not {nodes}")
        return asked

    async def _choose_ports(self, hosts: Sequence[Host], others: int) -> tuple[int, ...]:
        """The port for clients, as it is asked for, and so many others."""
        asked = self.options.port
        if asked is not None:
            await asyncio.gather(*(check_free(host, [asked]) for host in hosts))
        free = [port for port in await find_free_ports(hosts, others + 1) if port != asked]
        return (asked or free[others], *free[:others])

    async def _wait_until_whole(self, changed: Server) -> None:
        """Wait for a ring with a node that joins or comes back, or without one that left."""
        where = f"service {self.context.name}: {self.program} on {changed.host.name} ({changed.address})"
        try:
            async with asyncio.timeout(self.options.join_within):
                while changed.exit is None:
                    if await self.is_whole():
                        return
                    await asyncio.sleep(self.poll_interval)
        except TimeoutError:
            took = f"{self.options.join_within:g} s"
            raise HostError(f"{where} did not join within {took}; {changed.describe_log()}") from None
        raise HostError(f"{where} ended before it joined; {changed.describe_log()}")
