"""A ring of nodes that speak CQL, as far as it is the same for all servers that make one."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from secrets import token_hex
from typing import ClassVar, TypeVar

from steelyard.errors import HostError
from steelyard.hosts.base import Host
from steelyard.model.command import Endpoint
from steelyard.services.base import Service
from steelyard.services.kit.certificates import Authority, is_encrypted
from steelyard.services.kit.cql import CQL
from steelyard.services.kit.data import DataDirectory, make_data
from steelyard.services.kit.disturbable import Disturbable
from steelyard.services.kit.growth import choose_new_hosts
from steelyard.services.kit.ports import check_free, find_free_ports
from steelyard.services.kit.private_files import write_private
from steelyard.services.kit.ring_members import RingMembers
from steelyard.services.kit.ring_options import RingOptions
from steelyard.services.kit.server import Server

RingOptionsT = TypeVar("RingOptionsT", bound=RingOptions)


class RingService(Disturbable, Service[RingOptionsT]):
    """A ring of nodes, which has `members` and keeps each row so often as its `replication` says.

    The subclass sets both when it is configured, and `data`, where a host's node writes; `program`, the label
    of its servers; and `poll_interval`, seconds between two looks at whether the ring `is_whole`. It takes in
    one host by `_join`, and gives one back by `_leave`.

    What is this ring's alone: the name of its `cluster`, which no node of another ring has; the `authority`
    that signs its nodes; and whether what clients say is `encrypted`.
    """

    speaks = CQL
    program: ClassVar[str]
    poll_interval: ClassVar[float] = 0.05
    members: RingMembers
    replication: int
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

    async def stop(self) -> None:
        """End all nodes, at once: their data goes with the scratch, so they need not save it."""
        await asyncio.gather(*(server.kill() for server in self.servers), return_exceptions=True)
        await super().stop()

    async def restart(self, host: str) -> None:
        """After a crash, with the data that it has; the others see it again, too."""
        await super().restart(host)
        await self._wait_until_whole(self.servers_on(host)[0])

    async def grow(self, to: int) -> None:
        """Take in hosts, one after the other; see `Growable`."""
        old = list(self.members.ring)
        new = choose_new_hosts(self.context, self.members.hosts, to, "nodes")
        for host in new:
            await self._join(host)
        if new and self.options.cleanup:
            await self._clean_up(old)

    async def shrink(self, to: int) -> None:
        """Give hosts back, one after the other; see `Shrinkable`."""
        copies, stay = self.replication, len(self.members.beside)
        if to < copies + stay:
            message = f"service {self.context.name} cannot have {to} nodes: its replication is {copies}"
            raise HostError(message + (f", and {stay} are its mirror, which stays" if stay else ""))
        while len(self.members.hosts) > to:
            await self._leave(self.members.ring[-1])

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
    async def _leave(self, host: Host) -> None:
        """Give a host back, once the others have its data."""

    @abstractmethod
    async def _clean_up(self, hosts: Sequence[Host]) -> None:
        """Have nodes drop what is no longer theirs."""

    async def _end(self, server: Server) -> None:
        """Of a node that is no part of the ring: it would leave its process running."""
        await server.kill()
        await server.stop()
        self.servers.remove(server)

    async def _reset_data(self, host: Host) -> None:
        """Without what it had where it was part of the ring before."""
        for place in (self.scratch(host) / "data", self._conf(host)):
            await host.remove_directory(place)
        self.data |= await make_data(self, [host])

    def _conf(self, host: Host) -> PurePosixPath:
        """Where that lies which a node reads and may not change."""
        return self.scratch(host) / "conf"

    async def _write_conf(self, host: Host, files: Mapping[str, str]) -> None:
        """These, and who the node is for the others."""
        files = {**files, **self.authority.issue_files(host.address)}
        await write_private(self, host, self.data[host.name], files, self._conf(host).name)

    def _live_servers(self) -> list[Server]:
        """Nodes that nobody has killed or frozen: those that must see each other."""
        return [server for server in self.servers if server.exit is None and not server.frozen]

    def _live_addresses(self) -> list[str]:
        return [server.address for server in self._live_servers()]

    def _choose_replication(self, nodes: int) -> int:
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
        free = [
            port for port in await find_free_ports(hosts, others + 1, self.context.claims) if port != asked
        ]
        return (asked or free[others], *free[:others])

    def _endpoint(self, port: int, version: str, facts: Mapping[str, str], password: str | None) -> Endpoint:
        """The first node; `CONTACT_NAMES` and `NODE_PORT` are for applications that know Hecuba's names."""
        addresses = [host.address for host in self.members.ring]
        common = {
            "protocol": CQL.name,
            "servers": ",".join(f"{address}:{port}" for address in addresses),
            "datacenter": self.options.datacenter,
            "replication": str(self.replication),
            "tls": "true" if self.encrypted else "false",
            "version": version,
            "CONTACT_NAMES": ",".join(addresses),
            "NODE_PORT": str(port),
        }
        return Endpoint(addresses[0], port, {**common, **facts}, password, self.shown_authority)

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
