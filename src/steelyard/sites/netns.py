"""Network namespaces of this machine: hosts with addresses of their own that can be cut off."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from steelyard.plugin import Duration, Rate
from steelyard.plugin.host import Host
from steelyard.plugin.site import Capability, Site, SiteOptions
from steelyard.plugin.transport import Lease, Token
from steelyard.transports.namespaces.holders import find_sshd
from steelyard.transports.namespaces.network import MOST, NEEDS


class NetnsOptions(SiteOptions):
    """How many hosts this machine plays, and how they are reached."""

    hosts: int = Field(2, ge=1, le=MOST, description="Number of hosts, each in its own network namespace")
    via: Literal["ssh", "nsenter"] | None = Field(
        None,
        description="How they are reached: ssh (an sshd in each; one cut off is lost) or nsenter (bypassing "
        "the network); default: ssh if an sshd is installed",
    )
    rate: Rate | None = Field(
        None,
        gt=0,
        description="Limit on what each host sends and receives, such as 125MB/s; default: no limit",
    )
    lost_after: Duration = Field(
        Duration(10.0),
        ge=1,
        le=600,
        description="Time without an answer after which a host reached by ssh counts as lost",
    )


class Netns(Site[NetnsOptions]):
    """Network namespaces of this machine, connected by a bridge. Requires root on Linux.

    `netns:4` creates four hosts, n1 to n4, each with its own network, host name and /etc/hosts, which can be
    cut off during a trial: a cluster test bed on a laptop. They share cores, memory, disk and files, so their
    figures are not those of separate machines. Everything is removed when the run ends, however it ends.
    """

    Options = NetnsOptions
    install_policy = "here"
    needs = NEEDS
    examples = ({"hosts": 4}, {"hosts": 2, "via": "nsenter", "rate": "100MB/s"})

    @classmethod
    def parse_shorthand(cls, argument: str) -> Mapping[str, Any]:
        """`netns:4` is four hosts; `netns:4:100MB/s` limits what each of them may send and receive."""
        count, limited, rate = argument.partition(":")
        options = super().parse_shorthand(count)
        return {**options, "rate": rate} if limited else options

    def size(self) -> int:
        """As many as were asked for."""
        return self.options.hosts

    def capabilities(self) -> frozenset[Capability]:
        """Root makes the network, and the files are this machine's; who is reached by ssh is not cut off."""
        abilities: frozenset[Capability] = frozenset({"root", "shared-files", "part-network"})
        return abilities | {"cut-network"} if self._connection_method() == "nsenter" else abilities

    def warnings(self) -> tuple[str, ...]:
        """That a host which is cut off will not be noticed, where it is not reached over its network."""
        if self._connection_method() == "ssh":
            return ()
        why = "was chosen" if self.options.via else "is used because no sshd is installed (openssh-server)"
        return (f"site netns: nsenter {why}: a host cut off from the network is not detected as lost",)

    def lease(
        self, token: Token, log: Path, hosts: int | None
    ) -> AbstractAsyncContextManager[tuple[Host, ...]]:
        """Namespaces whose processes the run's minder starts and ends."""
        return self._lease(token, log, hosts or self.options.hosts)

    @asynccontextmanager
    async def _lease(self, token: Token, log: Path, hosts: int) -> AsyncIterator[tuple[Host, ...]]:
        # asyncssh takes a third of a second to load, which only a run has to pay.
        from steelyard.transports.namespaces.hosts import open_nsenter_nodes, open_ssh_nodes

        rate, lost_after = self.options.rate, self.options.lost_after
        async with Lease.open(token, log=log) as lease, AsyncExitStack() as stack:
            if self._connection_method() == "ssh":
                nodes = open_ssh_nodes(lease, hosts, token, log, rate=rate, lost_after=lost_after)
                yield await stack.enter_async_context(nodes)
            else:
                yield await stack.enter_async_context(open_nsenter_nodes(lease, hosts, rate=rate))

    def _connection_method(self) -> Literal["ssh", "nsenter"]:
        return self.options.via or ("ssh" if find_sshd() else "nsenter")
