"""Virtual machines of this machine: hosts with a kernel, a network and a boot of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from pydantic import Field

from steelyard.plugin import Duration, Size
from steelyard.plugin.host import Host
from steelyard.plugin.site import Capability, Site, SiteOptions
from steelyard.plugin.transport import Lease, Token
from steelyard.transports.namespaces.network import MOST, NEEDS


class GuestsOptions(SiteOptions):
    """How many guests this machine boots, and how large they are."""

    hosts: int = Field(2, ge=1, le=MOST, description="Number of guests")
    memory: Size = Field(Size(1 << 30), ge=64 << 20, description="Memory of each guest, for example 1GiB")
    disk: Size = Field(
        Size(8 << 30),
        ge=16 << 20,
        description="Size of each guest's disk, a file beside the record that takes what is written",
    )
    lost_after: Duration = Field(
        Duration(60.0), ge=1, le=600, description="Time without an answer after which a guest counts as lost"
    )


class Guests(Site[GuestsOptions]):
    """Virtual machines of this machine, connected by a bridge. Requires root on Linux.

    `guests:3` boots three guests of User-mode Linux, n1 to n3, in about three seconds: each has a Linux
    kernel, one core and a network of its own, and the files of this machine. They can be cut off during a
    trial without being lost, as Steelyard reaches them over a second network. A system call takes 100 times
    as long as on hardware: use them to try what several machines do, not how fast. Two guests must not write
    to the same file. Foreign load is judged on the machine below. Everything is gone when the run ends,
    however it ends.
    """

    Options = GuestsOptions
    install_policy = "here"
    needs = (*NEEDS, "linux.uml", "mkfs.ext4", "sshd")
    examples = ({"hosts": 3}, {"hosts": 2, "memory": "512MiB"})

    def size(self) -> int:
        """As many as were asked for."""
        return self.options.hosts

    def capabilities(self) -> frozenset[Capability]:
        """Root is root in a guest; the files are this machine's."""
        return frozenset({"root", "shared-files", "cut-network", "part-network", "kill-hosts", "pause-hosts"})

    def warnings(self) -> tuple[str, ...]:
        """What the figures do not say."""
        return (
            "site guests: guests of User-mode Linux are programs of this machine; a system call takes"
            " 100 times as long; their figures say nothing about virtual machines on hardware",
        )

    def lease(
        self, token: Token, log: Path, hosts: int | None
    ) -> AbstractAsyncContextManager[tuple[Host, ...]]:
        """Guests that the run's minder boots and ends."""
        return self._lease(token, log, hosts or self.options.hosts)

    @asynccontextmanager
    async def _lease(self, token: Token, log: Path, hosts: int) -> AsyncIterator[tuple[Host, ...]]:
        from steelyard.transports.guests.hosts import open_guests

        async with Lease.open(token, log=log) as lease:
            sizes = {"memory": int(self.options.memory), "disk": int(self.options.disk)}
            guests = open_guests(lease, hosts, token, log, **sizes, lost_after=self.options.lost_after)
            async with guests as reached:
                yield reached
