"""Namespaces as hosts, with a cable that can be pulled out."""

from __future__ import annotations

import os
import resource
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath

from steelyard.hosts.agent.agent import AgentTimeouts
from steelyard.hosts.connect import connect_all
from steelyard.hosts.lease import Lease
from steelyard.hosts.local import LocalHost
from steelyard.hosts.shell import ShellHost
from steelyard.hosts.token import Token
from steelyard.transports.namespaces.network import NamespaceNode, Namespaces
from steelyard.transports.namespaces.sshd import NamespaceSshd
from steelyard.transports.ssh.transport import SshTransport

CONNECT_WITHIN = 10.0
_NETWORK = "/proc/net/"


class CuttableNode:
    """A host that can be cut off the network, and joined to it again, from outside: a `Cuttable`."""

    name: str
    wiring: Namespaces
    lost_when_cut = False
    own_network = True

    async def cut(self) -> None:
        """Pull its cable: nothing reaches it, nothing leaves it. Raises HostError."""
        await self.wiring.cut(self.name)

    async def heal(self) -> None:
        """Plug it in again. Raises HostError."""
        await self.wiring.heal(self.name)

    async def block_addresses(self, addresses: Sequence[str]) -> None:
        """Have it reach these addresses no more. Raises HostError."""
        await self.wiring.block_addresses(self.name, addresses)

    async def unblock_addresses(self, addresses: Sequence[str]) -> None:
        """Have it reach them again. Raises HostError."""
        await self.wiring.unblock_addresses(self.name, addresses)


class SshNode(CuttableNode, ShellHost):
    """A namespace that is reached by SSH, over its cable: who cuts it off loses it.

    Its agent runs below the run's minder. Should the controller be killed, the minder ends the agent before
    that can clear away its directories, so the minder, which sees the same files, is told of them too.
    """

    lease: Lease
    lost_when_cut = True

    def own_processes(self) -> frozenset[int]:
        """The controller, and the minder with all sshds and agents below it: all on this very machine."""
        return super().own_processes() | {os.getpid(), self.lease.minder_pid}

    def own_user_time(self) -> float:
        """The controller's."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_utime

    async def connect(self) -> None:
        """Reach it; see `ShellHost`."""
        await super().connect()
        await self.tell_minder(self._desk)

    async def make_scratch(self, path: PurePosixPath) -> None:
        """Make a marked directory; see `Host`."""
        await super().make_scratch(path)
        await self.tell_minder(path)

    async def tell_minder(self, path: PurePosixPath) -> None:
        """Have the minder remove a directory, too."""
        await self.lease.make_scratch(Path(path), self.mark)

    async def restore_at_end(self, path: str, value: str) -> None:
        """By both, for the same reason."""
        await super().restore_at_end(path, value)
        await self.lease.restore_at_end(path, value)

    async def remove_scratch(self, path: PurePosixPath) -> None:
        """Remove it, its marker last."""
        await super().remove_scratch(path)
        await self.lease.forget_scratch(Path(path))


class NsenterNode(CuttableNode, LocalHost):
    """A namespace that is entered, cable or not."""

    def __init__(self, lease: Lease, node: NamespaceNode, wiring: Namespaces) -> None:
        super().__init__(lease, node.name, node.address, node.prefix)
        self.facts, self.wiring = _facts(wiring, node.name), wiring
        self._network = f"/proc/{node.pid}/net/"

    async def read(self, patterns: Iterable[str]) -> dict[str, str]:
        """The content of files; of its own network, not of that from which it is read."""
        contents = await super().read(pattern.replace(_NETWORK, self._network) for pattern in patterns)
        return {path.replace(self._network, _NETWORK): content for path, content in contents.items()}


@asynccontextmanager
async def open_ssh_nodes(
    lease: Lease, count: int, token: Token, log: Path, *, rate: float | None, lost_after: float
) -> AsyncIterator[tuple[SshNode, ...]]:
    """So many namespaces with an sshd each. `rate` is in bytes per second, `lost_after` in seconds."""
    async with Namespaces.open(lease) as wiring:
        sshd = NamespaceSshd.make(log, lost_after)
        await wiring.add(count, sshd.node_setup(), rate=rate)
        hosts = []
        for node in wiring.nodes:
            login = sshd.login(node.address, CONNECT_WITHIN)
            host = SshNode(
                SshTransport(node.name, login, address=node.address),
                token,
                log,
                shares_files=True,
                pace=AgentTimeouts.for_silence(lost_after),
                facts=_facts(wiring, node.name),
            )
            host.wiring, host.lease = wiring, lease
            hosts.append(host)
        async with connect_all(hosts) as reached:
            yield reached


@asynccontextmanager
async def open_nsenter_nodes(
    lease: Lease, count: int, *, rate: float | None
) -> AsyncIterator[tuple[NsenterNode, ...]]:
    """So many namespaces that are entered with nsenter(1)."""
    async with Namespaces.open(lease) as wiring:
        await wiring.add(count, rate=rate)
        yield tuple(NsenterNode(lease, node, wiring) for node in wiring.nodes)


def _facts(wiring: Namespaces, name: str) -> dict[str, str]:
    return {
        "cut": " ".join(wiring.cable_command(name, "down")),
        "heal": " ".join(wiring.cable_command(name, "up")),
    }
